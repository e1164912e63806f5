import type { TaskRequest } from '../../domain/task/state.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError, type DomainCode } from '../../kernel/errors.ts'
import type { TaskCommand } from '../../domain/task/decider.ts'
import {
  type CommandContext,
  executeTaskCommand,
  loadTask,
  newCommandId,
  type TaskResult,
} from './commands.ts'
import type { TaskDeps } from './deps.ts'

/** Appends of a creation, and what becomes of them when the log does not answer. */

/** What goes beside a creation's events. */
function contextOf(request: TaskRequest): CommandContext {
  const { requestId, tenantId, tokenId } = request
  return { correlationId: requestId, tenantId, tokenId }
}

/** `position` is that of the intent; undefined where the log did not say. */
export type Recorded =
  | { readonly kind: 'recorded'; readonly position: bigint | undefined }
  | { readonly kind: 'exists' }

/**
 * Appends the intent (P1). `exists` when the id is taken, which only an `Idempotency-Key` can
 * bring about. @throws DomainError `log_unavailable` (nothing is there), `log_outcome_unknown`
 */
export async function recordRequested(
  deps: TaskDeps,
  request: TaskRequest,
  commandId: string,
): Promise<Recorded> {
  const { platformId, tenantId } = request
  let result: TaskResult
  try {
    result = await executeTaskCommand(
      deps,
      platformId,
      { kind: 'request', data: request },
      commandId,
      contextOf(request),
      'none',
    )
  } catch (error) {
    if (isDomainError(error, 'task_state_conflict')) return { kind: 'exists' }
    if (isDomainError(error, 'log_outcome_unknown')) {
      // It may be there, yet nothing was sent: say so as soon as the log answers again.
      deps.background.keepTrying('not-sent', platformId, () => refuseIfRecorded(deps, request))
      throw error
    }
    // A keyed id may be another request's too: its reservation is left to the sweep.
    if (request.idempotency === undefined)
      await quietly(deps, platformId, deps.admissions.withdraw(platformId))
    throw error
  }
  if (result.events.length === 0) return { kind: 'exists' }
  deps.recent.note(tenantId, result.position)
  if (result.position !== undefined)
    void quietly(deps, platformId, deps.admissions.recorded(platformId, result.position))
  return { kind: 'recorded', position: result.position }
}

async function refuseIfRecorded(deps: TaskDeps, request: TaskRequest): Promise<void> {
  const state = await loadTask(deps.log, request.platformId)
  // Not there after all, or another request under the same key was first: that one goes on.
  if (state.phase === 'none' || state.request.requestId !== request.requestId) return
  try {
    await executeTaskCommand(
      deps,
      request.platformId,
      {
        kind: 'refuse',
        code: 'not_sent',
        message: 'The request was never sent to the model service.',
        at: toTimestamp(deps.clock.nowMs()),
      },
      newCommandId(deps.clock.nowMs()),
      contextOf(request),
    )
  } catch (error) {
    // The reconciler or the deadline was quicker.
    if (!isDomainError(error, 'task_state_conflict')) throw error
  }
}

/**
 * Appends an outcome; when the log does not take it now, keeps trying behind the caller's back.
 * Returns whether it is durable.
 */
export async function recordOutcome(
  deps: TaskDeps,
  request: TaskRequest,
  command: TaskCommand,
): Promise<boolean> {
  const { platformId, tenantId } = request
  const commandId = newCommandId(deps.clock.nowMs())
  const known = { state: { phase: 'requested', request }, revision: 0n } as const
  const append = async (): Promise<void> => {
    const { state, revision, position } = await executeTaskCommand(
      deps,
      platformId,
      command,
      commandId,
      contextOf(request),
      known,
    )
    deps.recent.note(tenantId, position)
    if (state.phase === 'active' && revision !== undefined)
      deps.known.set(platformId, { state, revision })
  }
  try {
    await append()
    return true
  } catch (error) {
    deps.logger.warn({ platformId, command: command.kind, err: error }, 'outcome not recorded yet')
    deps.background.keepTrying(command.kind, platformId, append)
    return false
  }
}

/** Housekeeping that must not fail a request; what it leaves is swept later. */
export async function quietly(
  deps: Pick<TaskDeps, 'logger'>,
  platformId: string,
  work: Promise<unknown>,
): Promise<void> {
  try {
    await work
  } catch (error) {
    deps.logger.warn({ platformId, err: error }, 'housekeeping of a task failed')
  }
}

/** An error of the use case that names its task. */
export function taskError(
  code: DomainCode,
  message: string,
  platformId: string,
  details: Readonly<Record<string, unknown>> = {},
): DomainError {
  return new DomainError(code, message, { ...details, platformId })
}
