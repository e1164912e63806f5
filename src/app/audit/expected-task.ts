import type { AuditedRow } from '../../../projections/engine/audited-rows.ts'
import { timeOf } from '../../domain/any-event.ts'
import type { Quote } from '../../domain/pricing/settlement.ts'
import { taskEvents, type TaskEvent } from '../../domain/task/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { plain, timeCell, type Expected } from './compare.ts'

/** Events of one task, oldest first. */
export type TaskHistory = readonly RecordedEvent<TaskEvent>[]

export function isTaskEvent(event: RecordedEvent): event is RecordedEvent<TaskEvent> {
  return event.type in taskEvents
}

/** What the audit needs to know of a task to judge its next event. */
export interface TaskState {
  readonly platformId: string
  readonly tenantId: string
  readonly userId: string
  readonly quote: Quote
  /** RFC 3339. */
  readonly requestedAt: string
  /** Its hold is open: no event has ended the task. */
  readonly open: boolean
  readonly settled: boolean
  /** The event before this one was its success. */
  readonly succeeded:
    | { readonly revision: bigint; readonly commandId: string; readonly position: bigint }
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
    const { platformId, tenantId, userId, quote, requestedAt } = event.data
    const begun = { open: true, settled: false, succeeded: undefined }
    return { platformId, tenantId, userId, quote, requestedAt, ...begun }
  }
  if (task === undefined) return undefined
  const { revision, position, metadata } = event
  return {
    ...task,
    open: task.open && holdEnds[event.type] === undefined,
    settled: task.settled || event.type === 'TaskSettled',
    succeeded:
      event.type === 'TaskSucceeded'
        ? { revision, position, commandId: metadata.commandId }
        : undefined,
  }
}

const ms = (time: string): number => Date.parse(time)

/** The columns that one event sets in the row of its task, beyond those that every event sets. */
function changes(before: Expected, event: TaskEvent): Expected {
  const at = ms(timeOf(event))
  switch (event.type) {
    case 'TaskRequested':
      return { updated_at_ms: at }
    case 'TaskStarted':
      return {
        updated_at_ms: at,
        submission: 'started',
        status: 'running',
        channel_id: event.data.channelId,
        expires_at_ms: ms(event.data.expiresAt),
      }
    case 'TaskSubmitted':
      return {
        updated_at_ms: at,
        submission: 'submitted',
        native_id: event.data.nativeId,
        channel_id: event.data.channelId,
      }
    case 'TaskSubmissionRefused': {
      const { code, message } = event.data
      const error = { code, message }
      return { updated_at_ms: at, submission: 'refused', status: 'failed', error }
    }
    case 'TaskSubmissionUncertain':
      return {
        updated_at_ms: at,
        submission: before['submission'] === 'started' ? 'lost' : 'uncertain',
      }
    case 'TaskStatusChanged':
      return { updated_at_ms: at, observed_at_ms: at, status: event.data.status }
    case 'TaskSucceeded': {
      const { nativeId, usage, output } = event.data
      const result = { native_id: nativeId, usage, output }
      return { updated_at_ms: at, observed_at_ms: at, status: 'succeeded', ...result }
    }
    case 'TaskSettled':
      return { settled: true }
    case 'TaskFailed': {
      const { code, message, absence } = event.data
      return {
        updated_at_ms: at,
        observed_at_ms: at,
        status: 'failed',
        error: { code, message },
        ...(absence && { submission: 'not_accepted' }),
      }
    }
    case 'TaskExpired':
      return { updated_at_ms: at, status: 'expired' }
    case 'TaskCancelled':
      return { updated_at_ms: at, status: 'cancelled' }
    case 'TaskDeleted':
      return { hidden: true }
    case 'TaskAppearedLate':
      return { submission: 'appeared_late' }
  }
}

/** The row of a task by its events, without its place in the list; undefined for no task. */
export function taskRow(history: TaskHistory): Expected | undefined {
  const [first] = history
  if (first?.type !== 'TaskRequested') return undefined
  const { data } = first
  const begun: Expected = {
    platform_id: data.platformId,
    tenant_id: data.tenantId,
    user_id: data.userId,
    token_id: data.tokenId,
    family: data.family,
    surface: data.surface,
    request_id: data.requestId,
    model: data.model,
    channel_id: data.channelId,
    region: data.region,
    native_id: null,
    submission: data.madeHere ? 'waiting' : 'requested',
    status: 'queued',
    hidden: false,
    settled: false,
    settings: data.facts.settings,
    output: null,
    usage: null,
    error: null,
    marker: data.marker,
    marker_is_ours: data.markerIsOurs,
    observed_at_ms: null,
    requested_at_ms: ms(data.requestedAt),
    expires_at_ms: ms(data.expiresAt),
  }
  const row = history.reduce((before, event) => ({ ...before, ...changes(before, event) }), begun)
  const last = history.at(-1) ?? first
  const visible = row['hidden'] === false && row['submission'] !== 'refused'
  return { ...row, visible, revision: last.revision, position: last.position }
}

/** The upstream's id of a task by its last event that names it. */
export function nativeId(history: TaskHistory): string | null {
  const named = history.findLast(({ data }) => 'nativeId' in data)
  return named && 'nativeId' in named.data ? plain(named.data.nativeId) : null
}

const kindBySubmission: Readonly<Record<string, string>> = {
  submitted: 'poll',
  waiting: 'make',
  started: 'finish',
  lost: 'finish',
}

/** The row by which workers poll or make a task; undefined when it needs neither. */
export function pollRow(task: Expected | undefined): Expected | undefined {
  if (task === undefined) return undefined
  const unended = task['status'] === 'queued' || task['status'] === 'running'
  if (!unended || task['submission'] === 'refused') return undefined
  const copied = [
    'platform_id',
    'tenant_id',
    'family',
    'channel_id',
    'native_id',
    'requested_at_ms',
    'expires_at_ms',
  ]
  const kind = kindBySubmission[String(task['submission'])] ?? 'reconcile'
  return { ...Object.fromEntries(copied.map((column) => [column, task[column]])), kind }
}

/** Whether a row watches a task that was given up: its end is not in the log. */
export function isWatch(task: Expected | undefined, poll: AuditedRow | undefined): boolean {
  return task?.['submission'] === 'not_accepted' && poll?.['kind'] === 'watch'
}

/** The row of the hold of a task; undefined for no task. */
export function holdRow(history: TaskHistory): Expected | undefined {
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
    placed_at: timeCell(requestedAt),
    closed_at: end && timeCell(timeOf(end)),
    position: (end ?? first).position,
  }
}
