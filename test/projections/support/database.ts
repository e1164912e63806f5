import type { Test } from 'tap'
import { Pool } from 'pg'
import { eventually } from '../../helpers/eventually.ts'
import { migrateEngine } from '../../../projections/engine/migrate.ts'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import {
  startProjections,
  type Engine,
  type EngineOptions,
} from '../../../projections/engine/engine.ts'
import type { Projection } from '../../../projections/engine/types.ts'
import { surviveLostConnections } from '../../../src/storage/postgres/pool.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { acquireDatabase, type AcquireOptions } from '../../helpers/postgres.ts'
import { ScriptedLog } from './memory-log.ts'

/** A database of the suite's own with the engine's tables; gone when the test ends. */
export async function testPool(t: Test, max = 12, options: AcquireOptions = {}): Promise<Pool> {
  const database = await acquireDatabase(options)
  const pool = new Pool({ connectionString: database.url, max, pipeline: true })
  // A killed connection must not end the test process.
  surviveLostConnections(pool, () => undefined)
  await migrateEngine(pool)
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  return pool
}

/** Starts an engine that stops with the test. */
export function startEngine(
  t: Test,
  options: Pick<EngineOptions, 'pool' | 'log' | 'projections'> & Partial<EngineOptions>,
): Engine {
  const engine = startProjections({ clock: systemClock, logger: silentLog, ...options })
  t.teardown(engine.stop)
  return engine
}

/** Waits until projections have considered everything the log has. */
export async function caughtUp(
  pool: Pool,
  log: ScriptedLog,
  projections: readonly Pick<Projection, 'name'>[],
): Promise<void> {
  const end = log.events.at(-1)?.position ?? -1n
  for (const { name } of projections)
    await eventually(`${name} reaches ${end}`, async () => {
      const checkpoint = await readCheckpoint(pool, name).catch(() => undefined)
      return checkpoint !== undefined && checkpoint.position >= end
    })
}

/** The digest of a projection's live tables. */
export async function digestOf(pool: Pool, projection: Projection, schema = projection.name) {
  const client = await pool.connect()
  try {
    await client.query(`set search_path to "${schema}"`)
    await client.query(`set timezone to 'UTC'`)
    return await projection.digest(client)
  } finally {
    await client.query('reset all')
    client.release()
  }
}

/** Applies events to some projections and stops. */
export async function applied(
  t: Test,
  pool: Pool,
  events: readonly RecordedEvent[],
  projections: readonly Projection[],
  maxEvents = 100,
): Promise<void> {
  const log = new ScriptedLog(events)
  const engine = startEngine(t, { pool, log, projections, limits: { maxEvents, maxBytes: 1e6 } })
  await caughtUp(pool, log, projections)
  await eventually('the indexes exist', async () => {
    const { rowCount } = await pool.query('select from engine.checkpoints where not indexed')
    return rowCount === 0
  })
  await engine.stop()
}

/** Damages the ledger so that it cannot apply an event: rows stand where those of the event belong. */
export async function occupyEntries(
  pool: Pool,
  { position }: { readonly position: bigint },
): Promise<void> {
  await pool.query(
    `insert into ledger.entries
     select $1, n, 'settled', 'call_damage', 'tenant_x', 'USD', 'a', 'b', 1 from generate_series(0, 3) n`,
    [position],
  )
}
