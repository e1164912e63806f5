import { Type } from 'typebox'
import { DomainError } from '../../kernel/errors.ts'

/** Lists whose next page begins after the last item of the one before. */

const DEFAULT_ITEMS = 100
const MAX_ITEMS = 1_000

export const cursorMembers = {
  cursor: Type.Optional(
    Type.String({ maxLength: 256, description: '`next_cursor` of the page before.' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_ITEMS,
      description: `Items of the page, ${DEFAULT_ITEMS} by default.`,
    }),
  ),
} as const

export const NextCursor = Type.Union([Type.String(), Type.Null()], {
  description: 'Where the next page begins; null: there is none.',
})

/** Reads one page and whether there is another. @throws DomainError `invalid_cursor` */
export async function readPage<Item>(
  { cursor, limit = DEFAULT_ITEMS }: { readonly cursor?: string; readonly limit?: number },
  read: (page: {
    readonly after: string | undefined
    readonly limit: number
  }) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
): Promise<{ readonly items: readonly Item[]; readonly next_cursor: string | null }> {
  const found = await read({ after: fromCursor(cursor), limit: limit + 1 })
  const items = found.slice(0, limit)
  const last = items.at(-1)
  const more = found.length > limit && last !== undefined
  return { items, next_cursor: more ? toCursor(idOf(last)) : null }
}

/** Writes the place after which the next page begins; opaque to callers. */
export function toCursor(after: string): string {
  return Buffer.from(after, 'utf8').toString('base64url')
}

/** @throws DomainError `invalid_cursor` on anything that is not the shape of one of ours */
export function fromCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined
  const after = /^[\w-]{1,256}$/.test(cursor) ? Buffer.from(cursor, 'base64url').toString() : ''
  if (!/^[\x21-\x7e]{1,160}$/.test(after) || toCursor(after) !== cursor)
    throw new DomainError('invalid_cursor', 'cursor must be a next_cursor of this query', {
      param: 'cursor',
    })
  return after
}
