import { percentile, type Benchmark, type Figure } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { between, queuedMs, type CpuMs } from './kit/cpu.ts'
import type { BenchGateway } from './kit/gateway.ts'
import { paced } from './kit/paced.ts'
import { createProbe, type Probe } from './kit/probe.ts'
import { sized, sizeFrom, TENANTS } from './kit/sizes.ts'
import {
  startPassThrough,
  startTollgate,
  startUpstream,
  tryOut,
  type Row,
} from './kit/text-rows.ts'
import { meanOf, REASONS, timelineOf, waitsOf, type Waits } from './kit/waits.ts'
import type { PacedOrder, PacedResult } from './peers/paced-client.ts'
import type { Probed } from './peers/gateway-probe.ts'

/**
 * The time that Tollgate adds to a chat call, by what the bare pass-through takes at the same rate in the same
 * run. Calls of many tenants are sent by chance at a rate, whether or not earlier ones were answered, and their time
 * counts from the moment they were due. In one more turn a probe notes where the slowest calls waited.
 */

const ROUNDS = sizeFrom('BENCH_ROUNDS', sized(3, 1))
const SECONDS = sizeFrom('BENCH_SECONDS', sized(15, 2))
const WARM_UP_SECONDS = sized(3, 1)
/** As many as wait at once; a call that finds none free opens one. */
const CONNECTIONS = 512
/** The share of calls whose waits are shown. */
const SLOWEST = 0.01

interface Pace {
  readonly perSecond: number
  /** Milliseconds that a call may add at most, by percentile. */
  readonly most: Readonly<Partial<Record<number, number>>>
}

const PACES: readonly Pace[] = [
  { perSecond: sized(200, 50), most: {} },
  { perSecond: sized(500, 100), most: { 50: 1.5, 99: 10 } },
  { perSecond: sized(1_000, 200), most: { 99: 20 } },
]
const PERCENTILES = [50, 90, 99] as const

type Order = Pick<PacedOrder, 'perSecond' | 'seconds' | 'warmUpSeconds' | 'connections' | 'seed'>

function orderOf(perSecond: number, seed: number): Order {
  return {
    perSecond,
    seconds: SECONDS,
    warmUpSeconds: WARM_UP_SECONDS,
    connections: CONNECTIONS,
    seed,
  }
}

function failedOf({ statuses }: PacedResult): number {
  const { '200': _answered, ...others } = statuses
  return Object.values(others).reduce((sum, count) => sum + count, 0)
}

/** Rows in turns, each round with the same arrivals for both. */
async function added(
  bare: Row,
  durable: Row,
  gateway: BenchGateway,
  { perSecond, most }: Pace,
): Promise<readonly Figure[]> {
  const times = new Map<Row, number[]>([
    [bare, []],
    [durable, []],
  ])
  let failed = 0
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [row, micros] of times) {
      await gateway.settled()
      const result = await paced(row, orderOf(perSecond, round + 1))
      for (const time of result.micros) micros.push(time)
      failed += failedOf(result)
      tell(`latency, ${perSecond}/s, round ${round}: ${row.name}`)
    }
  const note = failed > 0 ? `${failed} FAILED` : ''
  const timeOf = (row: Row, p: number): number => percentile(times.get(row) ?? [], p) / 1_000
  return PERCENTILES.flatMap((p): readonly Figure[] => [
    {
      name: `latency at ${perSecond}/s, ${bare.name}, p${p}`,
      value: timeOf(bare, p),
      unit: 'ms',
    },
    {
      name: `latency at ${perSecond}/s, added by ${durable.name}, p${p}`,
      value: timeOf(durable, p) - timeOf(bare, p),
      unit: 'ms',
      ...(most[p] === undefined ? {} : { reach: most[p], bound: 'most' as const }),
      note,
    },
  ])
}

