import { type Cells, inMilliseconds } from '../../../projections/ledger/query.ts'
import { type ColumnKind, lineFileColumns } from '../../app/finance/line-files/columns.ts'
import { csvPages } from '../kit/answers/csv.ts'
import { CSV } from '../kit/answers/lists.ts'
import { focusColumns } from './focus/columns.ts'
import { focusRows, type FocusTerms } from './focus/table.ts'
import type { LedgerFilter, LineExports } from './reads.ts'

/** Files of settled lines: a table, a line of JSON a row, FOCUS, or Parquet. */

/** The formats that are text, of which a piece can be sent as soon as it is made. */
export const textFormats = ['csv', 'ndjson', 'focus'] as const
export type TextFormat = (typeof textFormats)[number]
export const lineFormats = [...textFormats, 'parquet'] as const
export type LineFormat = (typeof lineFormats)[number]

export const PARQUET = { extension: 'parquet', type: 'application/vnd.apache.parquet' } as const

const quoted = (cell: string) => `"${cell}"`
const asItIs = (cell: string) => cell
/** Writes a cell that is not null as JSON. */
const written: Readonly<Record<ColumnKind, (cell: string) => string>> = {
  text: (cell) => JSON.stringify(cell),
  plain: quoted,
  time: (cell) => `"${inMilliseconds(cell)}"`,
  integer: asItIs,
  position: quoted,
  decimal: quoted,
  json: asItIs,
}

const names = lineFileColumns.map(({ name }) => name)
const members = lineFileColumns.map(({ name, kind, at }) => {
  return { key: `${JSON.stringify(name)}:`, at, write: written[kind] }
})

function toRow(line: Cells): Cells {
  return lineFileColumns.map(({ kind, at }) => {
    const cell = line[at] ?? null
    return kind === 'time' && cell !== null ? inMilliseconds(cell) : cell
  })
}

async function* tableRows(
  pages: AsyncIterable<readonly Cells[]>,
): AsyncGenerator<readonly Cells[]> {
  for await (const page of pages) yield page.map(toRow)
}

function toJsonLine(line: Cells): string {
  let text = ''
  let separator = '{'
  for (const { key, at, write } of members) {
    const cell = line[at] ?? null
    text += separator + key + (cell === null ? 'null' : write(cell))
    separator = ','
  }
  return `${text}}\n`
}

async function* jsonPages(pages: AsyncIterable<readonly Cells[]>): AsyncGenerator<string> {
  let isEmpty = true
  for await (const page of pages) {
    isEmpty = false
    yield page.map(toJsonLine).join('')
  }
  if (isEmpty) yield ''
}

/** Whether a filter leaves out some of a tenant's lines by what they are, not by when they were. */
function isPartial(filter: LedgerFilter): boolean {
  const { userIds, sku, model, tokenId, surface, sourceId, requestId, tags, endUser } = filter
  const facts = [userIds, sku, model, tokenId, surface, sourceId, requestId, tags?.[0], endUser]
  return facts.some((fact) => fact !== undefined)
}

interface AskedFile {
  readonly format: TextFormat
  readonly filter: LedgerFilter & { readonly asOf: bigint }
  /** The file begins behind this line, and has at most so many. */
  readonly after?: string | undefined
  readonly limit?: number | undefined
  readonly hasByteOrderMark?: boolean | undefined
}

/** A file of lines as text: its extension, its media type, and its text piece by piece. */
export function lineFile(
  exports: LineExports,
  { format, filter, after, limit, hasByteOrderMark }: AskedFile,
  focus: FocusTerms,
) {
  const lines = exports.lines(filter, { after, limit, listPrices: format === 'focus' })
  if (format === 'ndjson')
    return { extension: 'ndjson', type: 'application/x-ndjson', pieces: jsonPages(lines) }
  if (format === 'csv')
    return { ...CSV, pieces: csvPages(names, tableRows(lines), hasByteOrderMark) }
  const credits = isPartial(filter) ? undefined : exports.credits(filter)
  const rows = focusRows({ lines, refunds: exports.refunds(filter), credits }, filter, focus)
  return { ...CSV, pieces: csvPages(focusColumns, rows, hasByteOrderMark) }
}
