import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { saturate, warmUp } from './chat-load.ts'
import { percentile, type Benchmark, type Figure } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { between, cpuMs, total } from './kit/cpu.ts'
import { startGateway, type BenchGateway } from './kit/gateway.ts'
import { sized } from './kit/sizes.ts'
import { startPassThrough, startUpstream, type Row as TextRow } from './kit/text-rows.ts'

/**
 * Creating a `/provA` task with 50 callers at once, through the gateway and at the provider itself
 * with the same body, in turns within one run. The difference of the percentiles is what the gateway
 * adds. Measured twice: with a provider that answers at once, so that 50 callers load the machine
 * fully, and with one that takes 200 ms over its answer, as real ones do and more. Before that, what a
 * task costs from its creation to its settlement in processor time, the provider's own left out.
 */

const CONCURRENT = 50
const ROUNDS = sized(8, 2)
const PER_ROUND = sized(1_000, 60)
const PATH = '/contents/generations/tasks'
const MODEL = 'domestic-video-2-0-mini'
const SLOW_MS = 200
/** Tasks do not end while others are created: what is measured is creation and idle polling. */
const RUNNING_MS = 7_200_000
/** Tasks that are followed to their settlement, and how long each takes at the provider. */
const LIVES = sized(2_000, 60)
const LIFE_MS = 10_000

interface Row {
  readonly url: string
  readonly token: string
}

function bodyOf(answerMs: number, runningMs = RUNNING_MS): string {
  const slow = answerMs > 0 ? ` first-byte-ms=${answerMs}` : ''
  return JSON.stringify({
    model: MODEL,
    duration: 5,
    resolution: '480p',
    content: [{ type: 'text', text: `a paper boat [[sandbox running-ms=${runningMs}${slow}]]` }],
  })
}

/** Times in ms of so many creations, this many at once. @throws when one is refused */
async function creations(row: Row, body: string, count: number): Promise<readonly number[]> {
  const url = new URL(row.url)
  const pool = new Pool(url.origin, { connections: CONCURRENT, pipelining: 1 })
  const headers = { authorization: `Bearer ${row.token}`, 'content-type': 'application/json' }
  const times: number[] = []
  let begun = 0
  const caller = async (): Promise<void> => {
    while (begun < count) {
      begun += 1
      const startedMs = performance.now()
      const answer = await pool.request({ method: 'POST', path: url.pathname, headers, body })
      const text = await answer.body.text()
      times.push(performance.now() - startedMs)
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text.slice(0, 300)}`)
    }
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENT }, caller))
  } finally {
    await pool.close()
  }
  return times
}

async function compare(
  gateway: Row,
  provider: Row,
  answerMs: number,
  settled: () => Promise<void>,
): Promise<readonly Figure[]> {
  const body = bodyOf(answerMs)
  const through: number[] = []
  const direct: number[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const directly = await creations(provider, body, PER_ROUND)
    const startedMs = performance.now()
    const passed = await creations(gateway, body, PER_ROUND)
    const perSecond = (PER_ROUND / (performance.now() - startedMs)) * 1_000
    await settled()
    tell(`create, provider ${answerMs} ms, round ${round}: ${perSecond.toFixed(0)}/s`)
    // The first round warms everything up.
    if (round === 0) continue
    direct.push(...directly)
    through.push(...passed)
  }
  const of = `provider answering ${answerMs === 0 ? 'at once' : `after ${answerMs} ms`}`
  return [50, 99].flatMap((p): readonly Figure[] => {
    const gatewayMs = percentile(through, p)
    const providerMs = percentile(direct, p)
    const shown = (name: string, value: number): Figure => ({
      name: `create task, ${CONCURRENT} concurrent, ${of}, ${name} p${p}`,
      value,
      unit: 'ms',
    })
    return [
      shown('through the gateway', gatewayMs),
      shown('at the provider', providerMs),
      {
        ...shown('added', gatewayMs - providerMs),
        reach: p === 50 ? 10 : 50,
        bound: 'most',
        note: `${through.length} creations each, in turns`,
      },
    ]
  })
}

/** Creates tasks and waits until all of them are settled and in the read models. */
async function live(gateway: BenchGateway, through: Row): Promise<void> {
  const ended = (): Promise<number> => gateway.metric('tollgate_tasks_ended_total')
  const before = await ended()
  await creations(through, bodyOf(SLOW_MS, LIFE_MS), LIVES)
  while ((await ended()) < before + LIVES) await sleep(500)
  await gateway.settled()
}

async function lifeCost(
  gateway: BenchGateway,
  through: Row,
  bare: TextRow,
): Promise<readonly Figure[]> {
  await live(gateway, through)
  const before = await cpuMs(gateway.pid)
  await live(gateway, through)
  const { sandbox: _provider, ...parts } = between(before, await cpuMs(gateway.pid))
  await warmUp([bare])
  const measured = await saturate([bare], bare, gateway, CONCURRENT, 'bare pass-through')
  const bareMs = total(measured.cpuOf(bare))
  const shown = Object.entries(parts).map(([part, ms]) => `${part} ${(ms / LIVES).toFixed(2)} ms`)
  return [
    {
      name: `processor time of a task to its settlement, polling included, over a bare call's`,
      value: total(parts) / LIVES / bareMs,
      unit: '×',
      reach: 30,
      bound: 'most',
      cpuMs: total(parts) / LIVES,
      note: `${LIVES} tasks of ${LIFE_MS / 1_000} s; ${shown.join(', ')}; bare ${bareMs.toFixed(3)} ms`,
    },
  ]
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const bare = await startPassThrough(closers, upstream.url)
    const gateway = closers.add(await startGateway({ SANDBOX_TIME_SCALE: '1' }))
    const { sandboxUrl } = gateway
    if (sandboxUrl === undefined) throw new Error('the gateway has no sandbox')
    const through = { url: `${gateway.url}/provA/api/v3${PATH}`, token: gateway.token }
    const direct = { url: `${sandboxUrl}/api/v3${PATH}`, token: 'sandbox' }
    return [
      ...(await lifeCost(gateway, through, bare)),
      ...(await compare(through, direct, 0, gateway.settled)),
      ...(await compare(through, direct, SLOW_MS, gateway.settled)),
    ]
  })
