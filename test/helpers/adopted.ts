import { Pool } from 'pg'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { allProjections } from '../../projections/registry.ts'
import { requireBelonging } from '../../src/app/access/installation.ts'
import { migrateOps } from '../../src/app/migrations.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import { systemClock } from '../../src/kernel/clock.ts'

/** Has a log adopt its database, as a first start does, before a test writes to the log by itself. */
export async function adoptDatabase(databaseUrl: string, log: EventLog): Promise<void> {
  const pool = new Pool({ connectionString: databaseUrl, max: 2 })
  try {
    await migrateEngine(pool, allProjections)
    await migrateOps(pool)
    const stores = { pool, log, projections: allProjections, clock: systemClock }
    await requireBelonging(stores, { adopts: true, actor: 'tests' })
  } finally {
    await pool.end()
  }
}
