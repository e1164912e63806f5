import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { SandboxOptions } from '../options.ts'
import type { CallbackPlan, TaskPlan } from './record.ts'

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

/** What a creation decides of its own life, beside the switches. */
export interface Life {
  readonly callbackUrl?: string | null
  /** Why it will fail; null: it will not. By default as the switches say. */
  readonly failCode?: string | null
  /** How many times the usual wait it is in the queue. */
  readonly queueFactor?: number
  /** It is given up after this; null or absent: never. */
  readonly expiresAfterMs?: number | null
}

/** Everything that will become of a task, of whatever family. */
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
