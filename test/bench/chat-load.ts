import type { Figure } from './figure.ts'
import type { LoadOrder } from './peers/load-client.ts'
import { compiled, installed } from './kit/build.ts'
import { median, tell } from './kit/closers.ts'
import { between, cpuMs, total, wakeUps, type ByPart, type CpuMs } from './kit/cpu.ts'
import type { BenchGateway, PostgresWork } from './kit/gateway.ts'
import { runForJson } from './kit/process.ts'
import { sized, sizeFrom } from './kit/sizes.ts'
import { chatBody, type Row } from './kit/text-rows.ts'

/** As many chat calls as so many connections carry, and what each costs in processor time. */

const ROUNDS = sizeFrom('BENCH_ROUNDS', sized(5, 1))
const SECONDS = sizeFrom('BENCH_SECONDS', sized(8, 2))
/** By count: on a busy machine a time would end before the code is compiled. */
const WARM_UP_CALLS = sized(10_000, 500)
/** Connections of the warm-up. */
const WARM_UP_CONNECTIONS = 32

/** What autocannon 8 says, as far as it is read here. */
interface CannonResult {
  readonly requests: { readonly total: number }
  readonly duration: number
  readonly non2xx: number
  readonly errors: number
}

interface Load {
  readonly answered: number
  readonly perSecond: number
  readonly failed: number
}

/** One round of one row. */
interface Turn extends Load {
  /** A call, by process. */
  readonly cpuMs: CpuMs
  /** A call, by process. */
  readonly wakeUps: ByPart
}

/** Asks a row over so many connections: for so many seconds, or so many times. Every row has the same client. */
export async function load(
  row: Row,
  connections: number,
  until: LoadOrder['until'],
): Promise<Load> {
  const { url, headers, body = chatBody(false), tokens } = row
  const order: LoadOrder = {
    url,
    connections,
    until,
    headers,
    body,
    ...(tokens === undefined ? {} : { tokens }),
  }
  const client = [compiled('test/bench/peers/load-client'), installed('autocannon/autocannon.js')]
  return loadOf((await runForJson(client, JSON.stringify(order))) as CannonResult)
}

function loadOf(result: CannonResult): Load {
  const answered = result.requests.total - result.non2xx
  const failed = result.non2xx + result.errors
  return { answered, perSecond: answered / result.duration, failed }
}

/** Processor time a call of a row that has answered nothing yet: in its first seconds, and in the rest of a minute. */
export async function firstMinute(row: Row, gateway: BenchGateway): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  const [first, rest] = [sized(10, 2), sized(50, 2)]
  for (const [when, seconds] of [
    [`the first ${first} s of the process`, first],
    [`the ${rest} s after those`, rest],
  ] as const) {
    const before = await cpuMs(row.pid)
    const { answered } = await load(row, WARM_UP_CONNECTIONS, { duration: seconds })
    await gateway.settled()
    const spent = between(before, await cpuMs(row.pid))
    figures.push({
      name: `chat, ${WARM_UP_CONNECTIONS} connections, ${row.name}, ${when}`,
      value: total(spent) / answered,
      unit: 'ms CPU a call',
      note: partsNote(spent, answered),
    })
  }
  return figures
}

function aCall(parts: ByPart, { answered }: Load): ByPart {
  return Object.fromEntries(Object.entries(parts).map(([part, sum]) => [part, sum / answered]))
}

/** What each process spent, a call. */
function partsNote(spent: CpuMs, calls: number): string {
  const parts = Object.entries(spent).map(([part, ms]) => `${part} ${(ms / calls).toFixed(3)} ms`)
  return parts.join(', ')
}

/** What the durable row's calls led to, added up over its turns. */
interface Work extends PostgresWork {
  readonly calls: number
  readonly events: number
  readonly appends: number
}

const NO_WORK: Work = {
  calls: 0,
  events: 0,
  appends: 0,
  commits: 0,
  rowsRead: 0,
  rowsWritten: 0,
  walBytes: 0,
  autovacuums: 0,
}

async function workOf(gateway: BenchGateway): Promise<Work> {
  return {
    calls: 0,
    events: await gateway.metric('tollgate_log_appended_events_total'),
    appends: await gateway.metric('tollgate_log_appends_total'),
    ...(await gateway.postgres()),
  }
}

function addWork(sum: Work, before: Work, after: Work, calls: number): Work {
  const added = Object.entries(after).map(([name, value]) => {
    const key = name as keyof Work
    return [key, sum[key] + value - before[key]] as const
  })
  return { ...(Object.fromEntries(added) as unknown as Work), calls: sum.calls + calls }
}

/** Asks every row until its code is compiled. */
export async function warmUp(rows: readonly Row[], calls = WARM_UP_CALLS): Promise<void> {
  for (const row of rows) await load(row, WARM_UP_CONNECTIONS, { amount: calls })
}

