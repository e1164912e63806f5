/** One measured figure beside what it should reach. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** What it should reach; undefined for a figure that is only shown. */
  readonly reach?: number | undefined
  /** `least`: at least `reach` (the default). `most`: at most `reach`. */
  readonly bound?: 'least' | 'most'
  /** Processor time a call, over all processes behind it, in milliseconds. */
  readonly cpuMs?: number
  /** The same as a multiple of what the bare pass-through used in this run. */
  readonly cpuOverBare?: number
  /** Where a figure falls short and why, or how it was taken. */
  readonly note?: string
}

/** A benchmark: measures for itself, cleans up after itself. */
export type Benchmark = () => Promise<readonly Figure[]>

/** Whether a figure reaches what it should; undefined when nothing is asked of it. */
export function reached(figure: Figure): boolean | undefined {
  if (figure.reach === undefined) return undefined
  return figure.bound === 'most' ? figure.value <= figure.reach : figure.value >= figure.reach
}

/** The p-th percentile (0–100) of unsorted samples. */
export function percentile(samples: readonly number[], p: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil((p / 100) * sorted.length) - 1)] ?? Number.NaN
}

/** What a page of a list may take. */
const PAGE_MS = 20

/** The percentiles of pages' times, in milliseconds. */
export function pageTimes(name: string, times: readonly number[]): readonly Figure[] {
  return [50, 99, 100].map((p) => ({
    name: `${name}, p${p}`,
    value: Number(percentile(times, p).toFixed(2)),
    unit: 'ms',
    ...(p === 99 ? { reach: PAGE_MS, bound: 'most' as const } : {}),
  }))
}
