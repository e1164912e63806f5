import { tell, withClosers } from './kit/closers.ts'
import { between, cpuMs, total, type CpuMs } from './kit/cpu.ts'
import type { Benchmark, Figure } from './figure.ts'
import type { BenchGateway, PostgresWork } from './kit/gateway.ts'
import { paced } from './kit/paced.ts'
import { createProbe } from './kit/probe.ts'
import { sized, sizeFrom } from './kit/sizes.ts'
import { startTollgate, startUpstream, type Row } from './kit/text-rows.ts'
import type { Probed } from './peers/gateway-probe.ts'

/**
 * What a second costs where the same number of calls is of few tenants and of many: processor time of every
 * process, the rows that Postgres reads and writes, and the statements of the gateway's process by name. All the
 * tenants exist from the beginning, so that only the number of those in use differs.
 */

const IN_USE = sized([200, 2_000, 5_000], [5, 20])
const PER_SECOND = sizeFrom('BENCH_RATE', sized(200, 50))
const SECONDS = sizeFrom('BENCH_SECONDS', sized(20, 2))
/** Long enough that nearly every tenant has called before it is measured. */
const WARM_UP_PER_SECOND = sized(500, 50)
const WARM_UP_SECONDS = sizeFrom('BENCH_WARM_UP_SECONDS', sized(20, 1))
const CONNECTIONS = 128
/** What a second may cost, over what it costs with the fewest tenants in use. */
const MOST_OVER_FEWEST = 1.1
/** The most frequent ones are named. */
const SHOWN = 12

interface Second {
  readonly tenants: number
  readonly cpu: CpuMs
  readonly work: PostgresWork
  readonly statements: Probed['statements']
  readonly failed: number
}

async function measured(
  row: Row,
  gateway: BenchGateway,
  during: (work: () => Promise<number>) => Promise<{ result: number; probed: Probed }>,
): Promise<Omit<Second, 'tenants'>> {
  await paced(row, orderOf(WARM_UP_PER_SECOND, WARM_UP_SECONDS, 1))
  await gateway.settled()
  const ask = async (seed: number): Promise<number> => {
    const { statuses } = await paced(row, orderOf(PER_SECOND, SECONDS, seed))
    return Object.entries(statuses).reduce((sum, [is, n]) => sum + (is === '200' ? 0 : n), 0)
  }
  const workBefore = await gateway.postgres()
  const cpuBefore = await cpuMs(gateway.pid)
  const startMs = performance.now()
  const failed = await ask(2)
  const seconds = (performance.now() - startMs) / 1_000
  const spent = between(cpuBefore, await cpuMs(gateway.pid))
  const workAfter = await gateway.postgres()
  // Noting statements takes processor time, so it is a stretch apart.
  const { result, probed } = await during(() => ask(3))
  const work = Object.fromEntries(
    Object.entries(workAfter).map(([name, value]) => [
      name,
      (value - workBefore[name as keyof PostgresWork]) / seconds,
    ]),
  ) as unknown as PostgresWork
  return {
    cpu: Object.fromEntries(Object.entries(spent).map(([part, ms]) => [part, ms / seconds])),
    work,
    statements: probed.statements,
    failed: failed + result,
  }
}

function orderOf(perSecond: number, seconds: number, seed: number) {
  return { perSecond, seconds, warmUpSeconds: 0, connections: CONNECTIONS, seed }
}

function figuresOf(one: Second, fewest: Second): readonly Figure[] {
  const { tenants, cpu, work, statements, failed } = one
  const name = `${PER_SECOND} calls a second of ${tenants} tenants`
  const parts = Object.entries(cpu).map(([part, ms]) => `${part} ${ms.toFixed(0)}`)
  const asked = Object.entries(statements).toSorted(([, a], [, b]) => b.count - a.count)
  const aSecond = (count: number): number => count / SECONDS
  return [
    {
      name,
      value: total(cpu),
      unit: 'ms CPU a second',
      reach: total(fewest.cpu) * MOST_OVER_FEWEST,
      bound: 'most',
      note: `${parts.join(', ')}${failed > 0 ? `; ${failed} FAILED` : ''}`,
    },
    { name: `${name}, rows read`, value: work.rowsRead, unit: 'a second' },
    { name: `${name}, rows written`, value: work.rowsWritten, unit: 'a second' },
    { name: `${name}, log of Postgres`, value: work.walBytes / 1_000, unit: 'kB a second' },
    { name: `${name}, transactions`, value: work.commits, unit: 'a second' },
    {
      name: `${name}, statements of the gateway's process`,
      value: aSecond(asked.reduce((sum, [, { count }]) => sum + count, 0)),
      unit: 'a second',
      note: asked
        .slice(0, SHOWN)
        .map(([of, { count }]) => `${of} ${aSecond(count).toFixed(1)}`)
        .join(', '),
    },
  ]
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const probe = await createProbe(closers)
    const { row, gateway } = await startTollgate(closers, upstream.url, probe.env)
    const tokens = await gateway.tenants(Math.max(...IN_USE))
    tell(`tenants: ${tokens.length} were made`)
    const seen: Second[] = []
    for (const tenants of IN_USE) {
      const some = { ...row, tokens: tokens.slice(0, tenants) }
      const one = await measured(some, gateway, (work) => probe.during(gateway.pid, work))
      seen.push({ tenants, ...one })
      tell(`tenants, ${tenants} in use: ${total(one.cpu).toFixed(0)} ms/s`)
    }
    const [fewest] = seen
    return fewest === undefined ? [] : seen.flatMap((one) => figuresOf(one, fewest))
  })
