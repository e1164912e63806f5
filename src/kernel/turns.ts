import { setImmediate as nextTurn } from 'node:timers/promises'
import { monotonicClock } from './clock.ts'

/**
 * Work that yields between its parts: the event loop serves other callers there. It can also be
 * done without yielding.
 */
export type Work<Result> = Generator<void, Result, void>

/** Maximum time for which a part of the work may hold the event loop. */
const TURN_MS = 8

/** Does all of the work without yielding. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** Does work in turns with everything else in the process, beginning with the next turn. */
export async function inTurns<Result>(work: Work<Result>): Promise<Result> {
  await nextTurn()
  let begun = monotonicClock.nowMs()
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    if (monotonicClock.nowMs() - begun < TURN_MS) continue
    await nextTurn()
    begun = monotonicClock.nowMs()
  }
}

/** Bounds work of many streams by what is done of it in one turn of the event loop. */
export interface TurnBudget {
  /** Waits until there is room in a turn; then `take` at once. Undefined: there is room. */
  readonly room: () => Promise<void> | undefined
  readonly take: (amount: number) => void
}

export function createTurnBudget(perTurn: number): TurnBudget {
  let taken = 0
  return {
    room: () => (taken < perTurn ? undefined : nextTurn()),
    take: (amount) => {
      if (taken === 0) setImmediate(() => (taken = 0))
      taken += amount
    },
  }
}
