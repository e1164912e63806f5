import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { descendants } from './process.ts'

/** Autovacuum of the Postgres of a process: whether it is running, and waiting for its end. */

const LOOK_MS = 500
/** Between two tables it pauses: nothing for so long means that it has ended. */
const ENDED_MS = 20_000

export async function isVacuuming(pid: number): Promise<boolean> {
  const lines = await Promise.all(
    (await descendants(pid)).map((one) => readFile(`/proc/${one}/cmdline`, 'utf8').catch(() => '')),
  )
  return lines.some((line) => line.includes('autovacuum worker'))
}

/** Waits until autovacuum has not worked for a while, at most so long. */
export async function vacuumEnds(pid: number, withinMs: number): Promise<void> {
  const startMs = performance.now()
  let seenMs = startMs
  while (performance.now() - seenMs < ENDED_MS && performance.now() - startMs < withinMs) {
    await sleep(LOOK_MS)
    if (await isVacuuming(pid)) seenMs = performance.now()
  }
}
