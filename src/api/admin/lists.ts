import { type Static, Type } from 'typebox'
import { cursorList, fileMembers } from '../kit/answers/lists.ts'
import { cursorMembers, fromCursor, listKeyOf } from '../kit/routes/queries.ts'

/** Lists of the administration that are files too: all rows, or so many as `limit` says. */

/** Parameters of such a list. */
export const ListQuerySchema = Type.Object({ ...cursorMembers, ...fileMembers })
export type ListQuery = Partial<Static<typeof ListQuerySchema>>

/**
 * A list of what `of` and the parameters name, page by page. @throws DomainError `invalid_cursor`
 */
export function listOf<Item, Row>(
  of: readonly unknown[],
  query: ListQuery,
  read: (page: {
    readonly after: string | undefined
    readonly limit: number
  }) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
  show: (item: Item) => Row,
) {
  const listKey = listKeyOf(of, query)
  const from = { listKey, after: fromCursor(query.cursor, listKey), limit: query.limit }
  return cursorList(
    from,
    async ({ after, limit }) => {
      const found = await read({ after, limit: limit + 1 })
      const items = found.slice(0, limit)
      const last = items.at(-1)
      return { items, next: found.length > limit && last !== undefined ? idOf(last) : undefined }
    },
    show,
    {},
  )
}
