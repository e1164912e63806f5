import type { Figure } from './figure.ts'
import { installed } from './kit/build.ts'
import { median, tell } from './kit/closers.ts'
import { cpuBetween, cpuMs, totalMs, type CpuMs } from './kit/cpu.ts'
import type { BenchGateway } from './kit/gateway.ts'
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

/** What autocannon 8 prints with `-j`, as far as it is read here. */
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
}

async function load(
  row: Row,
  connections: number,
  until: readonly ['-d' | '-a', number],
): Promise<Load> {
  const headers = Object.entries(row.headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const size = ['-c', String(connections), until[0], String(until[1])]
  const request = ['-m', 'POST', ...headers, '-b', row.body ?? chatBody(false), row.url]
  const result = (await runForJson([
    installed('autocannon/autocannon.js'),
    '-j',
    ...size,
    ...request,
  ])) as CannonResult
  const answered = result.requests.total - result.non2xx
  const failed = result.non2xx + result.errors
  return { answered, perSecond: answered / result.duration, failed }
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

/** Asks every row until its code is compiled. */
export async function warmUp(rows: readonly Row[], calls = WARM_UP_CALLS): Promise<void> {
  for (const row of rows) await load(row, WARM_UP_CONNECTIONS, ['-a', calls])
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
  let settlements: Settled = { events: 0, appends: 0 }
  for (let round = 0; round < ROUNDS; round += 1)
    for (const row of rows) {
      await gateway.settled()
      const before = await appended(gateway)
      const cpuBefore = await cpuMs(row.pid)
      const measured = await load(row, connections, ['-d', SECONDS])
      await gateway.settled()
      const spent = Object.entries(cpuBetween(cpuBefore, await cpuMs(row.pid)))
      const cpu = Object.fromEntries(spent.map(([part, ms]) => [part, ms / measured.answered]))
      turns.get(row)?.push({ ...measured, cpuMs: cpu })
      tell(
        `${what}, ${connections} connections, round ${round}: ${row.name} ` +
          `${measured.perSecond.toFixed(0)}/s, ${totalMs(cpu).toFixed(3)} ms CPU a call`,
      )
      if (row !== durable) continue
      const after = await appended(gateway)
      settlements = {
        events: settlements.events + after.events - before.events,
        appends: settlements.appends + after.appends - before.appends,
      }
    }
  const of = (row: Row): number => median((turns.get(row) ?? []).map((turn) => turn.perSecond))
  const cpuOf = (row: Row): CpuMs => {
    const seen = (turns.get(row) ?? []).toSorted((a, b) => totalMs(a.cpuMs) - totalMs(b.cpuMs))
    return seen[Math.floor(seen.length / 2)]?.cpuMs ?? {}
  }
  const figures = (bare: Row): readonly Figure[] => [
    ...rows.map((row): Figure => {
      const failed = (turns.get(row) ?? []).reduce((sum, turn) => sum + turn.failed, 0)
      return {
        name: `${what}, ${connections} connections, ${row.name}`,
        value: of(row),
        unit: 'requests/s',
        cpuMs: totalMs(cpuOf(row)),
        cpuOverBare: totalMs(cpuOf(row)) / totalMs(cpuOf(bare)),
        note: `median of ${ROUNDS} rounds of ${SECONDS} s${failed > 0 ? `; ${failed} FAILED` : ''}`,
      }
    }),
    {
      name: `chat, ${connections} connections, settlements per append`,
      value: settlements.events / settlements.appends,
      unit: 'settlements',
      note: `${settlements.events} settlements in ${settlements.appends} appends`,
    },
  ]
  return { connections, of, cpuOf, figures }
}

/** Most a durable call may cost over a bare one, by connections. */
const REACH: Readonly<Record<number, number>> = { 32: 4, 8: 8, 1: 15 }

/** What a durable call costs over a bare one, together and by process. */
export function cpuFigures(measured: Saturated, durable: Row, bare: Row): readonly Figure[] {
  const { connections, cpuOf } = measured
  const bareMs = totalMs(cpuOf(bare))
  const parts = cpuOf(durable)
  const name = `chat, ${connections} connections, processor time of a durable call over bare's`
  return [
    {
      name,
      value: totalMs(parts) / bareMs,
      unit: '×',
      ...(REACH[connections] === undefined ? {} : { reach: REACH[connections], bound: 'most' }),
      note: Object.entries(parts)
        .map(([part, ms]) => `${part} ${ms.toFixed(3)} ms`)
        .join(', '),
    },
    {
      name: `${name}, the gateway's own process`,
      value: (parts['own'] ?? 0) / bareMs,
      unit: '×',
      ...(connections === 32 ? { reach: 2, bound: 'most' } : {}),
    },
  ]
}
