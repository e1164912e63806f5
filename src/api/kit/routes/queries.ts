import { hash } from 'node:crypto'
import { readTime, TIME_WORDS } from '../../../kernel/read-time.ts'
import { Type } from 'typebox'
import { DomainError } from '../../../kernel/errors.ts'
import { RequestError } from '../request-error.ts'

/** Lists whose next page begins after the last item of the one before. */

const DEFAULT_ITEMS = 100
const MAX_ITEMS = 1_000

export const cursorMembers = {
  cursor: Type.Optional(
    Type.String({ maxLength: 256, description: '`next_cursor` of the previous page.' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_ITEMS,
      description: `Items per page, ${DEFAULT_ITEMS} by default.`,
    }),
  ),
} as const

export const NextCursor = Type.Union([Type.String(), Type.Null()], {
  description: 'Cursor of the next page; null: this is the last page.',
})

/** Characters of base64url, of six bits each. */
const KEY_CHARACTERS = 8
/** Parameters that say how a page is shown, and not of which list it is. A cursor keeps `as_of` itself. */
const ofPages: readonly string[] = ['cursor', 'limit', 'format', 'bom', 'as_of']

/**
 * Names the list that cursors belong to, by a short hash of what it is of and of its parameters as they were
 * given. The place of a page in one list is no place in another: the items of that before it would be skipped.
 */
export function listKeyOf(of: readonly unknown[], query: object): string {
  const asked = Object.entries(query)
    .filter(([name, value]) => value !== undefined && !ofPages.includes(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  return hash('sha256', JSON.stringify([...of, asked]), 'base64url').slice(0, KEY_CHARACTERS)
}

/**
 * Reads one page of the list that `of` and the parameters name, and whether there is another.
 *
 * @throws DomainError `invalid_cursor`
 */
export async function readPage<Item>(
  of: readonly unknown[],
  query: { readonly cursor?: string; readonly limit?: number },
  read: (page: {
    readonly after: string | undefined
    readonly limit: number
  }) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
): Promise<{ readonly items: readonly Item[]; readonly next_cursor: string | null }> {
  const { cursor, limit = DEFAULT_ITEMS } = query
  const listKey = listKeyOf(of, query)
  const found = await read({ after: fromCursor(cursor, listKey), limit: limit + 1 })
  const items = found.slice(0, limit)
  const last = items.at(-1)
  const more = found.length > limit && last !== undefined
  return { items, next_cursor: more ? toCursor(idOf(last), listKey) : null }
}

/** Writes the cursor after which the next page of a list begins; opaque to callers. */
export function toCursor(after: string, listKey: string): string {
  return Buffer.from(`${listKey}.${after}`, 'utf8').toString('base64url')
}

/** @throws DomainError `invalid_cursor` on anything that is not a cursor of the list, or has no place of it */
export function fromCursor(
  cursor: string | undefined,
  listKey: string,
  isPlace: (after: string) => boolean = () => true,
): string | undefined {
  if (cursor === undefined) return undefined
  const text = /^[\w-]{1,256}$/.test(cursor) ? Buffer.from(cursor, 'base64url').toString() : ''
  const after = text.slice(listKey.length + 1)
  if (/^[\x21-\x7e]{1,160}$/.test(after) && toCursor(after, listKey) === cursor && isPlace(after))
    return after
  throw foreignCursor()
}

/** Makes the refusal of a cursor that no page of the query gave. */
export function foreignCursor(): DomainError {
  return new DomainError('invalid_cursor', 'cursor must be a next_cursor of this query', {
    param: 'cursor',
  })
}

/** A time of a query, as `boundOf` reads it. */
export const TimeBound = (description: string) =>
  Type.String({
    maxLength: 40,
    documented: {
      anyOf: [
        { type: 'string', format: 'date-time' },
        { type: 'string', format: 'date' },
      ],
      description,
    },
  })

/** Reads a time of the request as Unix milliseconds. @throws RequestError `parameter_invalid` */
export function timeOf(text: string | undefined, param: string): number | undefined {
  if (text === undefined) return undefined
  // In a query string a bare `+` of an offset arrives as a space.
  const unixMs = readTime(text.replace(' ', '+'))
  if (unixMs === undefined)
    throw new RequestError('parameter_invalid', `${param} must be ${TIME_WORDS}`, param)
  return unixMs
}

/**
 * The latest accepted time: the end of a day or an hour after it, in any zone, still has a year of
 * four digits.
 */
const LATEST_IN_RANGE_MS = Date.UTC(9_999, 11, 1)

/** Reads a bound of a range: where it lies beyond all that can happen, the latest one. @throws RequestError `parameter_invalid` */
export function boundOf(text: string | undefined, param: string): number | undefined {
  const unixMs = timeOf(text, param)
  return unixMs === undefined ? undefined : Math.min(unixMs, LATEST_IN_RANGE_MS)
}

/** The reason of a signal of `AbortSignal.timeout`. */
const TIME_IS_UP = 'TimeoutError'
/** Postgres cancelled a statement that took too long. */
const STATEMENT_ENDED = '57014'
/** A table or column is missing: the read model has an older version and is being rebuilt. */
const NOT_THERE_YET: readonly unknown[] = ['42P01', '42703']

/**
 * Runs a query. @throws RequestError `query_too_long`, which says how to make it shorter; `outage`
 */
export async function withQueryTimeout<Found>(
  narrowing: string,
  query: () => Promise<Found>,
): Promise<Found> {
  try {
    return await query()
  } catch (error) {
    const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
    const isTimeUp = error instanceof Error && error.name === TIME_IS_UP
    if (code === STATEMENT_ENDED || isTimeUp)
      throw new RequestError(
        'query_too_long',
        `The query takes too long: ${narrowing}`,
        undefined,
        error,
      )
    if (NOT_THERE_YET.includes(code))
      throw new RequestError(
        'outage',
        'This read model is being built; try again later',
        undefined,
        error,
      )
    throw error
  }
}
