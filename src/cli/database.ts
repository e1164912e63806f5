import type { Command } from 'commander'
import { allProjections } from '../../projections/registry.ts'
import { requireBelonging } from '../app/access/installation.ts'
import { migrateOps } from '../app/migrations.ts'
import { systemClock } from '../kernel/clock.ts'
import { actorOf } from './actor.ts'
import { show } from './output.ts'
import type { Session } from './session.ts'
import { changing, ON_ANY_STORES, onStores } from './command.ts'

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
    .action(onStores(adoptDatabaseCommand, ON_ANY_STORES))
}

/** `tollgate database adopt`. */
async function adoptDatabaseCommand(
  { pool, log }: Session,
  options: { readonly actor?: string; readonly json?: boolean },
): Promise<void> {
  await migrateOps(pool)
  const actor = actorOf(options.actor)
  const stores = { pool, log, projections: allProjections, clock: systemClock }
  const { databaseId, adoptedAt } = await requireBelonging(stores, { adopts: true, actor })
  show({ databaseId, adoptedAt }, options.json)
}
