import { setTimeout as sleep } from 'node:timers/promises'
import type { Benchmark, Figure } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import type { BenchGateway } from './kit/gateway.ts'
import { paced } from './kit/paced.ts'
import { sized, sizeFrom, TENANTS } from './kit/sizes.ts'
import { startTollgate, startUpstream, tryOut, type Row } from './kit/text-rows.ts'

/**
 * What a chat call writes to Postgres at a rate: rows, by table, and bytes of the log of changes. These are
 * counts, so what else the machine does changes them little.
 */

const SECONDS = sizeFrom('BENCH_SECONDS', sized(20, 2))
const CONNECTIONS = 512
const PACES: readonly number[] = sized([50, 200, 400], [50])
/** Backends report what they have written at the latest so long after they have become idle. */
const REPORTED_MS = sized(11_000, 11_000)
/** As many tables as the note has. */
const SHOWN = 12

interface Written {
  readonly rows: number
  readonly walBytes: number
  readonly byTable: ReadonlyMap<string, number>
}

async function written(gateway: BenchGateway): Promise<Written> {
  await gateway.settled()
  await sleep(REPORTED_MS)
  const { rowsWritten: rows, walBytes } = await gateway.postgres()
  return { rows, walBytes, byTable: await gateway.rowsByTable() }
}

async function at(
  row: Row,
  gateway: BenchGateway,
  perSecond: number,
  seconds: number,
): Promise<readonly Figure[]> {
  const before = await written(gateway)
  const order = { perSecond, seconds, warmUpSeconds: 0, connections: CONNECTIONS, seed: perSecond }
  const { micros } = await paced(row, order)
  const calls = micros.length
  const after = await written(gateway)
  const name = `at ${perSecond}/s of ${TENANTS} tenants`
  tell(`rows, ${name}: ${calls} calls`)
  const tables = [...after.byTable]
    .map(([table, rows]) => ({ table, perCall: (rows - (before.byTable.get(table) ?? 0)) / calls }))
    .sort((one, other) => other.perCall - one.perCall)
    .slice(0, SHOWN)
    .map(({ table, perCall }) => `${table} ${perCall.toFixed(2)}`)
  return [
    {
      name: `rows a call ${name}`,
      value: (after.rows - before.rows) / calls,
      unit: 'rows',
      reach: 7,
      bound: 'most',
      note: tables.join(', '),
    },
    {
      name: `Postgres's log a call ${name}`,
      value: (after.walBytes - before.walBytes) / calls / 1_000,
      unit: 'kB',
      reach: 4.5,
      bound: 'most',
      note: `${calls} calls`,
    },
  ]
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const { row, gateway } = await startTollgate(closers, upstream.url)
    await tryOut(row)
    const tokens = await gateway.tenants(TENANTS)
    const asked = { ...row, tokens }
    // Before it, each tenant's first call makes rows that later ones change.
    await paced(asked, {
      perSecond: 200,
      seconds: sized(5, 1),
      warmUpSeconds: 0,
      connections: CONNECTIONS,
    })
    const figures: Figure[] = []
    for (const perSecond of PACES) figures.push(...(await at(asked, gateway, perSecond, SECONDS)))
    return figures
  })
