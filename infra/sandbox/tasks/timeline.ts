import type { Phase, TaskMarks, TaskRecord } from './record.ts'

/** One stretch of a task's life. */
export interface Segment {
  readonly atMs: number
  readonly phase: Phase
  /** Reported instead of the family's word for the phase. */
  readonly strange: string | null
}

/** A task as it stands at a moment. */
export interface TaskState extends Segment {
  /** Whether queries still find it. */
  readonly visible: boolean
}

/** How long records stay findable. */
export interface Retention {
  readonly taskMs: number
  readonly cancelledMs: number
}

/** What a life follows from. */
type Planned = Pick<TaskRecord, 'plan' | 'acceptedAtMs'>

/** The whole life of a task if nobody cancels it: a pure function of its record. */
export function timeline(record: Planned): readonly Segment[] {
  const { plan, acceptedAtMs } = record
  const segments: Segment[] = [{ atMs: acceptedAtMs, phase: 'queued', strange: null }]
  if (plan.queuedMs !== null) {
    const startMs = acceptedAtMs + plan.queuedMs
    segments.push({ atMs: startMs, phase: 'running', strange: plan.strangeStatus })
    if (plan.strangeStatus !== null && plan.runningMs !== null) {
      segments.push({ atMs: startMs + plan.runningMs / 2, phase: 'running', strange: null })
    }
    if (plan.runningMs !== null) {
      segments.push({ atMs: startMs + plan.runningMs, phase: plan.outcome, strange: null })
    }
  }
  if (plan.expiresMs === null) return segments
  const expiresAtMs = acceptedAtMs + plan.expiresMs
  const kept = segments.filter((segment) => segment.atMs < expiresAtMs)
  if (kept.length === segments.length && isTerminal(segments.at(-1)?.phase ?? 'queued')) return kept
  return [...kept, { atMs: expiresAtMs, phase: 'expired', strange: null }]
}

/** Whether a phase is an end. */
export function isTerminal(phase: Phase): boolean {
  return phase !== 'queued' && phase !== 'running'
}

/** What a task's life ends in if nobody cancels it, and when; null: it never ends. */
export function ending(record: Planned): Segment | null {
  const last = timeline(record).at(-1)
  return last !== undefined && isTerminal(last.phase) ? last : null
}

function segmentAt(record: Planned, nowMs: number): Segment {
  let current: Segment = { atMs: record.acceptedAtMs, phase: 'queued', strange: null }
  for (const segment of timeline(record)) {
    if (segment.atMs > nowMs) break
    current = segment
  }
  return current
}

/** The state at a moment: a pure function of record, marks and clock. */
export function stateAt(
  record: Planned,
  marks: TaskMarks,
  nowMs: number,
  retention: Retention,
): TaskState {
  const kept = marks.deletedAtMs === null && nowMs - record.acceptedAtMs < retention.taskMs
  if (marks.cancelledAtMs !== null) {
    const visible = kept && nowMs - marks.cancelledAtMs < retention.cancelledMs
    return { atMs: marks.cancelledAtMs, phase: 'cancelled', strange: null, visible }
  }
  const segment = segmentAt(record, Math.min(nowMs, marks.deletedAtMs ?? nowMs))
  const { goneMs } = record.plan
  const gone = segment.phase === 'succeeded' && goneMs !== null && nowMs - segment.atMs >= goneMs
  return { ...segment, visible: kept && !gone }
}
