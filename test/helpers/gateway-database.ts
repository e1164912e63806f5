import { Pool } from 'pg'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { allProjections } from '../../projections/registry.ts'
import { migrateOps } from '../../src/app/migrations.ts'
import { acquireDatabase, type TestDatabase } from './postgres.ts'

/** A database as a gateway finds it at every start but its first: the migrations ran once for all. */
export function acquireGatewayDatabase(): Promise<TestDatabase> {
  return acquireDatabase({
    templateKey: 'gateway',
    migrate: async (url) => {
      const pool = new Pool({ connectionString: url })
      try {
        await migrateEngine(pool, allProjections)
        await migrateOps(pool)
      } finally {
        await pool.end()
      }
    },
  })
}
