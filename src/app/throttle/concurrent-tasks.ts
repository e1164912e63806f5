import type { PoolClient } from 'pg'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import { openTasks } from '../../../projections/tasks/query.ts'
import type { DomainError } from '../../kernel/errors.ts'
import { limitReached } from './breach.ts'

/**
 * Tasks a token may have at a time, decided inside the transaction of an admission: what the tasks
 * projection knows to be open, and what was admitted and is not projected yet. Exact with any number
 * of replicas, because admissions of one token wait for each other.
 */

/** First key of the advisory locks, so that they meet no other use. */
const LOCK_SPACE = 7_207_003
/** A task takes minutes; nobody knows how many. */
const RETRY_AFTER_MS = 10_000

export interface PlaceRequest {
  readonly platformId: string
  readonly tenantId: string
  readonly tokenId: string
  /** Undefined: the token may have any number. */
  readonly concurrentTasks: number | undefined
}

/** The places of the tokens of one batch; they last as long as the transaction. */
export interface TaskPlaces {
  /** The refusal, or undefined: then `take` it once everything else is there as well. */
  readonly refusal: (request: PlaceRequest) => DomainError | undefined
  readonly take: (request: PlaceRequest) => void
}

/**
 * Locks the tokens that are limited and counts what they have. The requests are of one tenant.
 * Nothing is read where no token is limited.
 */
export async function readTaskPlaces(
  client: PoolClient,
  requests: readonly PlaceRequest[],
): Promise<TaskPlaces> {
  const limited = requests.filter(({ concurrentTasks }) => concurrentTasks !== undefined)
  const tokenIds = [...new Set(limited.map(({ tokenId }) => tokenId))]
  const [first] = limited
  if (first === undefined) return { refusal: () => undefined, take: () => undefined }
  await lockTokens(client, tokenIds)
  const reserved = await unprojected(client, first.tenantId, tokenIds)
  // Read later than the reservations: one that is projected in between is found here.
  const mostAllowed = Math.max(...limited.map(({ concurrentTasks = 0 }) => concurrentTasks))
  const { open, known } = await openTasks(client, tokenIds, [...reserved.keys()], mostAllowed)
  const taken = new Map<string, number>(tokenIds.map((id) => [id, open.get(id) ?? 0]))
  const has = (tokenId: string): number => taken.get(tokenId) ?? 0
  for (const [platformId, tokenId] of reserved)
    if (!known.has(platformId)) taken.set(tokenId, has(tokenId) + 1)
  return {
    refusal: ({ platformId, tokenId, concurrentTasks }) => {
      // The same Idempotency-Key twice at once: the log will turn one of them away.
      if (concurrentTasks === undefined || reserved.has(platformId)) return undefined
      if (has(tokenId) < concurrentTasks) return undefined
      return limitReached('concurrent_tasks', concurrentTasks, RETRY_AFTER_MS)
    },
    take: ({ platformId, tokenId, concurrentTasks }) => {
      if (concurrentTasks === undefined || reserved.has(platformId)) return
      reserved.set(platformId, tokenId)
      taken.set(tokenId, has(tokenId) + 1)
    },
  }
}

async function lockTokens(client: PoolClient, tokenIds: readonly string[]): Promise<void> {
  await client.query({
    name: 'task-places-lock',
    // In the order of the keys: two batches must not wait for each other crosswise.
    text: `select pg_advisory_xact_lock($1, key) from (
             select distinct hashtext(id) as key from unnest($2::text[]) as id order by key) as keys`,
    values: [LOCK_SPACE, tokenIds],
  })
}

/** Tokens by platform id of what was admitted and may not be projected. */
async function unprojected(
  client: PoolClient,
  tenantId: string,
  tokenIds: readonly string[],
): Promise<Map<string, string>> {
  const checkpoint = await readCheckpoint(client, 'tasks')
  const { rows } = await client.query<{ platform_id: string; token_id: string }>({
    name: 'task-places-reserved',
    text: `select platform_id, token_id from ops.admissions
           where tenant_id = $1 and token_id = any($2::text[])
             and coalesce(position, 9223372036854775807) > $3`,
    values: [tenantId, tokenIds, checkpoint?.position ?? -1n],
  })
  return new Map(rows.map((row) => [row.platform_id, row.token_id]))
}
