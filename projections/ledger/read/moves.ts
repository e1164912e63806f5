import type { ZonedPeriod } from '../../../src/kernel/time-zone.ts'
import type { Work } from '../../../src/kernel/turns.ts'
import { coverOf, type Span, UTC_DAY_MS } from './spans.ts'

/** A stretch of time in another period than the noon of its UTC day. */
export interface Move {
  readonly fromMs: number
  readonly toMs: number
  /** Numbers of periods, from 1. */
  readonly into: number
  readonly outOf: number
}

/** Moves by the totals that cover them. */
export type MovesByTable = Readonly<Record<'hours' | 'quarters', readonly Move[]>>

/** Parts of whole UTC days that belong to another of the periods than their noon does. */
export function* movesOf(
  { fromMs = 0, toMs = 0 }: Span,
  periods: readonly ZonedPeriod[],
): Work<MovesByTable> {
  const moves = { hours: [] as Move[], quarters: [] as Move[] }
  /** The index of the period that holds the noon of a UTC day: it grows with the days. */
  let ofNoon = 0
  for (const [index, each] of periods.entries()) {
    const into = index + 1
    let beginsMs = Math.max(each.fromMs, fromMs)
    const endsMs = Math.min(each.toMs, toMs)
    while (beginsMs < endsMs) {
      const utcDayMs = Math.floor(beginsMs / UTC_DAY_MS) * UTC_DAY_MS
      const noonMs = utcDayMs + UTC_DAY_MS / 2
      const stopMs = Math.min(endsMs, utcDayMs + UTC_DAY_MS)
      while ((periods[ofNoon]?.toMs ?? Infinity) <= noonMs) ofNoon += 1
      const outOf = (periods[ofNoon]?.fromMs ?? Infinity) <= noonMs ? ofNoon + 1 : 0
      if (outOf !== into) {
        const cover = coverOf({ fromMs: beginsMs, toMs: stopMs })
        for (const table of ['hours', 'quarters'] as const)
          for (const span of cover[table])
            moves[table].push({ fromMs: span.fromMs ?? 0, toMs: span.toMs ?? 0, into, outOf })
      }
      beginsMs = stopMs
    }
    yield
  }
  return moves
}
