import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { SandboxOptions } from '../options.ts'

/** Phase of a task; each family has its own words for it. */
export type Phase = 'queued' | 'running' | 'succeeded' | 'failed' | 'expired' | 'cancelled'

/** Everything decided about a task at the moment it is accepted; times are lengths in ms. */
export interface TaskPlan {
  /** null: it never leaves the queue. */
  readonly queuedMs: number | null
  /** null: it never ends. */
  readonly runningMs: number | null
  readonly outcome: 'succeeded' | 'failed' | 'expired'
  /** The family's error code, when `outcome` is `failed`. */
  readonly failCode: string | null
  /** Expires this long after acceptance; null: never. */
  readonly expiresMs: number | null
  /** A status no document names, reported for the first half of running. */
  readonly strangeStatus: string | null
  /** The record vanishes this long after its success; null: it stays. */
  readonly goneMs: number | null
  readonly callback: CallbackPlan | null
}

/** Where a task's callbacks go and how they misbehave. */
export interface CallbackPlan {
  readonly url: string
  /** Each delivery is made this many times. */
  readonly copies: number
  /** `running` is delivered after the end instead of before it. */
  readonly reorder: boolean
}

/** What is written down, once, before a create is answered. Holds no prompt, media or credential. */
export interface TaskRecord {
  readonly seq: number
  readonly id: string
  readonly family: string
  readonly acceptedAtMs: number
  /** The upstream's versioned name. */
  readonly model: string
  /** The name as it was asked for. */
  readonly requestedModel: string
  readonly safetyIdentifier: string | null
  readonly clientMarker: string | null
  /** First 12 hex digits of the SHA-256 of the credential: which account made it. */
  readonly credential: string
  readonly plan: TaskPlan
  /** What a success reports, in the family's shape; null: it reports none. */
  readonly usage: unknown
  /** What later queries report instead; null: the same. */
  readonly usageLater: unknown
  /** What else the family needs to render answers. */
  readonly detail: Readonly<Record<string, unknown>>
}

/** The only changes a record can see; all else follows from the clock. */
export interface TaskMarks {
  readonly cancelledAtMs: number | null
  readonly deletedAtMs: number | null
  /** When a query first showed the success. */
  readonly successReportedAtMs: number | null
  /** The end was acknowledged by the callback's receiver. */
  readonly endAcknowledged: boolean
}

export const NO_MARKS: TaskMarks = {
  cancelledAtMs: null,
  deletedAtMs: null,
  successReportedAtMs: null,
  endAcknowledged: false,
}

/** One stretch of a task's life. */
export interface Segment {
  readonly atMs: number
  readonly phase: Phase
  /** Reported instead of the family's word for the phase. */
  readonly strange: string | null
}

/** State of a task at a moment. */
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

/** The whole life of a task unless it is cancelled: a pure function of its record. */
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

/** What a task ends in unless it is cancelled, and when; null: it never ends. */
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

const MAX_COPIES = 100

/** Where a task's callbacks go and how they misbehave; null: it has none. */
function callbackOf(url: string | null, faults: Faults): CallbackPlan | null {
  if (url === null) return null
  const copies = countOf(faults, 'callback-storm') ?? (isOn(faults, 'callback-duplicate') ? 2 : 1)
  return {
    url,
    copies: Math.min(MAX_COPIES, Math.max(1, copies)),
    reorder: isOn(faults, 'callback-reorder'),
  }
}

/** What a creation decides about the task's life, besides the switches. */
interface Life {
  readonly callbackUrl?: string | null
  /** Why it will fail; null: it will not. By default as the switches say. */
  readonly failCode?: string | null
  /** How many times the usual wait it is in the queue. */
  readonly queueFactor?: number
  /** The task is given up after this; null or absent: never. */
  readonly expiresAfterMs?: number | null
}

/** The plan of a task's whole life, for every family. */
export function taskPlan(faults: Faults, options: SandboxOptions, life: Life = {}): TaskPlan {
  const {
    callbackUrl = null,
    failCode = wordOf(faults, 'fail'),
    queueFactor = 1,
    expiresAfterMs = null,
  } = life
  const stuck = isOn(faults, 'stall-queued')
  const endless = stuck || isOn(faults, 'stall')
  const scaled = (ms: number): number => Math.round(ms * options.timeScale)
  return {
    queuedMs: stuck
      ? null
      : (countOf(faults, 'queued-ms') ?? scaled(options.queuedMs * queueFactor)),
    runningMs: endless ? null : (countOf(faults, 'running-ms') ?? scaled(options.runningMs)),
    outcome: failCode !== null ? 'failed' : isOn(faults, 'expire') ? 'expired' : 'succeeded',
    failCode,
    expiresMs: endless || expiresAfterMs === null ? null : scaled(expiresAfterMs),
    strangeStatus: wordOf(faults, 'status'),
    goneMs: countOf(faults, 'gone-ms') ?? (isOn(faults, 'gone') ? 0 : null),
    callback: callbackOf(callbackUrl, faults),
  }
}

/** What a success reports, and what later queries do: `later` more, under `usage-changes`. */
export function usagesOf<Usage>(
  faults: Faults,
  usage: (more: number) => Usage,
  later: number,
): { readonly usage: Usage | null; readonly usageLater: Usage | null } {
  if (isOn(faults, 'usage-missing')) return { usage: null, usageLater: null }
  return { usage: usage(0), usageLater: isOn(faults, 'usage-changes') ? usage(later) : null }
}
