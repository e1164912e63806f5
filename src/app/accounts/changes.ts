import type { Queryable } from '../../../projections/engine/queryable.ts'
import { tokensOfPerson } from '../../../projections/access/query.ts'
import { type PublishedBook, publishedBooks } from '../../../projections/prices/query.ts'
import {
  type ChangesFilter,
  changesBefore,
  changesIn,
  type ChangeType,
  hasChanged,
  type TimelineItem,
} from '../../../projections/timeline/query.ts'
import type { AnyEvent } from '../../domain/any-event.ts'
import { eventOfItem } from '../read-models/timeline-event.ts'
import { type ChangeFacts, changeKinds, type DataOf } from './change-kinds.ts'

/** Changes by people and commands, newest first: who changed what, of whom, when, why, from what to what. */

/** A change as it is listed. */
export interface Change extends ChangeFacts {
  /** Decimal position in the log. */
  readonly position: string
  /** Unix milliseconds. */
  readonly atMs: number
  readonly type: ChangeType | 'PriceBookPublished'
  readonly what: string
  /** Undefined for a price book, which is of all tenants. */
  readonly tenantId: string | undefined
  readonly tokenId: string | undefined
  /** A token, or a name at a shell; undefined: not recorded. */
  readonly actor: string | undefined
}

type EventOf<T extends ChangeType> = {
  readonly [K in T]: { readonly type: K; readonly data: DataOf<K> }
}[T]

function factsOf<T extends ChangeType>(
  event: EventOf<T>,
  before: Readonly<Record<string, unknown>> | undefined,
): ChangeFacts & { readonly what: string } {
  const { what, facts } = changeKinds[event.type]
  return { what, ...facts(event.data, before) }
}

const isChange = (event: AnyEvent): event is Extract<AnyEvent, { readonly type: ChangeType }> =>
  Object.hasOwn(changeKinds, event.type)

/** The token that a change is about: events of accounts have no source. */
const tokenOf = ({ type, sourceId }: TimelineItem): string | undefined =>
  type.startsWith('Token') ? sourceId : undefined

/** The change before one, with which it is compared; none where it has both sides itself. */
function precedingOf(item: TimelineItem) {
  const event = eventOfItem(item)
  if (!isChange(event)) return []
  const { before } = changeKinds[event.type]
  if (before === undefined) return []
  const { position, tenantId, sourceId, userId } = item
  const { others = [], of } = before
  return [
    {
      position,
      tenantId,
      types: [event.type, ...others],
      sourceId: of === 'token' ? sourceId : undefined,
      userId: of === 'user' ? userId : undefined,
    },
  ]
}

function toChange(item: TimelineItem, before: TimelineItem | undefined): readonly Change[] {
  const event = eventOfItem(item)
  if (!isChange(event)) return []
  const { position, atMs, tenantId } = item
  const { actor } = event.metadata
  const of = { tenantId, tokenId: tokenOf(item), actor }
  return [{ position, atMs, type: event.type, ...of, ...factsOf(event, before?.data) }]
}

const toBookChange = ({ version, effectiveFrom, before, ...book }: PublishedBook): Change => ({
  position: book.position,
  atMs: book.publishedAtMs,
  type: 'PriceBookPublished',
  what: 'price book published',
  tenantId: undefined,
  tokenId: undefined,
  actor: book.publishedBy ?? undefined,
  id: version,
  from: before,
  to: `${version}, from ${effectiveFrom}`,
})

/** Newest first; of one time the later position first. */
const newest = (a: Change, b: Change): number =>
  b.atMs - a.atMs || (BigInt(b.position) > BigInt(a.position) ? 1 : -1)

/** A page of changes, the newest first; `after` is a `next` of the same list. */
export async function listChanges(
  db: Queryable,
  filter: ChangesFilter & {
    /** Whether price books are listed, which are of no tenant. */
    readonly withBooks: boolean
  },
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<{ readonly items: readonly Change[]; readonly next: string | undefined }> {
  const page = { after, limit: limit + 1 }
  const items = await changesIn(db, filter, page)
  const before = await changesBefore(db, items.flatMap(precedingOf))
  const books = filter.withBooks ? await publishedBooks(db, filter, page) : []
  const all = [
    ...items.flatMap((item) => toChange(item, before.get(item.position))),
    ...books.map(toBookChange),
  ].toSorted(newest)
  const shown = all.slice(0, limit)
  const last = shown.at(-1)
  return {
    items: shown,
    next: all.length > limit && last ? `${last.atMs}.${last.position}` : undefined,
  }
}

/** A person has so many tokens at most in a filter. */
const MAX_TOKENS = 1_000

/**
 * The actors that a name stands for: a token, the tokens of a user by id or by name, or a name at a shell; undefined
 * where none of them is known.
 */
export async function actorsNamed(
  db: Queryable,
  name: string,
  tenantId: string | undefined,
): Promise<readonly string[] | undefined> {
  const tokens = await tokensOfPerson(db, { name, tenantId, limit: MAX_TOKENS })
  // Only operators see who acted at a shell.
  const actors = tenantId === undefined ? [...new Set([name, ...tokens])] : tokens
  const isKnown = tokens.length > 0 || (await hasChanged(db, actors, tenantId))
  return isKnown ? actors : undefined
}
