import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { load, warmUp } from './chat-load.ts'
import type { Benchmark, Figure } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { partOf } from './kit/cpu.ts'
import { descendants } from './kit/process.ts'
import { sized, sizeFrom, TENANTS } from './kit/sizes.ts'
import { startTollgate, startUpstream } from './kit/text-rows.ts'

/**
 * Memory of every process of an installation: fresh, under calls over many connections, and while all
 * requests are refused. Proportional memory (`Pss`) counts a page that processes share once, divided among them.
 */

const CONNECTIONS = 128
const SETTLING_MS = sized(20_000, 2_000)
const MINUTE_SECONDS = sizeFrom('BENCH_SECONDS', sized(60, 1))
/** Seconds of calls before each look, which is 1, 3 and 10 minutes after their beginning. */
const STRETCHES = [1, 2, 7].map((minutes) => minutes * MINUTE_SECONDS)
const REFUSED_SECONDS = MINUTE_SECONDS
/** How often it is looked while requests are refused. */
const LOOK_MS = sized(5_000, 500)
/** MiB without Postgres that an installation may keep: fresh, and after all stretches. */
const MOST_FRESH_MIB = 300
const MOST_LOADED_MIB = 450

interface Memory {
  readonly residentMib: number
  readonly proportionalMib: number
}

async function memoryOf(pid: number): Promise<Memory> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
  const mibOf = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) / 1_024
  return { residentMib: mibOf('Rss'), proportionalMib: mibOf('Pss') }
}

/** Memory by what a process is. */
type Parts = readonly (readonly [string, Memory])[]

async function look(pid: number, when: string): Promise<Parts> {
  const byPart = new Map<string, Memory>([['gateway', await memoryOf(pid)]])
  for (const child of await descendants(pid)) {
    const part = await partOf(child)
    const { residentMib, proportionalMib } = await memoryOf(child)
    const sum = byPart.get(part) ?? { residentMib: 0, proportionalMib: 0 }
    byPart.set(part, {
      residentMib: sum.residentMib + residentMib,
      proportionalMib: sum.proportionalMib + proportionalMib,
    })
  }
  const parts = [...byPart]
  tell(
    `memory, ${when}: ${parts.map(([part, { residentMib }]) => `${part} ${residentMib.toFixed(0)}`).join(', ')} MiB`,
  )
  return parts
}

/** Parts without Postgres, whose shared memory every one of its processes counts. */
function sumOf(parts: Parts, of: (memory: Memory) => number): number {
  return parts.reduce((all, [part, memory]) => all + (part === 'Postgres' ? 0 : of(memory)), 0)
}

/** The look with the most resident memory of all that are made until `work` ends. */
async function mostDuring(pid: number, when: string, work: Promise<unknown>): Promise<Parts> {
  let most: Parts = []
  const over = work.then(() => true)
  const residentOf = (parts: Parts): number => sumOf(parts, ({ residentMib }) => residentMib)
  for (;;) {
    const isOver = await Promise.race([sleep(LOOK_MS, false), over])
    const parts = await look(pid, when)
    if (residentOf(parts) > residentOf(most)) most = parts
    if (isOver) return most
  }
}

function figuresOf(when: string, parts: Parts, most?: number): readonly Figure[] {
  const noteOf = (of: (memory: Memory) => number): string =>
    parts.map(([part, memory]) => `${part} ${of(memory).toFixed(0)}`).join(', ')
  return [
    {
      name: `memory, ${when}, without Postgres`,
      value: sumOf(parts, ({ residentMib }) => residentMib),
      unit: 'MiB resident',
      ...(most === undefined ? {} : { reach: most, bound: 'most' }),
      note: noteOf(({ residentMib }) => residentMib),
    },
    {
      name: `memory, ${when}`,
      value: parts.reduce((all, [, { proportionalMib }]) => all + proportionalMib, 0),
      unit: 'MiB proportional',
      note: noteOf(({ proportionalMib }) => proportionalMib),
    },
  ]
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const { row: started, gateway } = await startTollgate(closers, upstream.url)
    await sleep(SETTLING_MS)
    const figures = [...figuresOf('fresh', await look(gateway.pid, 'fresh'), MOST_FRESH_MIB)]
    const row = { ...started, tokens: await gateway.tenants(TENANTS) }
    await warmUp([row])
    let seconds = 0
    for (const [index, stretch] of STRETCHES.entries()) {
      const { failed } = await load(row, CONNECTIONS, { duration: stretch })
      seconds += stretch
      const when = `after ${seconds} s at ${CONNECTIONS} connections${failed > 0 ? `, ${failed} FAILED` : ''}`
      const isLast = index === STRETCHES.length - 1
      figures.push(
        ...figuresOf(when, await look(gateway.pid, when), isLast ? MOST_LOADED_MIB : undefined),
      )
    }
    const when = `most in ${REFUSED_SECONDS} s of refusals`
    const refused = load({ ...row, body: '{}' }, CONNECTIONS, { duration: REFUSED_SECONDS })
    figures.push(...figuresOf(when, await mostDuring(gateway.pid, when, refused)))
    return figures
  })
