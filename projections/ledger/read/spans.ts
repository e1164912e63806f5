/** Stretches of time, and how a range is put together of totals that are kept. */

const QUARTER_MS = 900_000
const HOUR_MS = 3_600_000
export const UTC_DAY_MS = 86_400_000

/** Unix milliseconds, the first inclusive and the second exclusive; undefined is without an end. */
export interface Span {
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
}

/** The part of a range that covers whole periods, and the remaining parts at its ends. */
interface Cut {
  readonly whole: Span | undefined
  readonly ends: readonly Span[]
}

function cut({ fromMs, toMs }: Span, unitMs: number): Cut {
  const firstMs = fromMs === undefined ? undefined : Math.ceil(fromMs / unitMs) * unitMs
  const endMs = toMs === undefined ? undefined : Math.floor(toMs / unitMs) * unitMs
  // Inside a single unit there is no whole one.
  if (firstMs !== undefined && endMs !== undefined && endMs <= firstMs)
    return { whole: undefined, ends: [{ fromMs, toMs }] }
  return {
    whole: { fromMs: firstMs, toMs: endMs },
    ends: [
      ...(fromMs !== undefined && fromMs !== firstMs ? [{ fromMs, toMs: firstMs }] : []),
      ...(toMs !== undefined && toMs !== endMs ? [{ fromMs: endMs, toMs }] : []),
    ],
  }
}

/**
 * A range as whole UTC days, then the whole hours and quarters around them, and the remaining
 * parts.
 */
interface Cover {
  readonly days: Span | undefined
  readonly hours: readonly Span[]
  readonly quarters: readonly Span[]
  readonly lines: readonly Span[]
}

/** Covers a range by the largest totals there are, or by those of hours and less. */
export function coverOf(range: Span, largest: 'day' | 'hour' = 'day'): Cover {
  const byDay = largest === 'day' ? cut(range, UTC_DAY_MS) : { whole: undefined, ends: [range] }
  const byHour = byDay.ends.map((end) => cut(end, HOUR_MS))
  const byQuarter = byHour.flatMap(({ ends }) => ends).map((end) => cut(end, QUARTER_MS))
  return {
    days: byDay.whole,
    hours: byHour.flatMap(({ whole }) => whole ?? []),
    quarters: byQuarter.flatMap(({ whole }) => whole ?? []),
    lines: byQuarter.flatMap(({ ends }) => ends),
  }
}

/** The range with hours that contain one of these times split into quarters. */
export function cutAt(cover: Cover, timesMs: readonly number[]): Cover {
  const cutMs = timesMs.flatMap((timeMs) =>
    timeMs % HOUR_MS === 0 ? [] : [Math.floor(timeMs / HOUR_MS) * HOUR_MS],
  )
  const hours: Span[] = []
  const quarters = [...cover.quarters]
  for (const { fromMs = 0, toMs = Infinity } of cover.hours) {
    let beginsMs = fromMs
    for (const hourMs of cutMs) {
      if (hourMs < beginsMs || hourMs >= toMs) continue
      if (hourMs > beginsMs) hours.push({ fromMs: beginsMs, toMs: hourMs })
      beginsMs = hourMs + HOUR_MS
      const last = quarters.at(-1)
      // Hours of a zone whose clock is a quarter off are all split: one span for those in a row.
      if (last?.toMs === hourMs) quarters[quarters.length - 1] = { ...last, toMs: beginsMs }
      else quarters.push({ fromMs: hourMs, toMs: beginsMs })
    }
    if (beginsMs < toMs) hours.push({ fromMs: beginsMs, toMs })
  }
  return { ...cover, hours, quarters }
}

/** The one span that these cover together, which leave no gap; none without any. */
export function hullOf(spans: readonly Span[]): readonly Span[] {
  if (spans.length === 0) return []
  const least = Math.min(...spans.map(({ fromMs }) => fromMs ?? -Infinity))
  const most = Math.max(...spans.map(({ toMs }) => toMs ?? Infinity))
  return [
    {
      fromMs: least === -Infinity ? undefined : least,
      toMs: most === Infinity ? undefined : most,
    },
  ]
}
