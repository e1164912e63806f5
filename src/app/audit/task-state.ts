import { canonicalTime } from '../../../projections/engine/audited-rows.ts'
import { timeOf } from '../../domain/any-event.ts'
import type { TaskSuccess } from '../../domain/catalog/task-rules.ts'
import type { Quote, Settlement } from '../../domain/pricing/settlement.ts'
import {
  taskEvents,
  taskStream,
  type TaskEvent,
  type TaskEventData,
  type TaskFacts,
} from '../../domain/task/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { ledgerTables } from '../../../projections/ledger/query.ts'
import type { Expected } from './compare.ts'
import type { WalkedTable } from './stream-walk.ts'

/** Events of one task, oldest first. */
export type TaskHistory = readonly RecordedEvent<TaskEvent>[]

export function isTaskEvent(event: RecordedEvent): event is RecordedEvent<TaskEvent> {
  return event.type in taskEvents
}

/** Settles a success by the rules of its family. */
export type SettleTask = (family: string, success: TaskSuccess) => Settlement | undefined

/** The facts of a task that the audit needs to check its next event. */
export interface TaskState {
  readonly platformId: string
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly family: string
  readonly model: string
  readonly facts: TaskFacts
  readonly quote: Quote
  /** RFC 3339. */
  readonly requestedAt: string
  /** The hold is open: no event has ended the task. */
  readonly open: boolean
  readonly settled: boolean
  /** The event before this one was its success. */
  readonly succeeded:
    | (Pick<TaskEventData<'TaskSucceeded'>, 'usage' | 'output'> & {
        readonly revision: bigint
        readonly commandId: string
        readonly position: bigint
      })
    | undefined
}

/** The events that end the hold of their task. */
const holdEnds: Readonly<Partial<Record<TaskEvent['type'], 'captured' | 'released'>>> = {
  TaskSettled: 'captured',
  TaskSubmissionRefused: 'released',
  TaskFailed: 'released',
  TaskExpired: 'released',
  TaskCancelled: 'released',
}

/** Whether an event ends the hold of its task, and how. */
export function holdEnd(event: RecordedEvent): 'captured' | 'released' | undefined {
  return isTaskEvent(event) ? holdEnds[event.type] : undefined
}

/** The state after an event; undefined while the task was never requested. */
export function advance(
  task: TaskState | undefined,
  event: RecordedEvent<TaskEvent>,
): TaskState | undefined {
  if (event.type === 'TaskRequested') {
    const { platformId, tenantId, userId, tokenId, quote, requestedAt } = event.data
    const { family, model, facts } = event.data
    const priced = { family, model, facts, quote, requestedAt }
    const begun = { open: true, settled: false, succeeded: undefined }
    return { platformId, tenantId, userId, tokenId, ...priced, ...begun }
  }
  if (task === undefined) return undefined
  const { revision, position, metadata } = event
  return {
    ...task,
    open: task.open && holdEnds[event.type] === undefined,
    settled: task.settled || event.type === 'TaskSettled',
    succeeded:
      event.type === 'TaskSucceeded'
        ? {
            revision,
            position,
            commandId: metadata.commandId,
            usage: event.data.usage,
            output: event.data.output,
          }
        : undefined,
  }
}

/** The row of the hold of a task; undefined for no task. */
function holdRow(history: TaskHistory): Expected | undefined {
  const [first] = history
  if (first?.type !== 'TaskRequested') return undefined
  const { platformId, tenantId, quote, requestedAt } = first.data
  const end = history.find(({ type }) => holdEnds[type] !== undefined)
  return {
    source_id: platformId,
    tenant_id: tenantId,
    currency: quote.currency,
    amount: formatAmount(parseAmount(quote.hold)),
    state: (end && holdEnds[end.type]) ?? 'placed',
    placed_at: canonicalTime(requestedAt),
    closed_at: end && canonicalTime(timeOf(end)),
    position: (end ?? first).position,
  }
}

/** The holds of tasks, by the auditor's own account; `unapplied` are events that the ledger skipped. */
export function holdTable(unapplied: ReadonlySet<bigint>): WalkedTable {
  const rows: WalkedTable['rows'] = (events) => {
    const row = holdRow(events.filter(isTaskEvent))
    return new Map(row && [[String(row['source_id']), row]])
  }
  return {
    model: 'ledger',
    table: ledgerTables.holds,
    stream: taskStream,
    owner: 'source_id',
    key: 'source_id',
    types: new Set(Object.keys(taskEvents)),
    begun: ({ type, data, position }) =>
      type === 'TaskRequested' && !unapplied.has(position) ? data.platformId : undefined,
    rows,
    excused: (events) => rows(events.filter(({ position }) => !unapplied.has(position))),
  }
}
