import { setImmediate } from 'node:timers/promises'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { WorkTable } from './tables.ts'

/** Whether a lane may have work that is due at a time. @throws errors of Postgres */
export type LaneLook = (lane: string, nowMs: number) => Promise<boolean>

/**
 * Looks for due work of many lanes. Those that ask in one turn of the event loop, as idle lanes do,
 * share one statement; it is planned once, because to lease, Postgres plans each time.
 *
 * @param find finds the lanes that may have work, among these with their times
 */
export function createLaneLook(
  find: (asked: ReadonlyMap<string, number>) => Promise<ReadonlySet<string>>,
): LaneLook {
  let next:
    | { readonly asked: Map<string, number>; readonly found: Promise<ReadonlySet<string>> }
    | undefined
  const open = () => {
    const asked = new Map<string, number>()
    const found = setImmediate().then(() => {
      next = undefined
      return find(asked)
    })
    return { asked, found }
  }
  return async (lane, nowMs) => {
    const { asked, found } = (next ??= open())
    asked.set(lane, Math.max(nowMs, asked.get(lane) ?? nowMs))
    return (await found).has(lane)
  }
}

/** Finds the lanes of a table with a job that is due at their time. */
export async function lanesWithDue(
  db: Queryable,
  { name, lane }: WorkTable,
  asked: ReadonlyMap<string, number>,
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ lane: string }>({
    name: `${name}.due`,
    text: `select lane from unnest($1::text[], $2::bigint[]) as asked (lane, now_ms)
           where exists (
             select from ${name} p where p.${lane} = asked.lane and p.due_at_ms <= asked.now_ms)`,
    values: [[...asked.keys()], [...asked.values()].map(Math.round)],
  })
  return new Set(rows.map((row) => row.lane))
}
