import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { TaskCommand } from '../../domain/task/decider.ts'
import { type TaskEvent, taskStream } from '../../domain/task/events.ts'
import { evolveTask, initialTaskState, type TaskState } from '../../domain/task/state.ts'
import { executeCommand, type ExecuteResult } from '../../eventlog/log/execute.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { newId } from '../../kernel/ids.ts'
import type { KnownTask } from './known-tasks.ts'

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
 * The one way state of a task changes; what is `known` of it need not be read. @throws what the decider and the event log throw; after
 * `log_outcome_unknown` the same command id may be run again.
 */
export function executeTaskCommand(
  { log, catalog }: { readonly log: EventLog; readonly catalog: Pick<Catalog, 'taskDecider'> },
  platformId: string,
  command: TaskCommand,
  commandId: string,
  context: CommandContext,
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
  // A task stream holds only task events: its name comes from that aggregate.
  return events.reduce<TaskState>(
    (state, event) => evolveTask(state, event as unknown as TaskEvent),
    initialTaskState,
  )
}
