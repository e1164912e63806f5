import { allProjections } from '../../projections/registry.ts'
import { requireBelonging } from '../app/access/installation.ts'
import { migrateOps } from '../app/migrations.ts'
import { systemClock } from '../kernel/clock.ts'
import { actorOf } from './actor.ts'
import { show } from './output.ts'
import type { Session } from './session.ts'

/** `tollgate database adopt`. */
export async function adoptDatabaseCommand(
  { pool, log }: Session,
  options: { readonly actor?: string; readonly json?: boolean },
): Promise<void> {
  await migrateOps(pool)
  const actor = actorOf(options.actor)
  const stores = { pool, log, projections: allProjections, clock: systemClock }
  const { databaseId, adoptedAt } = await requireBelonging(stores, { adopts: true, actor })
  show({ databaseId, adoptedAt }, options.json)
}
