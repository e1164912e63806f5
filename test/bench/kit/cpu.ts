import { execFileSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { descendants } from './process.ts'

/** Processor time of a process and everything it started, from `/proc`; by what each is. */

/** The unit of the times in `/proc/<pid>/stat`; Linux only, as `/proc` is. */
const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** A number for each part: `own` is the process itself. */
export type ByPart = Readonly<Record<string, number>>

/** Milliseconds of processor time by part. */
export type CpuMs = ByPart

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

/** How long the threads of a process have been ready and without a processor. */
async function waitedMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const waits = await Promise.all(
    threads.map((thread) =>
      readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => ''),
    ),
  )
  return waits.reduce((sum, line) => sum + Number(line.split(' ')[1] ?? 0) / 1_000_000, 0)
}

/** How often threads of a process have waited for something and were given a processor then. */
async function wakeUpsOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const states = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/status`, 'utf8').catch(() => '')),
  )
  const countIn = (state: string): number =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(state)?.[1] ?? 0)
  return states.reduce((sum, state) => sum + countIn(state), 0)
}

/** The part that a process below another one is. */
export async function partOf(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return parts.find(([, known]) => known.test(line))?.[0] ?? 'others'
}

/** What a process and all below it have used since they began. */
export function cpuMs(pid: number): Promise<CpuMs> {
  return byPart(pid, spentMs)
}

/** How long a process and all below it have waited for a processor since they began, in milliseconds. */
export function queuedMs(pid: number): Promise<CpuMs> {
  return byPart(pid, waitedMs)
}

/** How often a process and all below it were woken since they began. */
export function wakeUps(pid: number): Promise<ByPart> {
  return byPart(pid, wakeUpsOf)
}

async function byPart(pid: number, of: (pid: number) => Promise<number>): Promise<ByPart> {
  const used: Record<string, number> = { own: await of(pid) }
  for (const child of await descendants(pid)) {
    const part = await partOf(child)
    used[part] = (used[part] ?? 0) + (await of(child))
  }
  return used
}

/** What came between two looks, never negative: a process that ended is missing in the second. */
export function between(before: ByPart, after: ByPart): ByPart {
  return Object.fromEntries(
    Object.keys(after).map((part) => [part, Math.max(0, (after[part] ?? 0) - (before[part] ?? 0))]),
  )
}

/** All parts together. */
export function total(parts: ByPart): number {
  return Object.values(parts).reduce((sum, part) => sum + part, 0)
}
