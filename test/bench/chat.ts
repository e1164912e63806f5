import { percentile, type Benchmark, type Figure } from './figure.ts'
import { compiled, installed } from './kit/build.ts'
import { median, tell, withClosers } from './kit/closers.ts'
import type { BenchGateway } from './kit/gateway.ts'
import { runForJson } from './kit/process.ts'
import { sized } from './kit/sizes.ts'
import {
  chatBody,
  startPassThrough,
  startPortkey,
  startTollgate,
  startUpstream,
  tryOut,
  type Row,
} from './kit/text-rows.ts'
import type { PacedOrder, PacedResult } from './peers/paced-client.ts'

/**
 * Chat without streaming, five rows side by side in one run: everything is started once and asked in
 * turns, so that what else the machine does falls on all of them. First as many requests as 32
 * connections carry, then 500 a second and the time each row adds to the upstream's own.
 */

const CONNECTIONS = 32
const ROUNDS = sized(5, 1)
const SECONDS = sized(8, 2)
const WARM_UP_SECONDS = sized(3, 1)
const PER_SECOND = sized(500, 50)
const PACED_ROUNDS = sized(3, 1)
const PACED_SECONDS = sized(15, 2)

/** What autocannon 8 prints with `-j`, as far as it is read here. */
interface CannonResult {
  readonly requests: { readonly total: number }
  readonly duration: number
  readonly non2xx: number
  readonly errors: number
}

interface Load {
  readonly perSecond: number
  readonly failed: number
}

async function load(row: Row, seconds: number): Promise<Load> {
  const headers = Object.entries(row.headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const size = ['-c', String(CONNECTIONS), '-d', String(seconds)]
  const request = ['-m', 'POST', ...headers, '-b', chatBody(false), row.url]
  const result = (await runForJson([
    installed('autocannon/autocannon.js'),
    '-j',
    ...size,
    ...request,
  ])) as CannonResult
  const failed = result.non2xx + result.errors
  return { perSecond: (result.requests.total - result.non2xx) / result.duration, failed }
}

interface Settled {
  readonly events: number
  readonly appends: number
}

async function appended(gateway: BenchGateway): Promise<Settled> {
  return {
    events: await gateway.metric('tollgate_log_appended_events_total'),
    appends: await gateway.metric('tollgate_log_appends_total'),
  }
}

async function saturate(
  rows: readonly Row[],
  durable: Row,
  gateway: BenchGateway,
): Promise<{ readonly figures: readonly Figure[]; readonly of: (row: Row) => number }> {
  const rounds = new Map<Row, Load[]>(rows.map((row) => [row, []]))
  let settlements: Settled = { events: 0, appends: 0 }
  for (const row of rows) await load(row, WARM_UP_SECONDS)
  for (let round = 0; round < ROUNDS; round += 1)
    for (const row of rows) {
      await gateway.settled()
      const before = await appended(gateway)
      const measured = await load(row, SECONDS)
      rounds.get(row)?.push(measured)
      tell(`chat, round ${round}: ${row.name} ${measured.perSecond.toFixed(0)}/s`)
      if (row !== durable) continue
      const after = await appended(gateway)
      settlements = {
        events: settlements.events + after.events - before.events,
        appends: settlements.appends + after.appends - before.appends,
      }
    }
  const of = (row: Row): number =>
    median((rounds.get(row) ?? []).map((measured) => measured.perSecond))
  const figures = rows.map((row): Figure => {
    const failed = (rounds.get(row) ?? []).reduce((sum, measured) => sum + measured.failed, 0)
    return {
      name: `chat, ${CONNECTIONS} connections, ${row.name}`,
      value: of(row),
      unit: 'requests/s',
      note: `median of ${ROUNDS} rounds of ${SECONDS} s${failed > 0 ? `; ${failed} FAILED` : ''}`,
    }
  })
  return {
    of,
    figures: [
      ...figures,
      {
        name: 'chat, settlements per append under load',
        value: settlements.events / settlements.appends,
        unit: 'settlements',
        note: `${settlements.events} settlements in ${settlements.appends} appends`,
      },
    ],
  }
}

async function paced(row: Row): Promise<PacedResult> {
  const order: PacedOrder = {
    url: row.url,
    headers: row.headers,
    body: chatBody(false),
    perSecond: PER_SECOND,
    seconds: PACED_SECONDS,
    warmUpSeconds: WARM_UP_SECONDS,
    connections: CONNECTIONS,
  }
  return (await runForJson(
    [compiled('test/bench/peers/paced-client')],
    JSON.stringify(order),
  )) as PacedResult
}

async function addedTime(
  rows: readonly Row[],
  alone: Row,
  durable: Row,
  gateway: BenchGateway,
): Promise<readonly Figure[]> {
  const micros = new Map<Row, number[]>(rows.map((row) => [row, []]))
  const failed = new Map<Row, number>()
  for (let round = 0; round < PACED_ROUNDS; round += 1)
    for (const row of rows) {
      await gateway.settled()
      const result = await paced(row)
      for (const time of result.micros) micros.get(row)?.push(time)
      const { '200': _answered, ...others } = result.statuses
      const more = Object.values(others).reduce((sum, count) => sum + count, 0)
      failed.set(row, (failed.get(row) ?? 0) + more)
      tell(`chat, ${PER_SECOND}/s, round ${round}: ${row.name}`)
    }
  const timeOf = (row: Row, p: number): number => percentile(micros.get(row) ?? [], p) / 1_000
  return rows.flatMap((row) =>
    [50, 99].map((p): Figure => {
      const note = (failed.get(row) ?? 0) > 0 ? `${failed.get(row)} FAILED` : ''
      if (row === alone)
        return {
          name: `chat at ${PER_SECOND}/s, ${row.name}, p${p}`,
          value: timeOf(row, p),
          unit: 'ms',
          note,
        }
      return {
        name: `chat at ${PER_SECOND}/s, added by ${row.name}, p${p}`,
        value: timeOf(row, p) - timeOf(alone, p),
        unit: 'ms',
        ...(row === durable ? { reach: p === 50 ? 2 : 10, bound: 'most' } : {}),
        note,
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
    const { figures, of } = await saturate(rows, durable, tollgate.gateway)
    const ratios: readonly Figure[] = [
      {
        name: `chat, Tollgate durable as a multiple of ${portkey.name}`,
        value: of(durable) / of(portkey),
        unit: '×',
        reach: 3,
      },
      {
        name: `chat, Tollgate durable as a share of the ${bare.name}`,
        value: of(durable) / of(bare),
        unit: '×',
        reach: 0.3,
      },
    ]
    const added = await addedTime(rows, alone, durable, tollgate.gateway)
    return [...figures, ...ratios, ...added]
  })
