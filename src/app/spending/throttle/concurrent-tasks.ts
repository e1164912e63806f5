import type { PoolClient } from 'pg'
import { readCheckpoint } from '../../../../projections/engine/checkpoint.ts'
import { openTasks, type TaskOwner } from '../../../../projections/tasks/query.ts'
import type { DomainError } from '../../../kernel/errors.ts'
import { limitReached } from './breach.ts'
import type { Holder, Whose } from './holders.ts'

/**
 * Tasks a token, a user or a tenant may have at a time, decided inside the transaction of an admission:
 * what the tasks projection knows to be open, and what was admitted and is not projected yet. Exact with
 * any number of replicas, because admissions of one holder wait for each other.
 */

/** First key of the advisory locks, so that they meet no other use. */
const LOCK_SPACE = 7_207_003
/** A task takes minutes; nobody knows how many. */
const RETRY_AFTER_MS = 10_000

/** A limit on the tasks of somebody. */
export interface TaskLimit {
  readonly whose: Whose
  readonly holderId: string
  readonly limit: number
}

export interface PlaceRequest {
  readonly platformId: string
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  /** Nobody in it: any number may be had. */
  readonly taskLimits: readonly TaskLimit[]
}

/** Those of somebody's limits that are on tasks. */
export function taskLimitsOf(holders: readonly Holder[]): readonly TaskLimit[] {
  return holders.flatMap(({ whose, id, limits: { concurrentTasks: limit } }) =>
    limit === undefined ? [] : [{ whose, holderId: id, limit }],
  )
}

/** Whose tasks count against a limit of whoever asks. */
export function taskOwnerOf(
  { tenantId, userId, tokenId }: Pick<PlaceRequest, 'tenantId' | 'userId' | 'tokenId'>,
  whose: Whose,
): TaskOwner {
  if (whose === 'tenant') return { tenantId }
  return whose === 'user' ? { tenantId, userId } : { tenantId, tokenId }
}

/** The places of the holders of one batch; they last as long as the transaction. */
export interface TaskPlaces {
  /** The refusal, or undefined: then `take` it once everything else is there as well. */
  readonly refusal: (request: PlaceRequest) => DomainError | undefined
  readonly take: (request: PlaceRequest) => void
}

/** Somebody who is limited, and how many they have. */
interface Counted {
  readonly owner: TaskOwner
  readonly limit: number
  taken: number
}

/**
 * Locks the holders that are limited and counts what they have. The requests are of one tenant.
 * Nothing is read where nobody is limited.
 */
export async function readTaskPlaces(
  client: PoolClient,
  requests: readonly PlaceRequest[],
): Promise<TaskPlaces> {
  const counted = new Map<string, Counted>()
  for (const request of requests)
    for (const { whose, holderId, limit } of request.taskLimits) {
      const known = counted.get(holderId)
      const owner = taskOwnerOf(request, whose)
      counted.set(holderId, { owner, limit: Math.max(limit, known?.limit ?? 0), taken: 0 })
    }
  const [first] = requests
  if (first === undefined || counted.size === 0)
    return { refusal: () => undefined, take: () => undefined }
  await lockHolders(client, [...counted.keys()])
  const reserved = await unprojected(client, first.tenantId)
  // Read later than the reservations: one that is projected in between is found here.
  const all = [...counted.values()]
  const mostAllowed = Math.max(...all.map(({ limit }) => limit))
  const { open, known } = await openTasks(
    client,
    all.map(({ owner }) => owner),
    [...reserved.keys()],
    mostAllowed,
  )
  for (const [index, one] of all.entries()) one.taken = open[index] ?? 0
  for (const [platformId, place] of reserved)
    if (!known.has(platformId)) for (const one of all) if (isOf(place, one.owner)) one.taken += 1
  return {
    refusal: ({ platformId, taskLimits }) => {
      // The same Idempotency-Key twice at once: the log will turn one of them away.
      if (reserved.has(platformId)) return undefined
      const full = taskLimits.find(
        ({ holderId, limit }) => (counted.get(holderId)?.taken ?? 0) >= limit,
      )
      if (full === undefined) return undefined
      const { whose, limit } = full
      return limitReached({ whose, limitedBy: 'concurrent_tasks', limit, waitMs: RETRY_AFTER_MS })
    },
    take: ({ platformId, userId, tokenId }) => {
      if (reserved.has(platformId)) return
      reserved.set(platformId, { userId, tokenId })
      for (const one of all) if (isOf({ userId, tokenId }, one.owner)) one.taken += 1
    },
  }
}

/** Who took a place of the tenant's. */
interface Place {
  /** Undefined where it was taken before users were told apart: it may be anybody's. */
  readonly userId: string | undefined
  readonly tokenId: string
}

function isOf(place: Place, owner: TaskOwner): boolean {
  if (owner.tokenId !== undefined) return place.tokenId === owner.tokenId
  return owner.userId === undefined || place.userId === undefined || place.userId === owner.userId
}

async function lockHolders(client: PoolClient, holderIds: readonly string[]): Promise<void> {
  await client.query({
    name: 'task-places-lock',
    // In the order of the keys: two batches must not wait for each other crosswise.
    text: `select pg_advisory_xact_lock($1, key) from (
             select distinct hashtext(id) as key from unnest($2::text[]) as id order by key) as keys`,
    values: [LOCK_SPACE, holderIds],
  })
}

/** Who took places by platform id that were admitted and may not be projected. */
async function unprojected(client: PoolClient, tenantId: string): Promise<Map<string, Place>> {
  const checkpoint = await readCheckpoint(client, 'tasks')
  const { rows } = await client.query<{
    platform_id: string
    user_id: string | null
    token_id: string
  }>({
    name: 'task-places-reserved',
    text: `select platform_id, user_id, token_id from ops.admissions
           where tenant_id = $1 and coalesce(position, 9223372036854775807) > $2`,
    values: [tenantId, checkpoint?.position ?? -1n],
  })
  return new Map(
    rows.map(({ platform_id, user_id, token_id }) => [
      platform_id,
      { userId: user_id ?? undefined, tokenId: token_id },
    ]),
  )
}
