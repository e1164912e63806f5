import type { Pool } from 'pg'
import { lackedTables, migrateEngine } from '../../projections/engine/migrate.ts'
import { allProjections } from '../../projections/registry.ts'
import { allMigrations, migrateOps } from '../app/migrations.ts'
import { lackedMigrations } from '../storage/postgres/migrate.ts'

/** The tables that a program needs: one process creates and changes them, the others compare. */

/** The database lacks tables that this program needs; another process may create them. */
export class NotMigratedError extends Error {
  override readonly name = 'NotMigratedError'

  constructor(lacks: readonly string[]) {
    super(
      `the database is not migrated for this program, it lacks ${lacks.join(', ')}: run "tollgate migrate", or start a ` +
        'process with the role projector',
    )
  }
}

/** Names each migration and each read model whose tables the database lacks; reads only. */
export async function lackedByDatabase(pool: Pool): Promise<readonly string[]> {
  return [
    ...(await lackedTables(pool, allProjections)).map((name) => `read model ${name}`),
    ...(await lackedMigrations(pool, allMigrations)).map((name) => `migration ${name}`),
  ]
}

/** @throws NotMigratedError */
export async function requireMigrated(pool: Pool): Promise<void> {
  const lacks = await lackedByDatabase(pool)
  if (lacks.length > 0) throw new NotMigratedError(lacks)
}

/**
 * Creates and changes every table that the program needs. Only a process that updates read models,
 * and a command for it, do so: others run under accounts that may not.
 */
export async function migrateDatabase(pool: Pool): Promise<void> {
  await migrateEngine(pool, allProjections)
  await migrateOps(pool)
}
