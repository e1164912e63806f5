import { unreachable } from '../../src/kernel/assert.ts'
import { fromTimestamp } from '../../src/kernel/clock.ts'
import { taskEvents, type TaskEvent, type TaskEventData } from '../../src/domain/task/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { expectInOrder } from '../engine/passed-over.ts'

export type TaskStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'expired' | 'cancelled'
export type Submission =
  | 'requested'
  /**
   * Phases of a task that a gateway worker makes: before its start, while it is made, with an
   * unknown outcome.
   */
  | 'waiting'
  | 'started'
  | 'lost'
  | 'submitted'
  | 'uncertain'
  | 'refused'
  /** Upstream certainly did not have it; `appeared_late`: until it had. */
  | 'not_accepted'
  | 'appeared_late'
  /** An operator no longer waits for it, and upstream may show it. */
  | 'given_up'
/**
 * How the worker continues a task. poll: by its native id; reconcile: the submission has no known
 * outcome; watch: upstream did not have it, and the worker keeps checking for a while; make: a
 * gateway worker is to make it; finish: a worker has begun to make it, and holds the lease while it
 * lives.
 */
export type PollKind = 'poll' | 'reconcile' | 'watch' | 'make' | 'finish'

/** The facts on which counts, lists and polls depend. */
export interface Standing {
  readonly submission: Submission
  readonly status: TaskStatus
  readonly hidden: boolean
}

/** A task already in the table: the facts that decide how its row and the counts change. */
export interface KnownTask extends Standing {
  readonly scopeId: number
  readonly seq: bigint
  readonly model: string
}

/** The change of one task by a batch. Undefined fields are unchanged in the table. */
export interface TaskChange {
  readonly platformId: string
  /** The request itself, if this batch has it. */
  readonly requested: TaskEventData<'TaskRequested'> | undefined
  /** The row before the batch, when it was there. */
  readonly known: KnownTask | undefined
  standing: Standing
  nativeId?: string
  channelId?: string
  settled?: boolean
  output?: TaskEventData<'TaskSucceeded'>['output']
  usage?: TaskEventData<'TaskSucceeded'>['usage']
  error?: { readonly code: string; readonly message: string }
  updatedAtMs?: number
  observedAtMs?: number
  awaitingUsageAtMs?: number
  expiresAtMs?: number
  revision: bigint
  position: bigint
  /** Time at which the row began to need its current kind of polling. */
  pollableSinceMs: number
}

export function isTaskEvent(event: RecordedEvent): event is RecordedEvent<TaskEvent> {
  return event.type in taskEvents
}

const terminal: ReadonlySet<TaskStatus> = new Set(['succeeded', 'failed', 'expired', 'cancelled'])

/** Whether lists show it. */
export function isVisible(standing: Standing): boolean {
  return !standing.hidden && standing.submission !== 'refused'
}

/** Whether upstream did not have it when it ended, and may show it later. */
export function isAbsent({ submission }: Standing): boolean {
  return submission === 'not_accepted' || submission === 'given_up'
}

/** Kind of polling that the task needs; undefined: none. */
export function pollKind(standing: Standing): PollKind | undefined {
  if (isAbsent(standing)) return 'watch'
  if (terminal.has(standing.status) || standing.submission === 'refused') return undefined
  switch (standing.submission) {
    case 'submitted':
      return 'poll'
    case 'waiting':
      return 'make'
    case 'started':
    case 'lost':
      return 'finish'
    case 'requested':
    case 'uncertain':
    case 'not_accepted':
    case 'given_up':
    case 'appeared_late':
      return 'reconcile'
  }
}

function to(change: TaskChange, standing: Partial<Standing>, at: string): void {
  change.standing = { ...change.standing, ...standing }
  change.updatedAtMs = fromTimestamp(at)
}

