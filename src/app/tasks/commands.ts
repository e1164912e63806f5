import { taskDecider } from '../../domain/families/tasks.ts'
import type { TaskCommand } from '../../domain/task/decider.ts'
import { type TaskEvent, taskStream } from '../../domain/task/events.ts'
import type { TaskState } from '../../domain/task/state.ts'
import { executeCommand, type ExecuteResult } from '../../eventlog/log/execute.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { currentSchemaVersion } from '../../eventlog/log/upcast.ts'
import { isDomainError } from '../../kernel/errors.ts'
import { eventId, newId } from '../../kernel/ids.ts'

/** Who or what a command is run for; written beside the events. */
export interface CommandContext {
  /** The request id, or the name of the policy. */
  readonly correlationId: string
  readonly tenantId: string
  readonly tokenId?: string
}

export type TaskResult = ExecuteResult<TaskState, TaskEvent>

/** A new command id: every attempt of ours is a command of its own, its retries are not. */
export function newCommandId(nowMs: number): string {
  return newId('cmd', nowMs)
}

/**
 * The one way state of a task changes. @throws what the decider and the event log throw; after
 * `log_outcome_unknown` the same command id may be run again.
 */
export function executeTaskCommand(
  log: EventLog,
  platformId: string,
  command: TaskCommand,
  commandId: string,
  context: CommandContext,
  options: { readonly fresh?: boolean } = {},
): Promise<TaskResult> {
  return executeCommand({
    log,
    stream: taskStream(platformId),
    decider: taskDecider,
    command,
    commandId,
    metadata: context,
    ...options,
  })
}

/**
 * The same for a task whose state and revision the caller knows: appends without reading. If another
 * writer was there meanwhile, the command is decided anew on what the log has.
 */
export async function executeKnownTaskCommand(
  log: EventLog,
  known: { readonly state: TaskState; readonly revision: bigint },
  platformId: string,
  command: TaskCommand,
  commandId: string,
  context: CommandContext,
): Promise<Pick<TaskResult, 'position'>> {
  const stream = taskStream(platformId)
  const decided = taskDecider.decide(command, known.state)
  if (decided.length === 0) return {}
  const events = decided.map((event, index) => ({
    ...event,
    id: eventId(stream, commandId, index),
    metadata: { ...context, commandId, schemaVersion: currentSchemaVersion(event.type) },
  }))
  try {
    const { position } = await log.append(stream, events, known.revision)
    return position === undefined ? {} : { position }
  } catch (error) {
    if (!isDomainError(error, 'wrong_expected_revision')) throw error
    return executeTaskCommand(log, platformId, command, commandId, context)
  }
}

/** Folds a task from its stream; `none` when there is no such stream. */
export async function loadTask(log: EventLog, platformId: string): Promise<TaskState> {
  const events = await log.readStream(taskStream(platformId))
  // A task stream holds only task events: its name comes from that aggregate.
  return events.reduce<TaskState>(
    (state, event) => taskDecider.evolve(state, event as unknown as TaskEvent),
    taskDecider.initial,
  )
}
