import { percentile, type Benchmark, type Figure } from './figure.ts'
import { cpuFigures, firstMinute, saturate, warmUp } from './chat-load.ts'
import { tell, withClosers } from './kit/closers.ts'
import type { BenchGateway } from './kit/gateway.ts'
import { paced } from './kit/paced.ts'
import { isPaced, sized, sizeFrom } from './kit/sizes.ts'
import {
  longChatBody,
  startPassThrough,
  startPortkey,
  startTollgate,
  startUpstream,
  tryOut,
  type Row,
} from './kit/text-rows.ts'

/**
 * Chat without streaming, five rows side by side in one run: everything is started once and asked in
 * turns, so that what else the machine does falls on all of them. First as many requests as 32
 * connections carry and what each costs in processor time, over all processes of a row; then the same
 * with other numbers of connections, of many tenants, and with long answers; then 500 and 1,000 a second,
 * sent whether or not earlier ones were answered, and the time each row adds to the upstream's own.
 */

const CONNECTIONS = 32
/** The fewer callers, the more each costs: less is shared. */
const OTHER_CONNECTIONS = (process.env['BENCH_CONNECTIONS'] ?? '128,8,1')
  .split(',')
  .filter(Boolean)
  .map(Number)
const TENANTS = sizeFrom('BENCH_TENANTS', sized(200, 5))
const WARM_UP_SECONDS = sized(3, 1)
interface Pace {
  readonly perSecond: number
  /** Milliseconds that a durable call may add at most, by percentile. */
  readonly most: Readonly<Partial<Record<50 | 99, number>>>
}

const PACES: readonly Pace[] = [
  { perSecond: sized(500, 50), most: { 50: 1.5, 99: 10 } },
  { perSecond: sized(1_000, 100), most: { 99: 20 } },
]
const PACED_ROUNDS = sized(3, 1)
const PACED_SECONDS = sized(15, 2)

async function addedTime(
  rows: readonly Row[],
  alone: Row,
  durable: Row,
  gateway: BenchGateway,
  { perSecond, most }: Pace,
): Promise<readonly Figure[]> {
  const micros = new Map<Row, number[]>(rows.map((row) => [row, []]))
  const failed = new Map<Row, number>()
  for (let round = 0; round < PACED_ROUNDS; round += 1)
    for (const row of rows) {
      await gateway.settled()
      const result = await paced(row, {
        perSecond,
        seconds: PACED_SECONDS,
        warmUpSeconds: WARM_UP_SECONDS,
        connections: CONNECTIONS,
      })
      for (const time of result.micros) micros.get(row)?.push(time)
      const { '200': _answered, ...others } = result.statuses
      const more = Object.values(others).reduce((sum, count) => sum + count, 0)
      failed.set(row, (failed.get(row) ?? 0) + more)
      tell(`chat, ${perSecond}/s, round ${round}: ${row.name}`)
    }
  const timeOf = (row: Row, p: number): number => percentile(micros.get(row) ?? [], p) / 1_000
  return rows.flatMap((row) =>
    ([50, 99] as const).map((p): Figure => {
      const note = (failed.get(row) ?? 0) > 0 ? `${failed.get(row)} FAILED` : ''
      const whole = { value: timeOf(row, p), unit: 'ms', note }
      if (row === alone) return { ...whole, name: `chat at ${perSecond}/s, ${row.name}, p${p}` }
      const reach = row === durable ? most[p] : undefined
      return {
        ...whole,
        name: `chat at ${perSecond}/s, added by ${row.name}, p${p}`,
        value: whole.value - timeOf(alone, p),
        ...(reach === undefined ? {} : { reach, bound: 'most' }),
      }
    }),
  )
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const alone = upstream.row
    const bare = await startPassThrough(closers, upstream.url)
    const portkey = await startPortkey(closers, upstream.url)
    const tollgate = await startTollgate(closers, upstream.url)
    const durable = tollgate.row
    const rows = [alone, bare, portkey, durable, await tollgate.withNullLog()]
    for (const row of rows) await tryOut(row)
    const first = await firstMinute(durable, tollgate.gateway)
    await warmUp(rows.filter((row) => row !== durable))
    const many = await saturate(rows, durable, tollgate.gateway, CONNECTIONS)
    const ratios: readonly Figure[] = [
      {
        name: `chat, Tollgate durable as a multiple of ${portkey.name}`,
        value: many.of(durable) / many.of(portkey),
        unit: '×',
        reach: 2.5,
      },
      {
        name: `chat, Tollgate durable as a share of the ${bare.name}`,
        value: many.of(durable) / many.of(bare),
        unit: '×',
        reach: 0.3,
      },
    ]
    const others: Figure[] = []
    for (const connections of OTHER_CONNECTIONS) {
      const measured = await saturate(
        [bare, portkey, durable],
        durable,
        tollgate.gateway,
        connections,
      )
      others.push(...measured.figures(bare), ...cpuFigures(measured, durable, bare))
    }
    const tenants = {
      ...durable,
      name: `${durable.name}, ${TENANTS} tenants`,
      tokens: await tollgate.gateway.tenants(TENANTS),
    }
    const ofTenants = await saturate([durable, tenants], tenants, tollgate.gateway, CONNECTIONS)
    others.push(...ofTenants.figures(durable))
    const [bareLong, durableLong] = [bare, durable].map((row) => ({ ...row, body: longChatBody }))
    if (bareLong !== undefined && durableLong !== undefined) {
      const long = await saturate(
        [bareLong, durableLong],
        durableLong,
        tollgate.gateway,
        CONNECTIONS,
        'chat, answers of 20 kB',
      )
      others.push(...long.figures(bareLong))
    }
    const added: Figure[] = []
    for (const pace of isPaced ? PACES : [])
      added.push(
        ...(await addedTime([alone, bare, durable], alone, durable, tollgate.gateway, pace)),
      )
    return [
      ...first,
      ...many.figures(bare),
      ...cpuFigures(many, durable, bare),
      ...ratios,
      ...others,
      ...added,
    ]
  })
