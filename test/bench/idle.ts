import { setTimeout as sleep } from 'node:timers/promises'
import { warmUp } from './chat-load.ts'
import type { Benchmark, Figure } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { between, cpuMs, total, type CpuMs } from './kit/cpu.ts'
import type { BenchGateway } from './kit/gateway.ts'
import { createProbe, type Probe } from './kit/probe.ts'
import { sized, sizeFrom, TENANTS } from './kit/sizes.ts'
import { startTollgate, startUpstream, type Row } from './kit/text-rows.ts'
import { isVacuuming } from './kit/vacuum.ts'

/**
 * What an installation costs without calls: processor time of every process, Postgres and its
 * autovacuum included, its transactions, and what the gateway asks of it and of the log. Fresh, and after many calls, whose rows autovacuum
 * cleans up meanwhile.
 */

const SETTLING_MS = sized(20_000, 2_000)
const FRESH_SLICES = sized(6, 1)
const LATER_SLICES = sized(30, 2)
const SLICE_MS = sizeFrom('BENCH_SECONDS', sized(10, 1)) * 1_000
const CALLS = sizeFrom('BENCH_CALLS', sized(150_000, 500))
const VACUUM_LOOK_MS = 500
/** The most frequent ones are named. */
const SHOWN = 6

/** A stretch of time without calls. */
interface Slice {
  /** Milliseconds of processor time a second, by process. */
  readonly cpu: CpuMs
  /** Transactions a second; the benchmark's own look is one of them. */
  readonly commits: number
  /** Whether autovacuum worked in it. */
  readonly vacuumed: boolean
}

async function slice(gateway: BenchGateway): Promise<Slice> {
  // A look connects to Postgres anew, which costs as much as a second without calls: it is not in the figure.
  const { commits, autovacuums } = await gateway.postgres()
  const before = await cpuMs(gateway.pid)
  const startMs = performance.now()
  let vacuumed = false
  while (performance.now() - startMs < SLICE_MS) {
    await sleep(VACUUM_LOOK_MS)
    vacuumed ||= await isVacuuming(gateway.pid)
  }
  const seconds = (performance.now() - startMs) / 1_000
  const spent = Object.entries(between(before, await cpuMs(gateway.pid)))
  const after = await gateway.postgres()
  return {
    cpu: Object.fromEntries(spent.map(([part, ms]) => [part, ms / seconds])),
    commits: (after.commits - commits) / seconds,
    // A small table is done between two looks.
    vacuumed: vacuumed || after.autovacuums > autovacuums,
  }
}

async function slices(gateway: BenchGateway, count: number): Promise<readonly Slice[]> {
  const seen: Slice[] = []
  for (let n = 0; n < count; n += 1) {
    const one = await slice(gateway)
    seen.push(one)
    tell(`idle: ${total(one.cpu).toFixed(1)} ms/s${one.vacuumed ? ', autovacuum' : ''}`)
  }
  return seen
}

/** The mean of some slices. */
function figureOf(name: string, seen: readonly Slice[], most: number): readonly Figure[] {
  if (seen.length === 0) return []
  const mean = (of: (one: Slice) => number): number =>
    seen.reduce((sum, one) => sum + of(one), 0) / seen.length
  const parts = Object.keys(seen[0]?.cpu ?? {}).map(
    (part) => `${part} ${mean(({ cpu }) => cpu[part] ?? 0).toFixed(1)}`,
  )
  return [
    {
      name: `idle, ${name}`,
      value: mean(({ cpu }) => total(cpu)),
      unit: 'ms CPU a second',
      reach: most,
      bound: 'most',
      note: `${parts.join(', ')}; ${seen.length} × ${SLICE_MS / 1_000} s`,
    },
    {
      name: `idle, ${name}, transactions of Postgres`,
      value: mean(({ commits }) => commits),
      unit: 'a second',
    },
  ]
}

/**
 * What the gateway's process asks meanwhile. Noting it takes processor time, so it is a stretch apart.
 */
async function asked(
  gateway: BenchGateway,
  probe: Probe,
  name: string,
): Promise<readonly Figure[]> {
  const startMs = performance.now()
  const { probed } = await probe.during(gateway.pid, () => sleep(SLICE_MS * FRESH_SLICES))
  const seconds = (performance.now() - startMs) / 1_000
  const figure = (what: string, counts: readonly (readonly [string, number])[]): Figure => ({
    name: `idle, ${name}, ${what}`,
    value: counts.reduce((sum, [, count]) => sum + count, 0) / seconds,
    unit: 'a second',
    note: counts
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, SHOWN)
      .map(([of, count]) => `${of} ${(count / seconds).toFixed(2)}`)
      .join(', '),
  })
  const statements = Object.entries(probed.statements)
  return [
    figure(
      "statements of the gateway's process",
      statements.map(([of, { count }]) => [of, count]),
    ),
    figure("requests of the gateway's process to the log", Object.entries(probed.logRequests)),
  ]
}

async function afterCalls(row: Row, gateway: BenchGateway): Promise<readonly Slice[]> {
  await warmUp([row], CALLS)
  await gateway.settled()
  await sleep(SETTLING_MS)
  return slices(gateway, LATER_SLICES)
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const probe = await createProbe(closers)
    const { row, gateway } = await startTollgate(closers, upstream.url, probe.env)
    await sleep(SETTLING_MS)
    const fresh = await slices(gateway, FRESH_SLICES)
    const askedFresh = await asked(gateway, probe, 'fresh')
    const tokens = await gateway.tenants(TENANTS)
    const later = await afterCalls({ ...row, tokens }, gateway)
    const after = `after ${CALLS} calls`
    const askedLater = await asked(gateway, probe, after)
    return [
      ...figureOf('fresh', fresh, 10),
      ...askedFresh,
      ...figureOf(
        `${after}, outside of autovacuum`,
        later.filter(({ vacuumed }) => !vacuumed),
        10,
      ),
      ...figureOf(`${after}, autovacuum included`, later, 20),
      ...askedLater,
    ]
  })