/** Where the slowest calls waited, and beside each reason what it is of every call. */
function waitFigures(name: string, { calls }: PacedResult, probed: Probed): readonly Figure[] {
  const inside = new Map(probed.calls.map((call) => [call.number, call]))
  const timeline = timelineOf(probed)
  const timed = calls.flatMap((call) => {
    const known = inside.get(call.number)
    if (known === undefined) return []
    return [{ ms: (call.answeredUs - call.dueUs) / 1_000, waits: waitsOf(call, known, timeline) }]
  })
  timed.sort((a, b) => b.ms - a.ms)
  const slowest = timed.slice(0, Math.ceil(timed.length * SLOWEST))
  const mean = (some: typeof timed): Waits => meanOf(some.map(({ waits }) => waits))
  const meanMs = (some: typeof timed): number =>
    some.reduce((sum, { ms }) => sum + ms, 0) / some.length
  const [ofSlowest, ofAll, slowestMs] = [mean(slowest), mean(timed), meanMs(slowest)]
  const statements = Object.entries(probed.statements).sort(([, a], [, b]) => b.ms - a.ms)
  const longest = statements
    .slice(0, 3)
    .map(([what, { count, ms }]) => `${what} ${count} in ${ms.toFixed(0)} ms`)
  return [
    {
      name: `${name}, slowest 1 %`,
      value: slowestMs,
      unit: 'ms',
      note: `mean of ${slowest.length} calls; of all ${timed.length}: ${meanMs(timed).toFixed(2)} ms`,
    },
    ...REASONS.map((reason) => ({
      name: `${name}, slowest 1 %: ${reason}`,
      value: ofSlowest[reason],
      unit: 'ms',
      note:
        `${((100 * ofSlowest[reason]) / slowestMs).toFixed(0)} %; of all ${ofAll[reason].toFixed(2)} ms` +
        (reason === 'refresh' ? `; longest statements: ${longest.join(', ')}` : ''),
    })),
  ]
}

/** How late the gateway's event loop was, and how long each process waited for a processor. */
function machineFigures(name: string, { looks }: Probed, queued: CpuMs): readonly Figure[] {
  const lateMs = looks
    .slice(1)
    .map(({ atUs }, index) => Math.max(0, (atUs - (looks[index]?.atUs ?? atUs)) / 1_000 - 1))
  const firstUs = looks[0]?.atUs ?? 0
  const seconds = ((looks.at(-1)?.atUs ?? 0) - firstUs) / 1_000_000
  return [
    {
      name: `${name}, delay of the gateway's event loop, p99`,
      value: percentile(lateMs, 99),
      unit: 'ms',
      note: `p50 ${percentile(lateMs, 50).toFixed(2)} ms, most ${percentile(lateMs, 100).toFixed(1)} ms`,
    },
    ...Object.entries(queued).map(([part, ms]) => ({
      name: `${name}, ready and without a processor: ${part === 'own' ? 'gateway' : part}`,
      value: ms / seconds,
      unit: 'ms a second',
    })),
  ]
}

async function waited(
  durable: Row,
  gateway: BenchGateway,
  probe: Probe,
  { perSecond }: Pace,
): Promise<readonly Figure[]> {
  await gateway.settled()
  const before = await queuedMs(gateway.pid)
  const order = { ...orderOf(perSecond, ROUNDS + 1), isNumbered: true }
  const { result, probed } = await probe.during(gateway.pid, () => paced(durable, order))
  const queued = between(before, await queuedMs(gateway.pid))
  tell(`latency, ${perSecond}/s, probed`)
  const name = `latency at ${perSecond}/s, probed`
  const failed = failedOf(result)
  const p50 = percentile(result.micros, 50) / 1_000
  const p99 = percentile(result.micros, 99) / 1_000
  return [
    {
      name: `${name}, ${durable.name}, p50`,
      value: p50,
      unit: 'ms',
      note: `p99 ${p99.toFixed(2)} ms${failed > 0 ? `; ${failed} FAILED` : ''}`,
    },
    ...waitFigures(name, result, probed),
    ...machineFigures(name, probed, queued),
  ]
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const startedBare = await startPassThrough(closers, upstream.url)
    const probe = await createProbe(closers)
    const { row, gateway } = await startTollgate(closers, upstream.url, probe.env)
    for (const one of [startedBare, row]) await tryOut(one)
    const tokens = await gateway.tenants(TENANTS)
    const [bare, durable] = [
      { ...startedBare, tokens },
      { ...row, tokens },
    ]
    // The first minute of a process is another figure (`chat`).
    for (const one of [bare, durable])
      await paced(one, { ...orderOf(PACES.at(-1)?.perSecond ?? 0, 0), seconds: 2 * SECONDS })
    const figures: Figure[] = []
    for (const pace of PACES) {
      figures.push(...(await added(bare, durable, gateway, pace)))
      figures.push(...(await waited(durable, gateway, probe, pace)))
    }
    return figures
  })
