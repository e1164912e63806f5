import type { PoolClient } from 'pg'
import { readCheckpoint } from '../../../../projections/engine/checkpoint.ts'
import { openTasks, type TaskOwner } from '../../../../projections/tasks/query.ts'
import type { DomainError } from '../../../kernel/errors.ts'
import { type Holder, limitReached, type Whose } from './limits.ts'

/**
 * Limits the concurrent tasks of a token, a user or a tenant, inside the transaction of an
 * admission. It counts open tasks of the tasks projection and admitted ones not yet projected. The
 * count is exact with any number of replicas, because admissions of one holder wait for each other.
 */

/** First key of the advisory locks, so that they meet no other use. */
const LOCK_SPACE = 7_207_003
/** A task takes minutes; how many is unknown. */
const RETRY_AFTER_MS = 10_000

/** A limit on the tasks of one holder. */
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
  /** Empty when no holder has a limit. */
  readonly taskLimits: readonly TaskLimit[]
}

/** The limits of these holders that are on tasks. */
export function taskLimitsOf(holders: readonly Holder[]): readonly TaskLimit[] {
  return holders.flatMap(({ whose, id, limits: { concurrentTasks: limit } }) =>
    limit === undefined ? [] : [{ whose, holderId: id, limit }],
  )
}

/** The owner whose tasks count against a limit of this caller. */
export function taskOwnerOf(
  { tenantId, userId, tokenId }: Pick<PlaceRequest, 'tenantId' | 'userId' | 'tokenId'>,
  whose: Whose,
): TaskOwner {
  if (whose === 'tenant') return { tenantId }
  return whose === 'user' ? { tenantId, userId } : { tenantId, tokenId }
}

/** The places of the holders of one batch; they last as long as the transaction. */
interface TaskPlaces {
  /** The refusal, or undefined: `take` follows once everything else is available as well. */
  readonly refusal: (request: PlaceRequest) => DomainError | undefined
  readonly take: (request: PlaceRequest) => void
}

/** A holder with a limit, and its number of tasks. */
interface Counted {
  readonly owner: TaskOwner
  readonly limit: number
  taken: number
}

/**
 * Locks the holders with limits and counts their tasks. The requests are of one tenant. Without
 * limits it reads nothing.
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
  // Read after the reservations: a reservation that is projected in between is found here.
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
      // Two requests have the same Idempotency-Key at the same time: the log will refuse one of
      // them.
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

/** The token and user that took one of the tenant's places. */
interface PlaceOwner {
  /** Undefined when it was taken before places recorded users: it may be any user's. */
  readonly userId: string | undefined
  readonly tokenId: string
}

function isOf(place: PlaceOwner, owner: TaskOwner): boolean {
  if (owner.tokenId !== undefined) return place.tokenId === owner.tokenId
  return owner.userId === undefined || place.userId === undefined || place.userId === owner.userId
}

async function lockHolders(client: PoolClient, holderIds: readonly string[]): Promise<void> {
  await client.query({
    name: 'task-places-lock',
    // In the order of the keys, so that two batches do not deadlock.
    text: `select pg_advisory_xact_lock($1, key) from (
             select distinct hashtext(id) as key from unnest($2::text[]) as id order by key) as keys`,
    values: [LOCK_SPACE, holderIds],
  })
}

/** The admitted requests that may not be projected, by platform id. */
async function unprojected(client: PoolClient, tenantId: string): Promise<Map<string, PlaceOwner>> {
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