function evolve(change: TaskChange, event: TaskEvent): void {
  switch (event.type) {
    case 'TaskRequested':
      change.updatedAtMs = fromTimestamp(event.data.requestedAt)
      change.pollableSinceMs = change.updatedAtMs
      break
    case 'TaskStarted':
      to(change, { submission: 'started', status: 'running' }, event.data.startedAt)
      change.channelId = event.data.channelId
      change.expiresAtMs = fromTimestamp(event.data.expiresAt)
      break
    case 'TaskSubmitted':
      to(change, { submission: 'submitted' }, event.data.submittedAt)
      change.nativeId = event.data.nativeId
      change.channelId = event.data.channelId
      change.pollableSinceMs = fromTimestamp(event.data.submittedAt)
      break
    case 'TaskSubmissionRefused':
      to(change, { submission: 'refused', status: 'failed' }, event.data.refusedAt)
      change.error = { code: event.data.code, message: event.data.message }
      break
    case 'TaskSubmissionUncertain':
      to(
        change,
        { submission: change.standing.submission === 'started' ? 'lost' : 'uncertain' },
        event.data.uncertainAt,
      )
      change.pollableSinceMs = fromTimestamp(event.data.uncertainAt)
      break
    case 'TaskStatusChanged':
      observe(change, event.data)
      break
    case 'TaskSucceeded':
      to(change, { status: 'succeeded' }, event.data.succeededAt)
      succeed(change, event.data)
      break
    case 'TaskSettled':
      change.settled = true
      break
    case 'TaskFailed':
      to(change, { status: 'failed' }, event.data.failedAt)
      fail(change, event.data)
      break
    case 'TaskAppearedLate':
      change.standing = { ...change.standing, submission: 'appeared_late' }
      break
    case 'TaskExpired':
      to(change, { status: 'expired' }, event.data.expiredAt)
      break
    case 'TaskCancelled':
      to(change, { status: 'cancelled' }, event.data.cancelledAt)
      break
    case 'TaskDeleted':
      change.standing = { ...change.standing, hidden: true }
      break
    default:
      unreachable(event)
  }
}

function observe(change: TaskChange, data: TaskEventData<'TaskStatusChanged'>): void {
  to(change, { status: data.status }, data.observedAt)
  change.observedAtMs = fromTimestamp(data.observedAt)
  if (data.awaitsUsage === true) change.awaitingUsageAtMs = change.observedAtMs
}

function succeed(change: TaskChange, data: TaskEventData<'TaskSucceeded'>): void {
  change.observedAtMs = fromTimestamp(data.succeededAt)
  change.nativeId = data.nativeId
  change.usage = data.usage
  change.output = data.output
}

function fail(change: TaskChange, data: TaskEventData<'TaskFailed'>): void {
  change.observedAtMs = fromTimestamp(data.failedAt)
  change.error = { code: data.code, message: data.message }
  const isGivenUp = data.givenUp !== undefined && change.standing.submission === 'uncertain'
  if (data.absence === undefined && !isGivenUp) return
  const submission = isGivenUp ? 'given_up' : 'not_accepted'
  change.standing = { ...change.standing, submission }
  change.pollableSinceMs = fromTimestamp(data.failedAt)
}

function begin(event: RecordedEvent<TaskEvent>, known: ReadonlyMap<string, KnownTask>): TaskChange {
  const { platformId } = event.data
  const row = known.get(platformId)
  const requested = event.type === 'TaskRequested' ? event.data : undefined
  expectInOrder(
    (row === undefined) === (requested !== undefined),
    `${event.type} of ${platformId}, which ${row ? 'exists already' : 'was never requested'}`,
  )
  return {
    platformId,
    requested,
    known: row,
    standing: row ?? {
      submission: requested?.madeHere ? 'waiting' : 'requested',
      status: 'queued',
      hidden: false,
    },
    revision: event.revision,
    position: event.position,
    pollableSinceMs: 0,
  }
}

/** Folds a batch into one change per task, in the order in which tasks first appear. */
export function foldTasks(
  batch: readonly RecordedEvent<TaskEvent>[],
  known: ReadonlyMap<string, KnownTask>,
): readonly TaskChange[] {
  const changes = new Map<string, TaskChange>()
  for (const event of batch) {
    const { platformId } = event.data
    let change = changes.get(platformId)
    if (change === undefined) {
      change = begin(event, known)
      changes.set(platformId, change)
    } else {
      expectInOrder(event.type !== 'TaskRequested', `${platformId} requested twice`)
    }
    evolve(change, event)
    change.revision = event.revision
    change.position = event.position
  }
  return [...changes.values()]
}
