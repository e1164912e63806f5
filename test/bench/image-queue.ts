import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Benchmark } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { between, cpuMs } from './kit/cpu.ts'
import { type BenchGateway, startGateway } from './kit/gateway.ts'
import { watchMemory } from './kit/process.ts'
import { sized, sizeFrom } from './kit/sizes.ts'

/**
 * Asynchronous images ordered faster than they are made, nobody but the gateway's own worker doing
 * anything about them: each must be made and settled once, and memory must not grow with the queue.
 */

const IMAGES = sizeFrom('BENCH_IMAGES', sized(2_000, 60))
const CONCURRENT = 32
const GIVE_UP_MS = 600_000
const LOOK_MS = 1_000

async function orderAll(gateway: BenchGateway): Promise<void> {
  const pool = new Pool(gateway.url, { connections: CONCURRENT, pipelining: 1 })
  const headers = { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'image-2', prompt: 'a paper boat in a puddle' })
  let begun = 0
  const caller = async (): Promise<void> => {
    while (begun < IMAGES) {
      begun += 1
      const path = '/v1/images/generations/async'
      const answer = await pool.request({ method: 'POST', path, headers, body })
      const text = await answer.body.text()
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text.slice(0, 300)}`)
    }
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENT }, caller))
  } finally {
    await pool.close()
  }
}

/** Waits until all have ended; returns the longest queue seen. */
async function untilAllEnded(gateway: BenchGateway): Promise<number> {
  const untilMs = performance.now() + GIVE_UP_MS
  let longest = 0
  for (;;) {
    const text = await fetch(`${gateway.url}/metrics`).then((response) => response.text())
    const waiting = /tollgate_open_tasks\{kind="make",state="open"\} (\d+)/.exec(text)?.[1]
    longest = Math.max(longest, Number(waiting ?? 0))
    const ended = await gateway.metric('tollgate_tasks_ended_total')
    if (ended >= IMAGES || performance.now() > untilMs) return longest
    tell(`image queue: ${ended} of ${IMAGES} ended`)
    await sleep(LOOK_MS)
  }
}

/** How many tasks the log settles, and how many of them more than once. */
async function settlements(gateway: BenchGateway) {
  const times = new Map<string, number>()
  for (const line of (await gateway.command('events')).split('\n')) {
    if (!line.includes('"TaskSettled"')) continue
    const { type, data } = JSON.parse(line) as {
      readonly type: string
      readonly data: { readonly platformId: string }
    }
    if (type === 'TaskSettled') times.set(data.platformId, (times.get(data.platformId) ?? 0) + 1)
  }
  return { tasks: times.size, twice: [...times.values()].filter((count) => count > 1).length }
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const gateway = closers.add(await startGateway())
    const memory = watchMemory(gateway.pid)
    const before = await cpuMs(gateway.pid)
    const startedMs = performance.now()
    await orderAll(gateway)
    const orderedS = (performance.now() - startedMs) / 1_000
    const longest = await untilAllEnded(gateway)
    const tookS = (performance.now() - startedMs) / 1_000
    const { peakMib } = await memory.end()
    const { own = 0 } = between(before, await cpuMs(gateway.pid))
    await gateway.settled()
    const { tasks, twice } = await settlements(gateway)
    const calls = (await fetch(`${gateway.sandboxUrl ?? ''}/__sandbox/requests`).then((answer) =>
      answer.json(),
    )) as { readonly routes: Readonly<Record<string, { readonly count: number }>> }
    const of = `${IMAGES.toLocaleString('en')} asynchronous images`
    return [
      { name: `${of}, settled`, value: tasks, unit: 'tasks', reach: IMAGES },
      { name: `${of}, settled twice`, value: twice, unit: 'tasks', reach: 0, bound: 'most' },
      {
        name: `${of}, made`,
        value: IMAGES / tookS,
        unit: 'images/s',
        note: `ordered in ${orderedS.toFixed(0)} s; at most ${longest} waited; upstream was asked ${JSON.stringify(
          Object.fromEntries(
            Object.entries(calls.routes)
              .filter(([name]) => name.startsWith('image'))
              .map(([name, { count }]) => [name, count]),
          ),
        )}`,
      },
      {
        name: `${of}, processor time of the gateway’s own process for each`,
        value: own / IMAGES,
        unit: 'ms',
      },
      { name: `${of}, peak memory of the gateway`, value: peakMib, unit: 'MiB' },
    ]
  })
