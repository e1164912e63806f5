import { Type } from 'typebox'
import type { CsvRow } from '../kit/csv.ts'

/** Lists with numbered pages. */

const DEFAULT_PAGE_SIZE = 20
const MAX_PAGE_SIZE = 100
/** The last page number that is served. */
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

/** Converts a page number to the number of rows before the page. */
export function readPage({ page = 1, page_size: pageSize = DEFAULT_PAGE_SIZE }: AskedPage) {
  return { page, pageSize, offset: (page - 1) * pageSize, limit: pageSize }
}

/** Reads rows of a list after so many others. */
type ReadRows = (page: {
  readonly offset: number
  readonly limit: number
}) => Promise<readonly CsvRow[]>

/** All rows of a list; each page begins after the last row of the one before. */
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

/** The requested page, or all pages if none was requested. */
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
