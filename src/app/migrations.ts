import type { Pool } from 'pg'
import { balanceAlertMigrations } from './accounts/alerts/webhooks.ts'
import { lastUseMigrations } from './accounts/last-uses.ts'
import { assetMigrations } from './assets/watch/asset-work.ts'
import { callClaimMigrations } from './calls/claims/statements.ts'
import { statementMigrations } from './finance/statements/tiles.ts'
import { lastAuditMigrations } from './audit/last-audit.ts'
import { migrate, type Migrations } from '../storage/postgres/migrate.ts'
import { consoleSessionMigrations } from './access/console-sessions.ts'
import { installationMigrations } from './access/installation.ts'
import { secretMigrations } from './access/secret-agreement.ts'
import { spendingMigrations, throttleMigrations } from './spending/migrations.ts'
import { taskMigrations } from './tasks/result-urls.ts'
import { workerMigrations } from './queue/presence.ts'
import { refusalMigrations } from './support/refusals.ts'
import { uploadDayMigrations } from './files/uploads/day-count.ts'
import { uploadMigrations } from './files/uploads/quota.ts'

/** Every owner of tables in the schema `ops`. */
export const allMigrations: readonly Migrations[] = [
  secretMigrations,
  installationMigrations,
  spendingMigrations,
  throttleMigrations,
  taskMigrations,
  workerMigrations,
  lastAuditMigrations,
  assetMigrations,
  callClaimMigrations,
  lastUseMigrations,
  balanceAlertMigrations,
  uploadMigrations,
  uploadDayMigrations,
  refusalMigrations,
  consoleSessionMigrations,
  statementMigrations,
]

/** Creates and changes the application's tables in Postgres; safe to run by any number of processes at once. */
export function migrateOps(pool: Pool): Promise<void> {
  return migrate(pool, allMigrations)
}
