import {
  type AssetWork,
  channelsWithWork,
  type DueAssetWork,
  dueAssetWork,
} from '../../../../projections/assets/query.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import type { LeaseQuery } from '../../queue/leases.ts'
import { createLaneLook, type LaneLook } from '../../queue/lane-look.ts'
import { createKnownEmpty, type SeenModels } from '../../queue/seen-models.ts'
import { leaseRows, type LeaseTerms, type WorkTable } from '../../queue/tables.ts'
import { monotonicClock } from '../../../kernel/clock.ts'
import type { Migrations } from '../../../storage/postgres/migrate.ts'

/**
 * The workers' queue of the library. The work itself is in the read model; a row here, which the
 * first lease creates, only has its due time and its lease. Each account is a lane.
 */
export const assetWork: WorkTable<never> = {
  name: 'ops.asset_work',
  id: 'id',
  lane: 'channel_id',
  notes: {},
}

export interface AssetQuery extends LeaseQuery {
  /** Younger objects are left to the caller's request, which is still at work on them. */
  readonly askedBeforeMs: number
}

/** Looks for accounts with work, for all rounds of a process. Without `models` it asks each time. */
export function createAssetLook(db: Queryable, models?: SeenModels): LaneLook {
  const empty = models && createKnownEmpty(models, 'assets', monotonicClock)
  const hasWork = createLaneLook(async (lanes) => {
    const noteEmpty = empty?.asking()
    const withWork = await channelsWithWork(db, lanes)
    for (const lane of lanes) noteEmpty?.(lane, !withWork.has(lane))
    // The statement that leases decides what is due.
    return new Map([...withWork].map((lane) => [lane, Number.NEGATIVE_INFINITY]))
  })
  return async (lane, nowMs) => empty?.has(lane) !== true && hasWork(lane, nowMs)
}

/** Leases due work at one account, the longest due first. */
export async function leaseAssetWork(
  db: Queryable,
  { lane, ...lease }: AssetQuery & LeaseTerms & { readonly lane: string },
): Promise<readonly AssetWork[]> {
  const { nowMs, limit, askedBeforeMs } = lease
  const found = await dueAssetWork(db, { channelId: lane, nowMs, limit, askedBeforeMs })
  if (found.length === 0) return []
  await enqueue(
    db,
    { lane, nowMs },
    found.filter(({ isEnqueued }) => !isEnqueued),
  )
  const due = {
    text: `select id from ops.asset_work where id = any($5::text[]) and due_at_ms <= $2
           order by due_at_ms limit $4
           for update skip locked`,
    values: [found.map(({ id }) => id)],
  }
  const columns = 'p.id, p.attempts'
  const leased = await leaseRows<Pick<AssetWork, 'id' | 'attempts'>>(
    db,
    assetWork,
    lease,
    due,
    columns,
  )
  const attemptsOf = new Map(leased.map(({ id, attempts }) => [id, attempts]))
  return found.flatMap((work) => {
    const attempts = attemptsOf.get(work.id)
    return attempts === undefined ? [] : [{ ...work, attempts }]
  })
}

/** Adds a row for each object without a row in this lane. */
async function enqueue(
  db: Queryable,
  { lane, nowMs }: { readonly lane: string; readonly nowMs: number },
  works: readonly DueAssetWork[],
): Promise<void> {
  if (works.length === 0) return
  await db.query({
    // An existing row comes from a release without lanes.
    text: `insert into ops.asset_work as w (id, channel_id, due_at_ms, attempts)
           select id, $2, $3::bigint, 0 from unnest($1::text[]) as new (id) order by id
           on conflict (id) do update set channel_id = excluded.channel_id`,
    values: [works.map(({ id }) => id), lane, Math.round(nowMs)],
  })
}

/** Whether the queue has rows; without any there is nothing to tidy in it. */
export async function hasAssetWork(db: Queryable): Promise<boolean> {
  const { rows } = await db.query({
    name: 'assets.work.any',
    text: 'select from ops.asset_work limit 1',
  })
  return rows.length > 0
}

/** Deletes rows that have not been due for long: their work has ended, or will start again. */
export async function forgetAssetWork(db: Queryable, beforeMs: number): Promise<void> {
  await db.query({
    name: 'assets.work.forget',
    text: 'delete from ops.asset_work where due_at_ms < $1',
    values: [Math.round(beforeMs)],
  })
}

export const assetMigrations: Migrations = {
  owner: 'assets',
  steps: [
    // When each object of the library is worked on next; its kind is in the read model.
    `
create table ops.asset_work (
  id text primary key,
  due_at_ms bigint not null,
  attempts integer not null
);
`,
    // Owner and account of the lease. A release that knows neither leaves both out.
    `
alter table ops.asset_work add column channel_id text not null default '', add column lease_owner text;
`,
  ],
}
