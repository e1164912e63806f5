import { cpus } from 'node:os'
import { type Clock, monotonicClock } from '../kernel/clock.ts'

/** Systems count processor time in steps of 10 ms: over a shorter time a share says little. */
const WINDOW_MS = 500

interface ProcessorTime {
  readonly busyMs: number
  readonly allMs: number
}

/** Time of all processors since the machine started; work of a low priority (`nice`) is not among the busy. */
function readProcessorTime(): ProcessorTime {
  let busyMs = 0
  let allMs = 0
  for (const { times } of cpus()) {
    const { user, sys, irq, nice, idle } = times
    busyMs += user + sys + irq
    allMs += user + sys + irq + nice + idle
  }
  return { busyMs, allMs }
}

/**
 * The share of the machine's processors, from 0 to 1, that work of a normal priority took in the last half second or so;
 * 1 until the first half second is over, so that callers are spared from the beginning. It is of the whole machine, in a container too.
 */
export function createBusyShare(
  clock: Clock = monotonicClock,
  read: () => ProcessorTime = readProcessorTime,
): () => number {
  let sinceMs = clock.nowMs()
  let before = read()
  let share = 1
  return () => {
    if (clock.nowMs() - sinceMs < WINDOW_MS) return share
    const now = read()
    const allMs = now.allMs - before.allMs
    if (allMs > 0) share = (now.busyMs - before.busyMs) / allMs
    sinceMs = clock.nowMs()
    before = now
    return share
  }
}
