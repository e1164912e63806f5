import { Type } from 'typebox'
import { partsInTurns } from '../../kernel/turns.ts'
import { ROWS_AT_ONCE } from '../kit/answers/lists.ts'

/** Lists with numbered pages. */

const DEFAULT_PAGE_SIZE = 20
const MAX_PAGE_SIZE = 100
/** The last page number that is served. */
const MAX_PAGE = 10_000_000
/** Rows of one read behind a CSV export. */
const EXPORTED_AT_ONCE = 1_000

export const pageMembers = {
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE,
      description: 'Number of the page, from 1. CSV: absent means all.',
    }),
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
  total: Type.Integer({ description: 'Number of items on all pages.' }),
} as const

interface AskedPage {
  readonly page?: number
  readonly page_size?: number
}

/** Number of rows before a page, and number of its rows. */
interface PageBounds {
  readonly offset: number
  readonly limit: number
}

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

/** All rows of a list that is read by the number of rows before a page. */
export async function* pagesByOffset<Row>(
  read: (place: PageBounds) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let offset = 0; ; offset += EXPORTED_AT_ONCE) {
    const rows = await read({ offset, limit: EXPORTED_AT_ONCE })
    yield rows
    if (rows.length < EXPORTED_AT_ONCE) return
  }
}

/** A list with numbered pages; its table has all of them unless one is asked for. */
export function numberedList<Row, Shown, Further extends object>(
  asked: AskedPage,
  list: {
    readonly read: (
      place: PageBounds,
    ) => Promise<{ readonly rows: readonly Row[]; readonly total: number }>
    readonly all: () => AsyncIterable<readonly Row[]>
    /** Shows the rows of a page. */
    readonly show: (rows: readonly Row[]) => Promise<readonly Shown[]>
    /** Further members of a page. */
    readonly further: Further
  },
) {
  const { page = 1, page_size: pageSize = DEFAULT_PAGE_SIZE } = asked
  const place = { offset: (page - 1) * pageSize, limit: pageSize }
  const isOnePage = asked.page !== undefined || asked.page_size !== undefined
  return {
    page: async () => {
      const { rows, total } = await list.read(place)
      return { page, page_size: pageSize, total, ...list.further, items: await list.show(rows) }
    },
    rows: async function* rows(): AsyncGenerator<readonly Shown[]> {
      const pages = isOnePage
        ? partsInTurns((await list.read(place)).rows, ROWS_AT_ONCE)
        : list.all()
      for await (const found of pages) yield await list.show(found)
    },
  }
}
