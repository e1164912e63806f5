import type { TaskState } from '../../domain/task/state.ts'
import { unreachable } from '../../kernel/assert.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { type DomainCode, DomainError, isDomainError } from '../../kernel/errors.ts'
import { newPlatformId, type TaskKind } from '../../kernel/ids.ts'
import { bodyHashOf, keyedHash } from '../../kernel/keyed-hash.ts'
import type { TaskDeps } from './deps.ts'
import { loadTask, taskError } from './task-log.ts'
import type { CreatedTask, TaskOrder } from './types.ts'

/**
 * `Idempotency-Key`: the platform id is derived from tenant, surface and key, so that the log
 * decides which request was first. A refused attempt frees the key for the next.
 */

/** A request without an outcome for longer than this was interrupted: its outcome is uncertain. */
const IN_PROGRESS_FOR_MS = 120_000

type Identity =
  | { readonly kind: 'new'; readonly platformId: string }
  | { readonly kind: 'replay'; readonly task: CreatedTask }

/**
 * The id for a creation, or the task of which it is a retry.
 * @throws DomainError `idempotency_key_reused`, `idempotency_in_progress`, `submission_uncertain`
 */
export async function chooseIdentity(deps: TaskDeps, input: TaskOrder): Promise<Identity> {
  const { idempotencyKey: key, surface } = input
  const { idKind } = deps.catalog.taskFamily(input.family)
  if (key === undefined)
    return { kind: 'new', platformId: newPlatformId(idKind, deps.clock.nowMs()) }
  const { tenantId } = input.principal
  for (let attempt = 0; attempt < MAX_ATTEMPTS_PER_KEY; attempt += 1) {
    const id = keyedPlatformId(deps.markerSecret, idKind, { tenantId, surface, key }, attempt)
    const state = await loadTask(deps.log, id)
    if (state.phase === 'none') return { kind: 'new', platformId: id }
    const task = repeated(deps, input, state)
    if (task !== undefined) return { kind: 'replay', task }
  }
  throw new DomainError(
    'idempotency_key_reused',
    'too many attempts under this key were refused: use a new one',
    {},
  )
}

/** The log recorded another request under the same key first. @throws as `chooseIdentity` */
export async function keyConflict(
  deps: TaskDeps,
  input: TaskOrder,
  platformId: string,
): Promise<CreatedTask> {
  const task = repeated(deps, input, await loadTask(deps.log, platformId))
  if (task !== undefined) return task
  throw inProgress(platformId)
}

/** The task that a request repeats; undefined if that attempt was refused. */
function repeated(deps: TaskDeps, input: TaskOrder, state: TaskState): CreatedTask | undefined {
  if (state.phase === 'none') return undefined
  const { platformId, idempotency, requestedAt } = state.request
  const createdAtMs = fromTimestamp(requestedAt)
  const replay = { platformId, replayed: true, createdAtMs }
  if (idempotency?.bodyHash !== bodyHashOf(deps.markerSecret, input.bodyHash))
    throw taskError(
      'idempotency_key_reused',
      'this Idempotency-Key was used with another request',
      platformId,
    )
  switch (state.phase) {
    case 'refused':
      return undefined
    // Executed by the gateway: its creation was answered as soon as it was recorded.
    case 'started':
      return { ...replay, nativeId: platformId }
    case 'active':
      return { ...replay, nativeId: state.nativeId, usage: state.usage }
    case 'ended':
      if (state.request.madeHere) return { ...replay, nativeId: platformId }
      if (state.nativeId !== undefined)
        return { ...replay, nativeId: state.nativeId, usage: state.usage }
      // Upstream certainly never had it: a late refusal.
      if (state.absence !== undefined) return undefined
      throw uncertain(platformId)
    case 'uncertain':
      if (state.request.madeHere) return { ...replay, nativeId: platformId }
      throw uncertain(platformId)
    case 'requested':
      if (state.request.madeHere) return { ...replay, nativeId: platformId }
      // A future time comes from a clock that was set back since.
      if (Math.abs(deps.clock.nowMs() - createdAtMs) < IN_PROGRESS_FOR_MS)
        throw inProgress(platformId)
      throw uncertain(platformId)
    default:
      return unreachable(state)
  }
}

function inProgress(platformId: string): DomainError {
  return taskError(
    'idempotency_in_progress',
    'a request with this Idempotency-Key is in progress',
    platformId,
  )
}

function uncertain(platformId: string): DomainError {
  return taskError(
    'submission_uncertain',
    'the outcome of the request with this Idempotency-Key is not known yet',
    platformId,
  )
}

/** A refused attempt frees its key; after this many attempts the key is used up. */
const MAX_ATTEMPTS_PER_KEY = 16
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID_LENGTH = 26
const TENANT_PART = 24
const TASK_PART = 32

/**
 * The marker sent upstream when the caller gave none: its first part is stable per tenant, the
 * whole is unique per task, and it reveals nothing without the key.
 */
export function markerOf(secret: string, tenantId: string, platformId: string): string {
  const tenant = keyedHash(secret, 'tenant', [tenantId]).toString('hex').slice(0, TENANT_PART)
  const task = keyedHash(secret, 'task', [tenantId, platformId]).toString('hex').slice(0, TASK_PART)
  return `${tenant}${task}`
}

/**
 * The platform id of the n-th attempt under an `Idempotency-Key`: the same on every replica, so
 * that the log's `no_stream` decides which request is first.
 */
export function keyedPlatformId(
  secret: string,
  kind: TaskKind,
  key: { readonly tenantId: string; readonly surface: string; readonly key: string },
  attempt: number,
): string {
  const hash = keyedHash(secret, 'idempotency', [
    key.tenantId,
    key.surface,
    key.key,
    String(attempt),
  ])
  let bits = 0n
  for (const byte of hash.subarray(0, 17)) bits = (bits << 8n) | BigInt(byte)
  let id = ''
  for (let index = 0; index < ULID_LENGTH; index += 1) {
    // The first character of a ULID has only three bits.
    const width = index === ULID_LENGTH - 1 ? 3n : 5n
    id = CROCKFORD.charAt(Number(bits & ((1n << width) - 1n))) + id
    bits >>= width
  }
  return `${kind}_${id}`
}

/** Codes of refusals before anything was written. */
const nothingBegun: ReadonlySet<DomainCode> = new Set<DomainCode>([
  'log_unavailable',
  'database_unavailable',
  'read_model_behind',
  'overloaded',
  'rate_limited',
  'tenant_suspended',
  'tenant_closed',
  'user_suspended',
  'invalid_request',
  'asset_not_found',
  'asset_not_active',
  'asset_region_mismatch',
])

/** Once an id names a task, every error names it to the caller. */
export function withPlatformId(error: unknown, platformId: string): unknown {
  if (!isDomainError(error) || 'platformId' in error.details) return error
  // Nothing was written or sent yet: the id refers to no task, and a retry is safe.
  if (nothingBegun.has(error.code)) return error
  return new DomainError(error.code, error.message, { ...error.details, platformId })
}
