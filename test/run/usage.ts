import { readFileSync } from 'node:fs'

/** What a test file took. */
export interface Usage {
  readonly path: string
  readonly wallMs: number
  /** Of its process and of the children it waited for. */
  readonly cpuMs: number
}

/** Linux counts in hundredths of a second, on every architecture node runs on. */
const TICK_MS = 10

function cpuMs(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    // The name in parentheses may hold anything; own and children's user and system time are the 12th to 15th after it.
    const ticks = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
    return ticks.reduce((sum, count) => sum + Number(count), 0) * TICK_MS
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  }
}

/** What this process has taken since it began. */
export function usedByNow(): Omit<Usage, 'path'> {
  return { wallMs: performance.now(), cpuMs: cpuMs() }
}

/** The files that took longest, as lines of a table, the longest first. */
export function slowest(used: readonly Usage[], count: number): readonly string[] {
  const seconds = (ms: number): string => (ms / 1_000).toFixed(1).padStart(7)
  const total = (of: (one: Usage) => number): number => used.reduce((sum, one) => sum + of(one), 0)
  const sorted = [...used].sort((a, b) => b.wallMs - a.wallMs).slice(0, count)
  return [
    `${seconds(total(({ wallMs }) => wallMs))} s wall ${seconds(total(({ cpuMs: ms }) => ms))} s cpu  ${used.length} files`,
    ...sorted.map(
      ({ path, wallMs, cpuMs: ms }) => `${seconds(wallMs)} s wall ${seconds(ms)} s cpu  ${path}`,
    ),
  ]
}
