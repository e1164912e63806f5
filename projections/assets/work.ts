import type { AssetGroupType } from '../../src/domain/asset/events.ts'
import type { Queryable } from '../engine/queryable.ts'

/** What a worker does for a thing of the library until nothing is left to do. */
export type AssetWorkKind =
  /** Nobody knows whether upstream has it. */
  | 'find-asset'
  | 'find-group'
  /** Upstream works on it. */
  | 'look'
  /** Upstream is yet to let go of it. */
  | 'delete-asset'
  | 'delete-group'

/** Work that is due, leased to the caller. */
export interface AssetWork {
  readonly kind: AssetWorkKind
  readonly id: string
  readonly tenantId: string
  readonly groupType: AssetGroupType
  readonly projectName: string
  readonly nativeId: string | null
  readonly createdAtMs: number
  /** How often it was leased since the schedule began or was begun anew, this time counted. */
  readonly attempts: number
}

interface WorkRecord {
  readonly kind: AssetWorkKind
  readonly id: string
  readonly tenant_id: string
  readonly group_type: AssetGroupType
  readonly project_name: string
  readonly native_id: string | null
  readonly created_at: Date
  readonly attempts: number
}

/**
 * Leases what is due at one account, the longest due first. A lease is a time before which it is not due
 * again: what its owner does not finish, somebody else takes then.
 */
export async function leaseAssetWork(
  db: Queryable,
  lease: {
    readonly channelId: string
    readonly nowMs: number
    readonly leaseMs: number
    readonly limit: number
    /** What was created or withdrawn later is still being asked for by whoever did it. */
    readonly askedBeforeMs: number
  },
): Promise<readonly AssetWork[]> {
  // Without a name: planned for the tables as they are, which grow and shrink by their whole size.
  const { rows } = await db.query<WorkRecord>({
    text: `with work as (
             select case state when 'created' then 'find-asset' when 'processing' then 'look'
                               else 'delete-asset' end as kind,
                    asset_id as id, tenant_id, group_type, project_name, native_id, created_at,
                    case state when 'created' then created_at when 'withdrawn' then updated_at end
                      as asked_at
             from assets.assets a
             where channel_id = $1 and state in ('created', 'processing', 'withdrawn')
               -- With its group it goes by itself.
               and not (state = 'withdrawn' and exists (
                 select from assets.groups g where g.group_id = a.group_id and g.state = 'withdrawn'))
             union all
             select case state when 'created' then 'find-group' else 'delete-group' end,
                    group_id, tenant_id, group_type, project_name, native_id, created_at,
                    case state when 'created' then created_at else updated_at end
             from assets.groups
             where channel_id = $1 and state in ('created', 'withdrawn')),
           due as (
             select work.* from work left join ops.asset_work w using (id)
             where coalesce(w.due_at_ms, 0) <= $2
               and (asked_at is null or asked_at <= to_timestamp($5::float8 / 1000))
             order by coalesce(w.due_at_ms, 0) limit $4),
           leased as (
             insert into ops.asset_work as w (id, due_at_ms, attempts)
             select id, $2::bigint + $3::bigint, 1 from due order by id
             on conflict (id) do update
             set due_at_ms = excluded.due_at_ms, attempts = w.attempts + 1
             where w.due_at_ms <= $2
             returning id, attempts)
           select due.kind, due.id, due.tenant_id, due.group_type, due.project_name, due.native_id,
                  due.created_at, leased.attempts
           from due join leased using (id)`,
    values: [lease.channelId, lease.nowMs, lease.leaseMs, lease.limit, lease.askedBeforeMs],
  })
  return rows.map((row) => ({
    kind: row.kind,
    id: row.id,
    tenantId: row.tenant_id,
    groupType: row.group_type,
    projectName: row.project_name,
    nativeId: row.native_id,
    createdAtMs: row.created_at.getTime(),
    attempts: row.attempts,
  }))
}

/** Says when work is due next; what has none left is simply not leased again. */
export async function rescheduleAssetWork(
  db: Queryable,
  items: readonly {
    readonly id: string
    readonly dueAtMs: number
    readonly attempts: number
  }[],
): Promise<void> {
  if (items.length === 0) return
  await db.query({
    text: `update ops.asset_work w set due_at_ms = i.due_at_ms, attempts = i.attempts
           from unnest($1::text[], $2::bigint[], $3::int[]) as i (id, due_at_ms, attempts)
           where w.id = i.id`,
    values: [
      items.map(({ id }) => id),
      items.map(({ dueAtMs }) => Math.round(dueAtMs)),
      items.map(({ attempts }) => attempts),
    ],
  })
}

/** Forgets the schedule of what has not been due for long: it has ended, or begins anew. */
export async function forgetAssetWork(db: Queryable, beforeMs: number): Promise<void> {
  await db.query({
    name: 'assets.work.forget',
    text: 'delete from ops.asset_work where due_at_ms < $1',
    values: [Math.round(beforeMs)],
  })
}

/** Makes due now what is due further ahead than anything is put off: by a clock that was set back since. */
export async function recallAssetWork(
  db: Queryable,
  nowMs: number,
  farthestMs: number,
): Promise<void> {
  await db.query({
    name: 'assets.work.recall',
    text: 'update ops.asset_work set due_at_ms = $1 where due_at_ms > $2',
    values: [Math.round(nowMs), Math.round(nowMs + farthestMs)],
  })
}

/**
 * Verifications whose time is over, and those that were confirmed in a time and whose group is still missing, at most
 * so many.
 */
export async function openVerifications(
  db: Queryable,
  {
    expiredAtMs,
    confirmedFromMs,
    confirmedBeforeMs,
    limit,
  }: {
    readonly expiredAtMs: number
    readonly confirmedFromMs: number
    readonly confirmedBeforeMs: number
    readonly limit: number
  },
): Promise<readonly { readonly verificationId: string; readonly tenantId: string }[]> {
  const { rows } = await db.query<{ verification_id: string; tenant_id: string }>({
    name: 'assets.verifications.open',
    text: `(select verification_id, tenant_id from assets.verifications
            where state = 'started' and expires_at <= to_timestamp($1::float8 / 1000)
            order by expires_at limit $3)
           union all
           (select v.verification_id, v.tenant_id
            from assets.verifications v left join assets.groups g using (group_id)
            where v.state = 'confirmed' and g.group_id is null
              and v.updated_at between to_timestamp($4::float8 / 1000) and to_timestamp($2::float8 / 1000)
            limit $3)`,
    values: [expiredAtMs, confirmedBeforeMs, limit, confirmedFromMs],
  })
  return rows.map((row) => ({ verificationId: row.verification_id, tenantId: row.tenant_id }))
}

/** Assets of a group that are not deleted, refused ones too: upstream may have one that nobody knows of. */
export async function assetsOfGroup(db: Queryable, groupId: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ asset_id: string }>({
    name: 'assets.of-group',
    text: `select asset_id from assets.assets
           where group_id = $1 and state <> 'deleted'
           order by asset_id`,
    values: [groupId],
  })
  return rows.map(({ asset_id: id }) => id)
}
