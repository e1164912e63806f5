import type { Catalog } from '../../domain/catalog/catalog.ts'
import { type TaskEvent, taskStream } from '../../domain/task/events.ts'
import {
  evolveTask,
  initialTaskState,
  type TaskCommand,
  type TaskRequest,
  type TaskState,
} from '../../domain/task/state.ts'
import { executeCommand, type ExecuteResult } from '../../eventlog/log/execute.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError, type DomainCode, isDomainError } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'
import type { KnownTask, TaskDeps } from './deps.ts'

/** The initiator of a command; recorded beside the events. */
export interface TaskCommandContext {
  /** The request id, or the name of the policy. */
  readonly correlationId: string
  readonly tenantId: string
  readonly tokenId?: string
}

type TaskResult = ExecuteResult<TaskState, TaskEvent>

/** A new command id: each attempt is a new command, its retries are the same one. */
export function newCommandId(nowMs: number): string {
  return newId('cmd', nowMs)
}

/**
 * The only way to change a task's state; a `known` state is not read again. @throws what the
 * decider and the event log throw; after `log_outcome_unknown` the same command id may be run again
 */
export function executeTaskCommand(
  { log, catalog }: { readonly log: EventLog; readonly catalog: Pick<Catalog, 'taskDecider'> },
  platformId: string,
  command: TaskCommand,
  commandId: string,
  context: TaskCommandContext,
  known?: 'none' | KnownTask,
): Promise<TaskResult> {
  return executeCommand({
    log,
    stream: taskStream(platformId),
    decider: catalog.taskDecider,
    command,
    commandId,
    metadata: context,
    ...(known === undefined ? {} : { known }),
  })
}

/** Folds a task from its stream; `none` when there is no such stream. */
export async function loadTask(log: EventLog, platformId: string): Promise<TaskState> {
  const events = await log.readStream(taskStream(platformId))
  // The stream name comes from the task aggregate, so it holds only task events.
  return events.reduce<TaskState>(
    (state, event) => evolveTask(state, event as unknown as TaskEvent),
    initialTaskState,
  )
}

/** The metadata of a creation's events. */
function contextOf(request: TaskRequest): TaskCommandContext {
  const { requestId, tenantId, tokenId } = request
  return { correlationId: requestId, tenantId, tokenId }
}

/** The outcome of recording an intent; `position` is undefined when the log did not answer. */
export type Intent =
  | { readonly kind: 'recorded'; readonly position: bigint | undefined }
  | { readonly kind: 'exists' }
  | { readonly kind: 'unknown'; readonly position: undefined; readonly error: DomainError }

/**
 * Appends the intent (P1). `exists` when the id is taken, which only an `Idempotency-Key` can
 * cause; `unknown` when the log may have it.
 * @throws DomainError `log_unavailable` (the log does not have it)
 */
export async function recordRequested(
  deps: TaskDeps,
  request: TaskRequest,
  commandId: string,
): Promise<Intent> {
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
      // The log may have the request, but nothing was sent: record that as soon as the log answers
      // again.
      deps.background.keepTrying('not-sent', platformId, () => refuseIfRecorded(deps, request))
      return { kind: 'unknown', position: undefined, error }
    }
    throw error
  }
  if (result.events.length === 0) return { kind: 'exists' }
  deps.recent.note(tenantId, result.position)
  deps.dueTasks.expect()
  return { kind: 'recorded', position: result.position }
}

async function refuseIfRecorded(deps: TaskDeps, request: TaskRequest): Promise<void> {
  const state = await loadTask(deps.log, request.platformId)
  // The log does not have the request, or has another one under the same key, which continues.
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
    // The reconciler or the deadline was first.
    if (!isDomainError(error, 'task_state_conflict')) throw error
  }
}

/**
 * Appends an outcome; while the log is unavailable, it retries in the background. Returns whether
 * the outcome is durable.
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
    deps.dueTasks.expect()
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

/** Housekeeping whose failure must not fail a request; a sweep repeats it. */
export async function logFailure(
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