/** What came of so many connections. */
export interface Saturated {
  readonly connections: number
  /** Requests a second of a row. */
  readonly of: (row: Row) => number
  /** Processor time a call of a row, by process. */
  readonly cpuOf: (row: Row) => CpuMs
  readonly figures: (bare: Row) => readonly Figure[]
}

/**
 * Asks the rows in turns. A turn ends when the read models have caught up, so that what they do for
 * its calls is part of what its calls cost.
 */
export async function saturate(
  rows: readonly Row[],
  durable: Row,
  gateway: BenchGateway,
  connections: number,
  what = 'chat',
): Promise<Saturated> {
  const turns = new Map<Row, Turn[]>(rows.map((row) => [row, []]))
  let work = NO_WORK
  for (let round = 0; round < ROUNDS; round += 1)
    for (const row of rows) {
      await gateway.settled()
      const before = await workOf(gateway)
      const cpuBefore = await cpuMs(row.pid)
      const wakeUpsBefore = await wakeUps(row.pid)
      const measured = await load(row, connections, { duration: SECONDS })
      await gateway.settled()
      const cpu = aCall(between(cpuBefore, await cpuMs(row.pid)), measured)
      const woken = aCall(between(wakeUpsBefore, await wakeUps(row.pid)), measured)
      turns.get(row)?.push({ ...measured, cpuMs: cpu, wakeUps: woken })
      tell(
        `${what}, ${connections} connections, round ${round}: ${row.name} ` +
          `${measured.perSecond.toFixed(0)}/s, ${total(cpu).toFixed(3)} ms CPU a call`,
      )
      if (row !== durable) continue
      work = addWork(work, before, await workOf(gateway), measured.answered)
    }
  const of = (row: Row): number => median((turns.get(row) ?? []).map((turn) => turn.perSecond))
  const middle = (row: Row, partsOf: (turn: Turn) => ByPart): ByPart => {
    const seen = (turns.get(row) ?? []).map(partsOf).toSorted((a, b) => total(a) - total(b))
    return seen[Math.floor(seen.length / 2)] ?? {}
  }
  const cpuOf = (row: Row): CpuMs => middle(row, (turn) => turn.cpuMs)
  const woken = middle(durable, (turn) => turn.wakeUps)
  const figures = (bare: Row): readonly Figure[] => [
    ...rows.map((row): Figure => {
      const failed = (turns.get(row) ?? []).reduce((sum, turn) => sum + turn.failed, 0)
      return {
        name: `${what}, ${connections} connections, ${row.name}`,
        value: of(row),
        unit: 'requests/s',
        cpuMs: total(cpuOf(row)),
        cpuOverBare: total(cpuOf(row)) / total(cpuOf(bare)),
        note: `${failed > 0 ? `${failed} FAILED; ` : ''}${partsNote(cpuOf(row), 1)}`,
      }
    }),
    {
      name: `${what}, ${connections} connections, ${durable.name}, wake-ups of its threads a call`,
      value: total(woken),
      unit: 'wake-ups',
      note: Object.entries(woken)
        .map(([part, count]) => `${part} ${count.toFixed(2)}`)
        .join(', '),
    },
    {
      name: `${what}, ${connections} connections, settlements per append`,
      value: work.events / work.appends,
      unit: 'settlements',
      note: `${work.events} settlements in ${work.appends} appends`,
    },
    {
      name: `${what}, ${connections} connections, transactions of Postgres a call`,
      value: work.commits / work.calls,
      unit: 'commits',
      note:
        `${(work.rowsWritten / work.calls).toFixed(2)} rows written, ` +
        `${(work.walBytes / work.calls).toFixed(0)} bytes of its log a call`,
    },
  ]
  return { connections, of, cpuOf, figures }
}

/** Most a durable call may cost over a bare one, by connections. */
const REACH: Readonly<Record<number, number>> = { 128: 4.5, 32: 5, 8: 6.5, 1: 8 }

/** What a durable call costs over a bare one, together and by process. */
export function cpuFigures(measured: Saturated, durable: Row, bare: Row): readonly Figure[] {
  const { connections, cpuOf } = measured
  const bareMs = total(cpuOf(bare))
  const parts = cpuOf(durable)
  const name = `chat, ${connections} connections, processor time of a durable call over bare's`
  return [
    {
      name,
      value: total(parts) / bareMs,
      unit: '×',
      ...(REACH[connections] === undefined ? {} : { reach: REACH[connections], bound: 'most' }),
      note: partsNote(parts, 1),
    },
    {
      name: `${name}, the gateway's own process`,
      value: (parts['own'] ?? 0) / bareMs,
      unit: '×',
      ...(connections === 32 ? { reach: 2.6, bound: 'most' } : {}),
    },
  ]
}
