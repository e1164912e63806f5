import type { AuditedRow } from '../../../projections/engine/audited-rows.ts'
import { timeOf } from '../../../src/domain/any-event.ts'
import type { TaskEvent } from '../../../src/domain/task/events.ts'
import { plain, type Expected } from '../../../src/app/audit/compare.ts'
import type { TaskHistory } from '../../../src/app/audit/task-state.ts'

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
      return {
        updated_at_ms: at,
        observed_at_ms: at,
        status: event.data.status,
        ...(event.data.awaitsUsage && { awaiting_usage_at_ms: at }),
      }
    case 'TaskSucceeded': {
      const { nativeId, usage, output } = event.data
      const result = { native_id: nativeId, usage, output }
      return { updated_at_ms: at, observed_at_ms: at, status: 'succeeded', ...result }
    }
    case 'TaskSettled':
      return { settled: true }
    case 'TaskFailed': {
      const { code, message, absence, givenUp } = event.data
      return {
        updated_at_ms: at,
        observed_at_ms: at,
        status: 'failed',
        error: { code, message },
        ...(absence && { submission: 'not_accepted' }),
        ...(givenUp && before['submission'] === 'uncertain' && { submission: 'given_up' }),
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
    awaiting_usage_at_ms: null,
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
  const isGivenUp = ['not_accepted', 'given_up'].includes(String(task?.['submission']))
  return isGivenUp && poll?.['kind'] === 'watch'
}
