import type { Queryable } from '../../../projections/engine/queryable.ts'
import { settledAmounts } from '../../../projections/ledger/query.ts'
import {
  beginningsOf,
  openingsNear,
  openingsOfRequests,
  type RelatedOpening,
  tasksNaming,
  type TimelineScope,
} from '../../../projections/timeline/query.ts'
import type { RepeatFacts } from '../../domain/repeat-facts.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import type { Opening } from '../finance/receipts/status.ts'

/** Lives that have to do with another: the same request again, and what uses what. */

/** Requests of an asset's uses that are looked up: the latest. */
const MOST_USES = 20

export type RelatedReason =
  /** The caller's program sent the same body again, and says that it did. */
  'retry' | 'same_body' | 'same_key' | 'same_request' | 'uses' | 'used_by'

export interface RelatedLife {
  readonly id: string
  readonly why: RelatedReason
  /** Time from this life to that one, in milliseconds; negative: that one was first. */
  readonly afterMs: number
  /** How often the caller's program had tried before, as it says. */
  readonly retry: number | undefined
  /** Amount that was charged, a decimal; undefined: nothing, or not yet. */
  readonly amount: string | undefined
  readonly currency: string | undefined
}

/** These facts show that two requests are one; a member is absent where nothing is known. */
interface OpeningFacts extends RepeatFacts {
  readonly requestId: string
  readonly idempotency?: { readonly keyHash: string }
}

/** The facts of an event that the read model has checked. */
const factsOf = ({ data }: RelatedOpening): OpeningFacts => data as unknown as OpeningFacts

type RetryFacts = { readonly retry?: number | undefined }

/** Whether one of two requests with the same body says that it is a retry. */
export function sameBodyReason(one: RetryFacts, other: RetryFacts): 'retry' | 'same_body' {
  return (one.retry ?? other.retry) === undefined ? 'same_body' : 'retry'
}

function reasonOf(own: OpeningFacts, other: OpeningFacts): RelatedReason | undefined {
  if (own.requestId === other.requestId) return 'same_request'
  if (own.bodyFingerprint !== undefined && own.bodyFingerprint === other.bodyFingerprint)
    return sameBodyReason(own, other)
  const key = own.idempotency?.keyHash
  return key !== undefined && key === other.idempotency?.keyHash ? 'same_key' : undefined
}

type FoundLife = Omit<RelatedLife, 'amount' | 'currency'>

function foundOf(other: RelatedOpening, atMs: number, why: RelatedReason): FoundLife {
  const { retry } = factsOf(other)
  return { id: other.sourceId, why, afterMs: other.atMs - atMs, retry }
}

/** Each life once, by the first reason that names it. */
function once(found: readonly FoundLife[]): readonly FoundLife[] {
  const byId = new Map<string, FoundLife>()
  for (const one of found) if (!byId.has(one.id)) byId.set(one.id, one)
  return [...byId.values()]
}

async function withAmounts(
  db: Queryable,
  found: readonly FoundLife[],
): Promise<readonly RelatedLife[]> {
  if (found.length === 0) return []
  const amounts = await settledAmounts(
    db,
    found.map(({ id }) => id),
  )
  return found.map((one) => {
    const { amount, currency } = amounts.get(one.id) ?? {}
    return { ...one, amount, currency }
  })
}

/** Finds the lives related to a task or a call, in the order of time. */
export async function relatedToRequest(
  db: Queryable,
  scope: TimelineScope,
  opening: Opening,
  sourceId: string,
): Promise<readonly RelatedLife[]> {
  const { tenantId, tokenId, requestId } = opening.data
  const owner = { tenantId, userIds: scope.userIds }
  const own: OpeningFacts = opening.data
  const atMs = opening.recordedAt.getTime()
  const texts = [own.bodyFingerprint, own.idempotency?.keyHash].filter((one) => one !== undefined)
  const [near, same, used] = await Promise.all([
    openingsNear(db, owner, { sourceId, atMs, tokenId }, texts),
    openingsOfRequests(db, owner, [requestId]),
    beginningsOf(db, owner, ('assetIds' in opening.data && opening.data.assetIds) || []),
  ])
  const others = [...same.filter((one) => one.sourceId !== sourceId), ...near].flatMap((other) => {
    const why = reasonOf(own, factsOf(other))
    return why === undefined ? [] : [foundOf(other, atMs, why)]
  })
  const uses = [...used].map(([id, begunAtMs]) => ({
    id,
    why: 'uses' as const,
    afterMs: begunAtMs - atMs,
    retry: undefined,
  }))
  const found = once([...others, ...uses]).toSorted((a, b) => a.afterMs - b.afterMs)
  return withAmounts(db, found)
}

/** Finds the tasks that used an asset, in the order of time: recorded uses, and the newest tasks. */
export async function usersOfAsset(
  db: Queryable,
  scope: TimelineScope,
  assetId: string,
  events: readonly RecordedEvent[],
): Promise<readonly RelatedLife[]> {
  const [first] = events
  const tenantId = first?.metadata.tenantId
  if (first === undefined || tenantId === undefined) return []
  const requestIds = events
    .flatMap((event) => (event.type === 'AssetUsed' ? [event.data.requestId] : []))
    .slice(-MOST_USES)
  const owner = { tenantId, userIds: scope.userIds }
  const users = await Promise.all([
    openingsOfRequests(db, owner, requestIds),
    tasksNaming(db, owner, assetId),
  ])
  const atMs = first.recordedAt.getTime()
  const found = once(users.flat().map((one) => foundOf(one, atMs, 'used_by')))
  return withAmounts(
    db,
    found.toSorted((a, b) => a.afterMs - b.afterMs),
  )
}
