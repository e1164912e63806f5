import type { Quote } from '../../domain/pricing/settlement.ts'
import type { TaskEvent } from '../../domain/task/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'

/** What an audit has to know of a task to judge its next event. */
export interface TaskState {
  readonly platformId: string
  readonly tenantId: string
  readonly userId: string
  readonly quote: Quote
  /** RFC 3339. */
  readonly requestedAt: string
  /** Its hold stands: nothing has ended the task. */
  readonly open: boolean
  readonly settled: boolean
  /** The event before this one was its success. */
  readonly succeeded:
    | { readonly revision: bigint; readonly commandId: string; readonly position: bigint }
    | undefined
}

/** Whether an event ends the hold of its task, and how. */
export function holdEnd(type: TaskEvent['type']): 'captured' | 'released' | undefined {
  switch (type) {
    case 'TaskSettled':
      return 'captured'
    case 'TaskSubmissionRefused':
    case 'TaskFailed':
    case 'TaskExpired':
    case 'TaskCancelled':
      return 'released'
    case 'TaskRequested':
    case 'TaskStarted':
    case 'TaskSubmitted':
    case 'TaskSubmissionUncertain':
    case 'TaskStatusChanged':
    case 'TaskSucceeded':
    case 'TaskDeleted':
    case 'TaskAppearedLate':
      return undefined
  }
}

/** The state after an event; undefined while the task was never requested. */
export function advance(
  task: TaskState | undefined,
  event: RecordedEvent<TaskEvent>,
): TaskState | undefined {
  if (event.type === 'TaskRequested') {
    const { platformId, tenantId, userId, quote, requestedAt } = event.data
    const begun = { open: true, settled: false, succeeded: undefined }
    return { platformId, tenantId, userId, quote, requestedAt, ...begun }
  }
  if (task === undefined) return undefined
  const { revision, position, metadata } = event
  return {
    ...task,
    open: task.open && holdEnd(event.type) === undefined,
    settled: task.settled || event.type === 'TaskSettled',
    succeeded:
      event.type === 'TaskSucceeded'
        ? { revision, position, commandId: metadata.commandId }
        : undefined,
  }
}
