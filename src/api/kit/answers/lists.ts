import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { wholeSecond } from '../../../kernel/clock.ts'
import { partsInTurns } from '../../../kernel/turns.ts'
import { success } from '../routes/account-surface.ts'
import { type CsvRow, csvPages } from './csv.ts'
import { type FileFacts, fileName, sendFile } from './files.ts'
import { callerGone } from '../routes/calls.ts'
import { toCursor } from '../routes/queries.ts'
import { RequestError } from '../request-error.ts'

/** Most lines of one JSON page, and of one read of a CSV export. */
export const MAX_PAGE_LINES = 1_000
export const DEFAULT_PAGE_LINES = 100

const formatOptions = { description: 'Takes precedence over the Accept header.' }
const Bom = Type.Optional(
  Type.Enum(['true', 'false'], {
    description: 'CSV: whether a byte order mark comes first, by which spreadsheets know UTF-8.',
  }),
)
/** The form of a list: a page, or a file of all of it. */
export const fileMembers = {
  format: Type.Optional(Type.Enum(['json', 'csv', 'ndjson'], formatOptions)),
  bom: Bom,
}
/** The form of a list of lines, which has further files. */
export const lineFileMembers = {
  format: Type.Optional(Type.Enum(['json', 'csv', 'ndjson', 'focus', 'parquet'], formatOptions)),
  bom: Bom,
}

/** Every list has a name, and a page with its further members. */
export interface ListPage<Page> {
  /** The name of its file, of which `facts` says more; without its extension. */
  readonly name: string
  readonly facts?: Omit<FileFacts, 'name'>
  readonly page: () => Promise<Page>
}

export interface Table<Row> {
  /** The columns of the table, in the order in which the API shows them. */
  readonly columns: readonly (keyof Row & string)[]
  /** Columns with Unix seconds, which are written as RFC 3339 too, at the end. */
  readonly seconds?: readonly (keyof Row & string)[]
  /** The rows of the table, page by page. */
  readonly rows: () => AsyncIterable<readonly Row[]>
}

/** A file that is made as it is read, in at least one piece, or one that is whole and has a size. */
export interface WrittenFile {
  readonly extension: string
  readonly type: string
  readonly sizeBytes?: number
  readonly pieces: AsyncIterable<string | Uint8Array>
}

/** A list whose file is a table of the rows that its pages have. */
type TableList<Row, Page> = ListPage<Page> & Table<Row>

/** Rows of a table that are written in one turn of the event loop. */
export const ROWS_AT_ONCE = 500

/** The formats of a table. */
export type TableFormat = 'csv' | 'ndjson'

/** The form in which a list is wanted. */
interface AskedForm<Format extends string = 'json' | TableFormat> {
  readonly format?: Format
  /** Whether a byte order mark comes first. */
  readonly bom?: 'true' | 'false'
}

/** The formats that are tables of text. */
const tables: ReadonlySet<string> = new Set(['csv', 'focus'])

export const CSV = { extension: 'csv', type: 'text/csv; charset=utf-8; header=present' } as const

export const NDJSON = { extension: 'ndjson', type: 'application/x-ndjson' } as const

/** Answers with a page of a list, or with its table where the caller wants a file. */
export async function sendList<Row, Page extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  asked: AskedForm,
  list: TableList<Row, Page>,
) {
  return sendListOr(request, reply, asked, withFiles(list, asked.bom === 'true'))
}

/** A list with the files of its table. */
export function withFiles<Row, Page extends object>(
  list: TableList<Row, Page>,
  hasByteOrderMark: boolean,
) {
  const file = (format: TableFormat): WrittenFile =>
    format === 'csv'
      ? { ...CSV, pieces: csvOf(list, hasByteOrderMark) }
      : { ...NDJSON, pieces: jsonLinesOf(list) }
  return { ...list, file }
}

const membersOf = <Row>(row: Row, columns: Table<Row>['columns']) =>
  Object.fromEntries(columns.map((column) => [column, row[column]]))

/** A table as pieces of text, a line of JSON a row with the columns as members. */
async function* jsonLinesOf<Row>({ columns, rows }: Table<Row>): AsyncGenerator<string> {
  let isEmpty = true
  for await (const page of rows()) {
    isEmpty = false
    yield page.map((row) => `${JSON.stringify(membersOf(row, columns))}\n`).join('')
  }
  if (isEmpty) yield ''
}

/** A table as pieces of CSV. */
export function csvOf<Row>(list: Table<Row>, hasByteOrderMark: boolean): AsyncIterable<string> {
  return csvPages(headerOf(list), cellsOf(list), hasByteOrderMark)
}

