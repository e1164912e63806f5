import { setImmediate as nextTurn } from 'node:timers/promises'
import { monotonicClock } from './clock.ts'

/**
 * Work that yields between its parts: the event loop serves other callers there. It can also be
 * done without yielding.
 */
export type Work<Result> = Generator<void, Result, void>

/** A turn ends with the part in which this time is over. */
const TURN_MS = 3

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

/** Does work at once up to its first pause, and the rest in turns: little work waits for no turn. */
export function begunAtOnce<Result>(work: Work<Result>): Result | Promise<Result> {
  const step = work.next()
  return step.done === true ? step.value : inTurns(work)
}

/** Items that are mapped or sorted in one part. */
const ITEMS_AT_ONCE = 256

/** Maps items, a part of them in each turn. */
export function* mapped<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Work<Result[]> {
  const results: Result[] = []
  for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
    for (const item of items.slice(at, at + ITEMS_AT_ONCE)) results.push(map(item))
    yield
  }
  return results
}

/** Sorts items, a part of them in each turn; items that compare as equal keep their order. */
export function* sorted<Item>(
  items: readonly Item[],
  compare: (one: Item, other: Item) => number,
): Work<readonly Item[]> {
  let runs: (readonly Item[])[] = []
  for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
    runs.push(items.slice(at, at + ITEMS_AT_ONCE).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const longer: (readonly Item[])[] = []
    for (let at = 0; at < runs.length; at += 2)
      longer.push(yield* merged(runs[at] ?? [], runs[at + 1] ?? [], compare))
    runs = longer
  }
  return runs[0] ?? []
}

/** Merges two ordered lists. */
function* merged<Item>(
  ones: readonly Item[],
  others: readonly Item[],
  compare: (one: Item, other: Item) => number,
): Work<readonly Item[]> {
  const items: Item[] = []
  let at = 0
  for (const other of others) {
    for (let one = ones[at]; one !== undefined && compare(one, other) <= 0; one = ones[at]) {
      items.push(one)
      at += 1
    }
    items.push(other)
    if (items.length % ITEMS_AT_ONCE === 0) yield
  }
  return items.concat(ones.slice(at))
}

/** Splits a list into parts and waits for the next turn of the event loop before each. */
export async function* partsInTurns<Item>(
  items: readonly Item[],
  perPart: number,
): AsyncGenerator<readonly Item[]> {
  for (let at = 0; at < items.length; at += perPart) {
    await nextTurn()
    yield items.slice(at, at + perPart)
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
