import type { Command } from 'commander'
import { changing, ON_ANY_STORES, onStores } from '../command.ts'

const ADOPT_HELP = `
A log has one database: in two, balances and limits would be decided twice. The log names it, and a replica with
another one ends with status 78. Run this once a new database has taken the place of one that is lost, with all
replicas stopped: one that still runs on the other database sells nothing from then on.

The log must hold what was applied to the database. Of an older log, whose later events are lost for good, build
the read models first: tollgate rebuild <names...> --force`

/** Registers `tollgate database …`. */
export function addDatabase(program: Command): void {
  changing(
    program
      .command('database')
      .description('the database that belongs to the log')
      .command('adopt'),
  )
    .description('make the Postgres that is set here the database of the log')
    .addHelpText('after', ADOPT_HELP)
    .action(
      onStores(async () => (await import('../database.ts')).adoptDatabaseCommand, ON_ANY_STORES),
    )
}
