import { type Cells, lineCell } from '../../../projections/ledger/query.ts'
import { csvPages } from '../kit/answers/csv.ts'
import { CSV } from './answers.ts'
import { focusColumns } from './focus/columns.ts'
import { focusRows, type FocusTerms } from './focus/table.ts'
import type { LedgerFilter, LineExports } from './reads.ts'

/** Files of settled lines: a table, a line of JSON a row, or FOCUS. */

export const lineFormats = ['csv', 'ndjson', 'focus'] as const
export type LineFormat = (typeof lineFormats)[number]

/** Writes a cell that is not null as JSON. */
const written = {
  text: (cell: string) => JSON.stringify(cell),
  /** The ledger has nothing here that JSON writes otherwise. */
  plain: (cell: string) => `"${cell}"`,
  time: (cell: string) => `"${toMilliseconds(cell)}"`,
  number: (cell: string) => cell,
  json: (cell: string) => cell,
} as const

/** Every column of a file of lines, in its order, and how JSON writes it. */
const columns = {
  line_id: 'text',
  settled_at: 'time',
  tenant_id: 'text',
  user_id: 'text',
  token_id: 'text',
  source_id: 'text',
  native_id: 'text',
  surface: 'text',
  model: 'text',
  sku: 'text',
  rule: 'text',
  quantity: 'number',
  unit: 'text',
  price: 'plain',
  per: 'number',
  currency: 'text',
  amount: 'plain',
  price_book_version: 'text',
  measurement: 'text',
  request_id: 'text',
  position: 'plain',
  adjusted: 'plain',
  account_prices: 'number',
  net: 'plain',
  tags: 'json',
  end_user: 'text',
  tenant_name: 'text',
  user_name: 'text',
  token_name: 'text',
  hash: 'plain',
} as const satisfies Partial<Record<keyof typeof lineCell, keyof typeof written>>

const names = Object.keys(columns) as readonly (keyof typeof columns)[]
const places = names.map((name) => lineCell[name])
const members = names.map((name) => {
  return { key: `${JSON.stringify(name)}:`, at: lineCell[name], write: written[columns[name]] }
})

/** A time of the ledger as the API shows it. */
function toMilliseconds(time: string): string {
  return `${time.slice(0, 23)}Z`
}

function toRow(line: Cells): Cells {
  return places.map((at) => {
    const cell = line[at] ?? null
    return at === lineCell.settled_at && cell !== null ? toMilliseconds(cell) : cell
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
  readonly format: LineFormat
  readonly filter: LedgerFilter & { readonly asOf: bigint }
  /** The file begins behind this line, and has at most so many. */
  readonly after?: string | undefined
  readonly limit?: number | undefined
  readonly hasByteOrderMark?: boolean | undefined
}

/** A file of lines: its extension, its media type, and its text piece by piece. */
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
