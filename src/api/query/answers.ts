import type { FastifyReply, FastifyRequest } from 'fastify'
import { success } from '../kit/account-surface.ts'
import { type CsvRow, csvStream } from '../kit/csv.ts'
import { toCursor } from '../kit/queries.ts'
import { DEFAULT_PAGE_LINES, MAX_PAGE_LINES } from './schemas.ts'

/** The requested form of a list: a page with its further members, or a table. */
interface List<Row, Page> {
  /** The file name of the table, without its extension. */
  readonly name: string
  /** The columns of the table, in the order in which the API shows them. */
  readonly columns: readonly (keyof Row & string)[]
  readonly page: () => Promise<Page>
  /** The rows of the table, page by page. */
  readonly rows: () => AsyncIterable<readonly Row[]>
}

/** Answers with a page of a list, or with a table where the caller wants CSV. */
export async function sendList<Row, Page extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  format: Format,
  { name, columns, page, rows }: List<Row, Page>,
) {
  void reply.header('cache-control', 'no-store').header('vary', 'Accept')
  if (!wantsCsv(request, format)) return success(await page())
  return reply
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .type('text/csv; charset=utf-8; header=present')
    .send(csvStream(columns, cellsOf(columns, rows())))
}

type Format = 'json' | 'csv' | undefined

function weight(accept: string, type: string): number {
  for (const range of accept.split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (name !== type) continue
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    return q === undefined ? 1 : Number(q.slice(2)) || 0
  }
  return -1
}

/** Whether the caller wants CSV: by `format`, otherwise by `Accept`. */
function wantsCsv(request: FastifyRequest, format: Format): boolean {
  if (format !== undefined) return format === 'csv'
  const accept = request.headers.accept ?? ''
  const csv = weight(accept, 'text/csv')
  return csv > 0 && csv > weight(accept, 'application/json')
}

async function* cellsOf<Row>(
  columns: readonly (keyof Row)[],
  pages: AsyncIterable<readonly Row[]>,
): AsyncGenerator<readonly CsvRow[]> {
  for await (const rows of pages)
    yield rows.map((row) => columns.map((column) => toCell(row[column])))
}

/** A value as a cell of a table; an object is written as JSON. */
function toCell(value: unknown): CsvRow[number] {
  if (value === null || typeof value === 'number' || typeof value === 'string') return value
  return typeof value === 'boolean' ? String(value) : JSON.stringify(value)
}

/** The rows of a table per read. */
export async function* onePage<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield await Promise.resolve(rows)
}

/** Start of a page, and its number of items. */
interface From {
  readonly after: string | undefined
  readonly limit: number | undefined
}

/** A page of a list, and the start of the next one. */
interface Found<Item> {
  readonly items: readonly Item[]
  readonly next: string | undefined
}

type ReadFrom<Item> = (page: {
  readonly after: string | undefined
  readonly limit: number
}) => Promise<Found<Item>>

/** All items of a list, page by page, up to `limit` if there is one. */
export async function* pagesFrom<Item>(
  { after, limit = Number.POSITIVE_INFINITY }: From,
  read: ReadFrom<Item>,
): AsyncGenerator<readonly Item[]> {
  let next = after
  let left = limit
  while (left > 0) {
    const page = await read({ after: next, limit: Math.min(left, MAX_PAGE_LINES) })
    yield page.items
    left -= page.items.length
    if (page.next === undefined) return
    next = page.next
  }
}

/** A list whose pages begin where the page before ended; `further` are the page's other members. */
export function cursorList<Item, Row, Further extends object>(
  from: From,
  read: ReadFrom<Item>,
  show: (item: Item) => Row,
  further: Further,
) {
  return {
    page: async () => {
      const { after, limit = DEFAULT_PAGE_LINES } = from
      const { items, next } = await read({ after, limit })
      return { items: items.map(show), ...nextCursor(next), ...further }
    },
    rows: async function* rows(): AsyncGenerator<readonly Row[]> {
      for await (const items of pagesFrom(from, read)) yield items.map(show)
    },
  }
}

/** Start of the next page, as shown in answers. */
export const nextCursor = (next: string | undefined) => ({
  next_cursor: next === undefined ? null : toCursor(next),
})