/** Answers with a page of a list, or with a file in one of its further formats. */
export async function sendListOr<Format extends string, Page extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  asked: AskedForm<Format | 'json' | 'csv'>,
  list: ListPage<Page> & FileList<Format | 'csv'>,
) {
  void reply.header('cache-control', 'no-store').header('vary', 'Accept')
  const format = formatOf(request, asked.format)
  if (asked.bom === 'true' && !tables.has(format))
    throw new RequestError('parameter_invalid', `bom is for tables: ${format} has none`, 'bom')
  if (format === 'json') return success(await list.page())
  return sendFileOf(request, reply, format, list)
}

/** A list with its files. */
export type FileList<Format extends string> = Omit<ListPage<object>, 'page'> & {
  readonly file: (format: Format, callerGone: AbortSignal) => WrittenFile | Promise<WrittenFile>
}

/** Answers with a list as a file, which has a name by its facts. */
export async function sendFileOf<Format extends string>(
  request: FastifyRequest,
  reply: FastifyReply,
  format: Format,
  { name, facts, file: make }: FileList<Format>,
): Promise<FastifyReply> {
  const { extension, ...file } = await make(format, callerGone(reply).signal)
  const fullName =
    facts === undefined ? `${name}.${extension}` : fileName({ ...facts, name }, extension)
  return sendFile(request, reply, { ...file, name: fullName, asOf: facts?.asOf })
}

/** The wanted format: by `format`, otherwise by `Accept`. */
function formatOf<Format extends string>(
  request: FastifyRequest,
  format: Format | undefined,
): Format | 'json' | 'csv' {
  if (format !== undefined) return format
  const accept = request.headers.accept ?? ''
  const csv = weight(accept, 'text/csv')
  return csv > 0 && csv > weight(accept, 'application/json') ? 'csv' : 'json'
}

function weight(accept: string, type: string): number {
  for (const range of accept.split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (name !== type) continue
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    return q === undefined ? 1 : Number(q.slice(2)) || 0
  }
  return -1
}

function headerOf<Row>({ columns, seconds = [] }: Table<Row>): readonly string[] {
  return [...columns, ...seconds.map((column) => `${column}_utc`)]
}

async function* cellsOf<Row>({
  columns,
  seconds = [],
  rows,
}: Table<Row>): AsyncGenerator<readonly CsvRow[]> {
  for await (const page of rows())
    yield page.map((row) => [
      ...columns.map((column) => toCell(row[column])),
      ...seconds.map((column) => toTime(row[column])),
    ])
}

function toTime(seconds: unknown): string | null {
  return typeof seconds === 'number' ? wholeSecond(seconds * 1_000) : null
}

/** A value as a cell of a table; an object is written as JSON. */
function toCell(value: unknown): CsvRow[number] {
  if (value === null || typeof value === 'number' || typeof value === 'string') return value
  return typeof value === 'boolean' ? String(value) : JSON.stringify(value)
}

/** The rows of a table that are read already. */
export function wholeRows<Row>(rows: readonly Row[]): Table<Row>['rows'] {
  return () => partsInTurns(rows, ROWS_AT_ONCE)
}

/** A list without pages. */
export function wholeList<Page extends { readonly items: readonly unknown[] }>(page: Page) {
  return {
    page: () => Promise.resolve(page),
    rows: wholeRows<Page['items'][number]>(page.items),
  }
}

/** Start of a page, and its number of items. */
interface From {
  /** The list, as `listKeyOf` names it. */
  readonly listKey: string
  readonly after: string | undefined
  readonly limit: number | undefined
}

/** A page of a list, and the start of the next one. */
interface FoundPage<Item> {
  readonly items: readonly Item[]
  readonly next: string | undefined
}

type ReadFrom<Item> = (page: {
  readonly after: string | undefined
  readonly limit: number
}) => Promise<FoundPage<Item>>

/** All items of a list, page by page, up to `limit` if there is one. */
export async function* pagesFrom<Item>(
  { after, limit = Number.POSITIVE_INFINITY }: Omit<From, 'listKey'>,
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
      const { listKey, after, limit = DEFAULT_PAGE_LINES } = from
      const { items, next } = await read({ after, limit })
      return { items: items.map(show), ...nextCursor(next, listKey), ...further }
    },
    rows: async function* rows(): AsyncGenerator<readonly Row[]> {
      for await (const items of pagesFrom(from, read)) yield items.map(show)
    },
  }
}

/** Start of the next page, as shown in answers. */
export const nextCursor = (next: string | undefined, listKey: string) => ({
  next_cursor: next === undefined ? null : toCursor(next, listKey),
})
