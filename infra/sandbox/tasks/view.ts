import { toTimestamp } from '../../../src/kernel/clock.ts'
import type { CallbackCounts } from '../callbacks.ts'
import { ending, isTerminal } from './record.ts'
import type { StoredTask, TaskStore } from './store.ts'

/** An accepted task as `GET /__sandbox/accepted` lists it: what a test compares a ledger with. */
export interface AcceptedTask {
  readonly seq: number
  readonly id: string
  readonly family: string
  readonly model: string
  readonly requested_model: string
  readonly safety_identifier: string | null
  readonly client_marker: string | null
  /** Which account made it: the start of the credential's hash. */
  readonly credential: string
  readonly accepted_at: string
  /** What a query would report now; for a deleted task, at its deletion. */
  readonly status: string
  /** Whether that is an end. */
  readonly finished: boolean
  /** What it ends in, already or later: a phase, or `never`. */
  readonly outcome: string
  readonly ends_at: string | null
  /** `outcome` is `succeeded`. */
  readonly success: boolean
  readonly fail_code: string | null
  /** Reported with the success; null when it reports none. */
  readonly usage: unknown
  /** Reported by later queries instead; null when the same. */
  readonly usage_later: unknown
  readonly cancelled: boolean
  readonly deleted: boolean
  /** Queries no longer find it, although nobody deleted it. */
  readonly gone: boolean
  /** Queries that found it, since this process started. */
  readonly queried: number
  /** Whether some query was told of the success. */
  readonly success_told: boolean
  readonly callbacks: CallbackCounts
}

/** Renders one accepted task as of a moment. */
export function acceptedView(
  store: TaskStore,
  task: StoredTask,
  nowMs: number,
  callbacks: CallbackCounts,
): AcceptedTask {
  const { record, marks } = task
  const state = store.stateOf(task, nowMs)
  const cancelled = marks.cancelledAtMs !== null
  const end = ending(record)
  const outcome = cancelled ? 'cancelled' : (end?.phase ?? 'never')
  const endsAtMs = cancelled ? marks.cancelledAtMs : (end?.atMs ?? null)
  const success = outcome === 'succeeded'
  return {
    seq: record.seq,
    id: record.id,
    family: record.family,
    model: record.model,
    requested_model: record.requestedModel,
    safety_identifier: record.safetyIdentifier,
    client_marker: record.clientMarker,
    credential: record.credential,
    accepted_at: toTimestamp(record.acceptedAtMs),
    status: state.strange ?? state.phase,
    finished: isTerminal(state.phase),
    outcome,
    ends_at: endsAtMs === null ? null : toTimestamp(endsAtMs),
    success,
    fail_code: outcome === 'failed' ? record.plan.failCode : null,
    usage: success ? record.usage : null,
    usage_later: success ? record.usageLater : null,
    cancelled,
    deleted: marks.deletedAtMs !== null,
    gone: !state.visible && marks.deletedAtMs === null,
    queried: task.queried,
    success_told: marks.toldAtMs !== null,
    callbacks,
  }
}
