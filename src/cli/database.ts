import type { Command } from 'commander'
import { allProjections } from '../../projections/registry.ts'
import { requireBelonging } from '../app/access/installation.ts'
import { systemClock } from '../kernel/clock.ts'
import { actorOf } from './actor.ts'
import { show } from './output.ts'
import type { Session } from './session.ts'
import { changing, ON_ANY_STORES, onStores } from './command.ts'

const ADOPT_HELP = `
A log belongs to one database: two would decide about its balances and limits independently. The log records which
database that is, and a replica on another one exits with status 78. Run this command after a new database has
replaced a lost one, with all replicas stopped: a replica that still runs on the other database sells nothing more.

The log must have every event that was applied to the database. If an older log was restored, whose later events are
lost, rebuild the read models first: tollgate rebuild <names...> --force`

/** Registers `tollgate database …`. */
export function addDatabase(program: Command): void {
  changing(
    program
      .command('database')
      .description('the database that belongs to the log')
      .command('adopt'),
  )
    .description('make the configured Postgres the database of the log')
    .addHelpText('after', ADOPT_HELP)
    // The first command on a new database: it has no tables yet.
    .action(onStores(adoptDatabaseCommand, { ...ON_ANY_STORES, migrates: true }))
}

/** `tollgate database adopt`. */
async function adoptDatabaseCommand(
  { pool, log }: Session,
  options: { readonly actor?: string; readonly json?: boolean },
): Promise<void> {
  const actor = actorOf(options.actor)
  const stores = { pool, log, projections: allProjections, clock: systemClock }
  const { databaseId, adoptedAt } = await requireBelonging(stores, { adopts: true, actor })
  show({ databaseId, adoptedAt }, options.json)
}
