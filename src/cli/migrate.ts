import type { Command } from 'commander'
import { lackedByDatabase, migrateDatabase } from '../start/migration.ts'
import { show } from './output.ts'
import { withPostgres } from './session.ts'
import { JSON_OPTION } from './command.ts'

const MIGRATE_HELP = `
A process with the role projector does the same at its start. Processes of other roles, and commands, only compare:
until the tables are there, serve waits and is not ready, and a command exits with status 75.

Run it before a rollout, under the account that owns the tables. It needs Postgres alone and may run several times at
once. Read models whose version is new are built by the projector, while the old tables are read.`

/** Registers `tollgate migrate`. */
export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('create and change the tables in Postgres that this program needs')
    .option(...JSON_OPTION)
    .addHelpText('after', MIGRATE_HELP)
    .action((options: { readonly json?: boolean }) => migrateCommand(options))
}

/** `tollgate migrate`. */
function migrateCommand({ json }: { readonly json?: boolean }): Promise<void> {
  return withPostgres(async (pool) => {
    const lacked = await lackedByDatabase(pool)
    await migrateDatabase(pool)
    const outcome = lacked.length === 0 ? 'unchanged' : 'migrated'
    show({ outcome, applied: lacked }, json)
  })
}
