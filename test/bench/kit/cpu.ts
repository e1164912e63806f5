import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { descendants } from './process.ts'

/** Processor time of a process and everything it started, from `/proc`; by what each is. */

/** The unit of the times in `/proc/<pid>/stat`; Linux only, as `/proc` is. */
const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Milliseconds of processor time by part: `own` is the process itself. */
export type CpuMs = Readonly<Record<string, number>>

/** A part by what stands in a command line; the first that fits. */
const parts: readonly (readonly [string, RegExp])[] = [
  ['Postgres', /postgres/],
  ['event store', /eventstore/],
  ['projector', /projector/],
  ['sandbox', /sandbox/],
]

/** Of the process itself and of children it has waited for: connections of Postgres come and go. */
async function spentMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return (ticks * 1_000) / TICKS_PER_SECOND
}

/** The part that a process below another one is. */
export async function partOf(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return parts.find(([, known]) => known.test(line))?.[0] ?? 'others'
}

/** What a process and all below it have used since they began. */
export async function cpuMs(pid: number): Promise<CpuMs> {
  const used: Record<string, number> = { own: await spentMs(pid) }
  for (const child of await descendants(pid)) {
    const part = await partOf(child)
    used[part] = (used[part] ?? 0) + (await spentMs(child))
  }
  return used
}

/** What was used between two looks, never negative: a process that ended is missing in the second. */
export function cpuBetween(before: CpuMs, after: CpuMs): CpuMs {
  return Object.fromEntries(
    Object.keys(after).map((part) => [part, Math.max(0, (after[part] ?? 0) - (before[part] ?? 0))]),
  )
}

/** All parts together. */
export function totalMs(used: CpuMs): number {
  return Object.values(used).reduce((sum, part) => sum + part, 0)
}
