import { Type } from 'typebox'
import type { CsvRow } from '../kit/csv.ts'

/** Lists whose pages are asked for by number. */

const DEFAULT_PAGE_SIZE = 20
const MAX_PAGE_SIZE = 100
/** No page further on than this is served. */
const MAX_PAGE = 10_000_000
/** Rows of one read behind a CSV export. */
const EXPORTED_AT_ONCE = 1_000

export const pageMembers = {
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE, description: 'From 1. CSV: absent means all.' }),
  ),
  page_size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      description: `${DEFAULT_PAGE_SIZE} by default.`,
    }),
  ),
} as const

export const shownPageMembers = {
  page: Type.Integer(),
  page_size: Type.Integer(),
  total: Type.Integer({ description: 'On all pages.' }),
} as const

interface AskedPage {
  readonly page?: number
  readonly page_size?: number
}

/** A page by its number as how many rows lie before it. */
export function readPage({ page = 1, page_size: pageSize = DEFAULT_PAGE_SIZE }: AskedPage) {
  return { page, pageSize, offset: (page - 1) * pageSize, limit: pageSize }
}

/** Reads rows of a list after so many others. */
type ReadRows = (page: {
  readonly offset: number
  readonly limit: number
}) => Promise<readonly CsvRow[]>

/** All rows of a list, each page of them behind the last row of the one before. */
export async function* pagesBehind<Row>(
  read: (after: Row | undefined, limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let after: Row | undefined; ;) {
    const rows = await read(after, EXPORTED_AT_ONCE)
    yield rows
    if (rows.length < EXPORTED_AT_ONCE) return
    after = rows.at(-1)
  }
}

/** The page that was asked for, or all pages of the list where none was. */
export async function* csvPages(
  asked: AskedPage,
  read: ReadRows,
): AsyncGenerator<readonly CsvRow[]> {
  if (asked.page !== undefined || asked.page_size !== undefined) {
    yield await read(readPage(asked))
    return
  }
  for (let offset = 0; ; offset += EXPORTED_AT_ONCE) {
    const rows = await read({ offset, limit: EXPORTED_AT_ONCE })
    yield rows
    if (rows.length < EXPORTED_AT_ONCE) return
  }
}
