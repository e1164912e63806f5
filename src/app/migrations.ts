import type { Pool } from 'pg'
import { balanceAlertMigrations } from './accounts/alerts/migrations.ts'
import { lastUseMigrations } from './accounts/last-uses/migrations.ts'
import { assetMigrations } from './assets/migrations.ts'
import { callClaimMigrations } from './calls/claims/migrations.ts'
import { lastAuditMigrations } from './audit/last/migrations.ts'
import { migrate, type Migrations } from '../storage/postgres/migrate.ts'
import { secretMigrations } from './access/secret/migrations.ts'
import { spendingMigrations } from './spending/migrations.ts'
import { taskMigrations } from './tasks/migrations.ts'
import { watchMigrations } from './tasks/watch/migrations.ts'
import { uploadMigrations } from './files/uploads/migrations.ts'
import { throttleMigrations } from './spending/throttle/migrations.ts'

/** Every owner of tables in the schema `ops`. */
export const allMigrations: readonly Migrations[] = [
  secretMigrations,
  spendingMigrations,
  throttleMigrations,
  taskMigrations,
  watchMigrations,
  lastAuditMigrations,
  assetMigrations,
  callClaimMigrations,
  lastUseMigrations,
  balanceAlertMigrations,
  uploadMigrations,
]

/** Creates and changes what the application keeps in Postgres; safe on every start of every replica. */
export function migrateOps(pool: Pool): Promise<void> {
  return migrate(pool, allMigrations)
}
