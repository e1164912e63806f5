import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { load, warmUp } from './chat-load.ts'
import type { Benchmark, Figure } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { partOf } from './kit/cpu.ts'
import { descendants } from './kit/process.ts'
import { sized } from './kit/sizes.ts'
import { startTollgate, startUpstream } from './kit/text-rows.ts'

/**
 * Memory of every process of an installation: fresh, under calls over many connections, and while all
 * requests are refused. `Pss` counts a page that processes share once, divided among them.
 */

const CONNECTIONS = 128
const SETTLING_MS = sized(20_000, 2_000)
/** Seconds of calls before each look. */
const STRETCHES = sized([60, 120, 420], [2, 2])
const REFUSED_SECONDS = sized(60, 2)
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

/** The memory of a gateway's processes, by what each is. */
async function look(pid: number, when: string): Promise<readonly [string, Memory][]> {
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

function figuresOf(
  when: string,
  parts: readonly [string, Memory][],
  most?: number,
): readonly Figure[] {
  const sum = (of: (memory: Memory) => number): number =>
    parts.reduce((all, [part, memory]) => all + (part === 'Postgres' ? 0 : of(memory)), 0)
  return [
    {
      name: `memory, ${when}, without Postgres`,
      value: sum(({ residentMib }) => residentMib),
      unit: 'MiB resident',
      ...(most === undefined ? {} : { reach: most, bound: 'most' }),
      note: parts
        .map(([part, { residentMib }]) => `${part} ${residentMib.toFixed(0)}`)
        .concat(`Pss ${sum(({ proportionalMib }) => proportionalMib).toFixed(0)}`)
        .join(', '),
    },
  ]
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const { row, gateway } = await startTollgate(closers, upstream.url)
    await sleep(SETTLING_MS)
    const figures = [...figuresOf('fresh', await look(gateway.pid, 'fresh'), MOST_FRESH_MIB)]
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
    await load({ ...row, body: '{}' }, CONNECTIONS, { duration: REFUSED_SECONDS })
    const when = `after ${REFUSED_SECONDS} s of refusals`
    figures.push(...figuresOf(when, await look(gateway.pid, when)))
    return figures
  })
