import type { Clock } from '../../kernel/clock.ts'
import { createLru } from '../../kernel/lru.ts'
import type { TaskMetrics } from '../metrics.ts'
import type { TaskObservation } from '../ports/provider.ts'

/** A status that a provider keeps for this long is more than a step that the gateway need not know. */
const LONG_MS = 600_000
/** Tasks with an unknown status that a process remembers. */
const MAX_TASKS = 10_000
/** The words that the metric has; tasks with any further word count as `other`. */
const MAX_WORDS = 20
const MAX_WORD_LENGTH = 32

/**
 * Counts tasks that have had a status which the gateway does not know for long: the task may have
 * ended, and is asked for until its deadline.
 */
export function createUnknownStatuses(
  metrics: Pick<TaskMetrics, 'statusesUnknown'>,
  clock: Clock,
): (platformId: string, seen: Pick<TaskObservation, 'status' | 'upstreamStatus'>) => void {
  const sinceMs = createLru<string, number>(MAX_TASKS)
  const words = new Set<string>()
  const labelOf = (upstreamStatus: string): string => {
    const word = upstreamStatus.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '_')
    const label = word.slice(0, MAX_WORD_LENGTH)
    if (words.size < MAX_WORDS) words.add(label)
    return words.has(label) ? label : 'other'
  }
  return (platformId, { status, upstreamStatus }) => {
    if (status !== 'unknown') return void sinceMs.delete(platformId)
    const nowMs = clock.nowMs()
    const firstMs = sinceMs.get(platformId)
    if (firstMs === undefined) {
      // The series of a new word begins at 0 long before it counts, so that its first count is an increase.
      metrics.statusesUnknown.inc({ word: labelOf(upstreamStatus) }, 0)
      return void sinceMs.set(platformId, nowMs)
    }
    if (nowMs - firstMs < LONG_MS) return undefined
    metrics.statusesUnknown.inc({ word: labelOf(upstreamStatus) })
    // Once a task for each such time.
    sinceMs.set(platformId, nowMs)
    return undefined
  }
}
