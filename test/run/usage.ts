import { readFileSync } from 'node:fs'

/** What a test file took. */
export interface Usage {
  readonly path: string
  /** The process that ran it. */
  readonly process: number
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
export function usedByNow(): Pick<Usage, 'wallMs' | 'cpuMs'> {
  return { wallMs: performance.now(), cpuMs: cpuMs() }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1).padStart(7)

/** What some files took, as a line of a table. */
export function usageLine(used: readonly Usage[], what: string): string {
  const total = (of: (one: Usage) => number): number => used.reduce((sum, one) => sum + of(one), 0)
  const [wallMs, cpuMs] = [total((one) => one.wallMs), total((one) => one.cpuMs)]
  return `${seconds(wallMs)} s wall ${seconds(cpuMs)} s cpu  ${what}`
}

/** What all files took, what those of each process did, and the files that took longest, the longest first. */
export function usageLines(used: readonly Usage[], count: number): readonly string[] {
  const processes = [...new Set(used.map(({ process: pid }) => pid))]
  const slowest = [...used].sort((a, b) => b.wallMs - a.wallMs).slice(0, count)
  return [
    usageLine(used, `${used.length} files`),
    ...processes.map((pid, n) => {
      const its = used.filter((one) => one.process === pid)
      return usageLine(its, `process ${n + 1}, ${its.length} files`)
    }),
    ...slowest.map((one) => usageLine([one], one.path)),
  ]
}
