import { toTimestamp } from '../../../src/kernel/clock.ts'
import type { CallbackCounts } from '../callbacks.ts'
import { ending, isTerminal } from './record.ts'
import type { StoredTask, TaskStore } from './store.ts'

/** An accepted task as `GET /__sandbox/accepted` lists it: what a test compares a ledger with. */
export type AcceptedTask = Readonly<ReturnType<typeof acceptedView>>

/** An accepted task as of a moment. */
export function acceptedView(
  store: TaskStore,
  task: StoredTask,
  nowMs: number,
  callbacks: CallbackCounts,
) {
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
    /** Which account made it: the start of the credential's hash. */
    credential: record.credential,
    accepted_at: toTimestamp(record.acceptedAtMs),
    /** What a query would report now; for a deleted task, at its deletion. */
    status: state.strange ?? state.phase,
    /** Whether that is an end. */
    finished: isTerminal(state.phase),
    /** What it ends in, already or later: a phase, or `never`. */
    outcome,
    ends_at: endsAtMs === null ? null : toTimestamp(endsAtMs),
    /** `outcome` is `succeeded`. */
    success,
    fail_code: outcome === 'failed' ? record.plan.failCode : null,
    /** Reported with the success; null when it reports none. */
    usage: success ? record.usage : null,
    /** Reported by later queries instead; null when the same. */
    usage_later: success ? record.usageLater : null,
    cancelled,
    deleted: marks.deletedAtMs !== null,
    /** Queries no longer find it, although nobody deleted it. */
    gone: !state.visible && marks.deletedAtMs === null,
    /** Queries that found it, since this process started. */
    queried: task.queried,
    /** Whether some query was told of the success. */
    success_told: marks.toldAtMs !== null,
    callbacks,
  }
}
