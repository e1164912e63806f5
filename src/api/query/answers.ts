import type { FastifyReply, FastifyRequest } from 'fastify'
import { success } from '../kit/account-surface.ts'
import type { CsvRow } from '../kit/csv.ts'
import { toCursor } from '../kit/queries.ts'
import { wantsCsv } from './ledger-query.ts'
import { DEFAULT_PAGE_LINES, MAX_PAGE_LINES } from './schemas.ts'
import { sendCsv } from './send-csv.ts'

/** A list that is read page by page: `next` is the start of the next page. */
interface List<Row, Shown> {
  /** What a table of it is saved as. */
  readonly name: string
  /** The columns of the table, in the order in which the API shows them. */
  readonly columns: readonly (keyof Shown & string)[]
  readonly read: (page: {
    readonly after: string | undefined
    readonly limit: number
  }) => Promise<{ readonly items: readonly Row[]; readonly next: string | undefined }>
  readonly show: (row: Row) => Shown
}

/** The requested part of a list, and its format. */
interface ListQuery {
  readonly after: string | undefined
  readonly limit: number | undefined
  readonly format: 'json' | 'csv' | undefined
}

type Cells<Shown> = { readonly [Column in keyof Shown]: string | number | null }

/** All items of a list as rows of a table, page by page, up to `limit` if there is one. */
async function* rowsOf<Row, Shown extends Cells<Shown>>(
  { columns, read, show }: List<Row, Shown>,
  start: ListQuery,
): AsyncGenerator<readonly CsvRow[]> {
  let { after } = start
  let left = start.limit ?? Number.POSITIVE_INFINITY
  while (left > 0) {
    const page = await read({ after, limit: Math.min(left, MAX_PAGE_LINES) })
    yield page.items.map((row) => {
      const shown = show(row)
      return columns.map((column) => shown[column])
    })
    left -= page.items.length
    if (page.next === undefined) return
    after = page.next
  }
}

/** Answers with a page of a list and its further members, or with the whole list as a table. */
export async function sendList<Row, Shown extends Cells<Shown>, Beside extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  query: ListQuery,
  list: List<Row, Shown> & { readonly beside: Beside },
) {
  const { after, limit = DEFAULT_PAGE_LINES, format } = query
  void reply.header('cache-control', 'no-store').header('vary', 'Accept')
  if (wantsCsv(request, format)) return sendCsv(reply, list.name, list.columns, rowsOf(list, query))
  const { items, next } = await list.read({ after, limit })
  const cursor = next === undefined ? null : toCursor(next)
  return success({ items: items.map(list.show), next_cursor: cursor, ...list.beside })
}
