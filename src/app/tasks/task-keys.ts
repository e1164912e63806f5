import type { TaskState } from '../../domain/task/state.ts'
import { unreachable } from '../../kernel/assert.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { newPlatformId } from '../../kernel/ids.ts'
import { loadTask } from './commands.ts'
import type { TaskDeps } from './deps.ts'
import { bodyHashOf, keyedPlatformId, MAX_ATTEMPTS_PER_KEY } from './identity.ts'
import { taskError } from './task-log.ts'
import type { CreatedTask, TaskOrder } from './types.ts'

/**
 * `Idempotency-Key`: the platform id follows from tenant, surface and key, so that the log itself
 * decides who was first. A refused attempt frees the key for the next.
 */

/** A request without an outcome for longer than this was cut short: its outcome is uncertain. */
const IN_PROGRESS_FOR_MS = 120_000

export type Identity =
  | { readonly kind: 'new'; readonly platformId: string }
  | { readonly kind: 'replay'; readonly task: CreatedTask }

/**
 * The id a creation is to use, or the task it repeats.
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

/** Another request under the same key was recorded first. @throws as `chooseIdentity` */
export async function keyConflict(
  deps: TaskDeps,
  input: TaskOrder,
  platformId: string,
): Promise<CreatedTask> {
  const task = repeated(deps, input, await loadTask(deps.log, platformId))
  if (task !== undefined) return task
  throw inProgress(platformId)
}

/** The task a request repeats; undefined when that attempt was refused, so that a new one may be. */
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
    // Made here: its creation was answered as soon as it was recorded, whatever becomes of it.
    case 'started':
      return { ...replay, nativeId: platformId }
    case 'active':
      return { ...replay, nativeId: state.nativeId, usage: state.usage }
    case 'ended':
      if (state.request.madeHere) return { ...replay, nativeId: platformId }
      if (state.nativeId !== undefined)
        return { ...replay, nativeId: state.nativeId, usage: state.usage }
      // Upstream certainly never had it: a refusal that took its time.
      if (state.absence !== undefined) return undefined
      throw uncertain(platformId)
    case 'uncertain':
      if (state.request.madeHere) return { ...replay, nativeId: platformId }
      throw uncertain(platformId)
    case 'requested':
      if (state.request.madeHere) return { ...replay, nativeId: platformId }
      // Requested in the future: by a clock that was set back since.
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
    'a request with this Idempotency-Key is still under way',
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
