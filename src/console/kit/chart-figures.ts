import { parseAmount } from '../../kernel/money.ts'
import { grouped } from './values.tsx'

/** The figures of a chart of bars: exact sums by day and series, and the steps of its axis. */

/** The amount of one series on one day, an exact decimal. */
export interface ChartCell {
  readonly day: string
  readonly series: string
  readonly amount: string
}

/** A chart of one currency. */
export interface ChartOptions {
  readonly title: string
  readonly currency: string
  /** Every day of the range in order, also those without any cell. */
  readonly days: readonly string[]
  readonly cells: readonly ChartCell[]
  /** The route and query of the API that answers these figures. */
  readonly from: string
  /** The page of a day. */
  readonly hrefOf: (day: string) => string
}

/** Further series are shown together: more colours are hard to distinguish. */
const MAX_SERIES = 5
const OTHERS = 'others'
/** Sums of the cells of a chart. */
export interface Shaped {
  /** Largest first; the last may be `others`. */
  readonly series: readonly string[]
  readonly picoOf: (day: string, series: string) => bigint
  readonly totalOf: (day: string) => bigint
}

/** Sums by series, exactly: doubles are used for places in the picture alone. */
export function shaped(cells: readonly ChartCell[]): Shaped {
  const totals = new Map<string, bigint>()
  for (const { series, amount } of cells)
    totals.set(series, (totals.get(series) ?? 0n) + parseAmount(amount))
  const ordered = [...totals].toSorted(([a, one], [b, other]) =>
    one === other ? (a < b ? -1 : 1) : one > other ? -1 : 1,
  )
  const isMany = ordered.length > MAX_SERIES
  const own = ordered.slice(0, isMany ? MAX_SERIES - 1 : MAX_SERIES).map(([name]) => name)
  const picos = new Map<string, bigint>()
  const days = new Map<string, bigint>()
  for (const { day, series, amount } of cells) {
    const key = `${day} ${own.includes(series) ? series : OTHERS}`
    const pico = parseAmount(amount)
    picos.set(key, (picos.get(key) ?? 0n) + pico)
    days.set(day, (days.get(day) ?? 0n) + pico)
  }
  return {
    series: isMany ? [...own, OTHERS] : own,
    picoOf: (day, series) => picos.get(`${day} ${series}`) ?? 0n,
    totalOf: (day) => days.get(day) ?? 0n,
  }
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** A label below a bar; a minor one is left out where there is little room. */
export interface DayLabel {
  readonly text: string
  readonly isMinor: boolean
}

/** Labels that have room below a chart, and those that have it on a narrow screen. */
const WIDE_LABELS = 16
const NARROW_LABELS = 8

/** The label of a day by its place among all days of the chart; undefined where there is no room. */
export function dayLabel(days: readonly string[], index: number): DayLabel | undefined {
  const day = days[index] ?? ''
  const step = Math.ceil(days.length / WIDE_LABELS)
  if (index % step !== 0) return undefined
  const narrowStep = step * Math.max(1, Math.ceil(days.length / step / NARROW_LABELS))
  const [year = '', month = ''] = day.split('-', 2)
  const name = months[Number(month) - 1] ?? ''
  const before = days[index - step]
  const isFirst = before === undefined || before.slice(0, 7) !== day.slice(0, 7)
  const isNewYear = before !== undefined && before.slice(0, 4) !== year
  const date = `${Number(day.slice(8))}`
  return {
    text: isNewYear ? `${date} ${name} ${year}` : isFirst ? `${date} ${name}` : date,
    isMinor: index % narrowStep !== 0,
  }
}

/**
 * The label of an hour, which begins at `HH:MM` of a day, such as `30 Nov`, in a chart of so many hours; undefined where
 * there is no room.
 */
export function hourLabel(day: string, time: string, hours: number): DayLabel | undefined {
  const step = [1, 2, 3, 6, 12].find((one) => hours / one <= WIDE_LABELS) ?? 24
  const hour = Number(time.slice(0, 2))
  if (hour % step !== 0) return undefined
  const isMinor = hour % (step * 2) !== 0
  return { text: hour === 0 ? day : time, isMinor }
}

/** A tick of an axis of milliseconds. */
export function durationTick(ms: number, stepMs: number): string {
  if (stepMs < 500) return `${tickText(ms, stepMs)} ms`
  return `${tickText(ms / 1_000, stepMs / 1_000)} s`
}

/** About so many lines of the axis are above nothing. */
const LINES = 4

/** 1, 2 or 5 times a power of ten, so that about so many steps reach the largest amount. */
function stepFor(largest: number): number {
  const rough = largest / LINES
  const power = 10 ** Math.floor(Math.log10(rough))
  const nice = [1, 2, 5].find((one) => one * power >= rough)
  return (nice ?? 10) * power
}

/** Steps from nothing to the first one at or above the largest amount. */
export function ticksFor(largest: number): readonly number[] {
  if (largest <= 0) return [0, 1]
  const step = stepFor(largest)
  return Array.from({ length: Math.ceil(largest / step - 1e-9) + 1 }, (_, index) => index * step)
}

/** A tick in the fewest digits that distinguish it from its neighbours. */
export function tickText(value: number, step: number): string {
  const decimals = Math.max(0, Math.ceil(-Math.log10(step === 0 ? 1 : step)))
  return grouped(value.toFixed(Math.min(decimals, 12)))
}
