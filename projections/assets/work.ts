import type { AssetGroupType } from '../../src/domain/asset/events.ts'
import type { Queryable } from '../engine/queryable.ts'

/** Background work for an asset, a group or a verification until it is complete. */
export type AssetWorkKind =
  /** The outcome of the creation upstream is unknown. */
  | 'find-asset'
  | 'find-group'
  /** Upstream works on it. */
  | 'look'
  /** Upstream has not deleted it yet. */
  | 'delete-asset'
  | 'delete-group'

/** Work that is due. */
export interface DueAssetWork {
  readonly kind: AssetWorkKind
  readonly id: string
  readonly tenantId: string
  readonly groupType: AssetGroupType
  readonly projectName: string
  readonly nativeId: string | null
  readonly createdAtMs: number
  /** Whether it has a row in the schedule of its account. */
  readonly isEnqueued: boolean
}

/** The work, leased to the caller. */
export interface AssetWork extends Omit<DueAssetWork, 'isEnqueued'> {
  /** Number of leases since the schedule began or was restarted, including this one. */
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
  readonly is_enqueued: boolean
}

const OPEN_ASSETS = `('created', 'processing', 'withdrawn')`
const OPEN_GROUPS = `('created', 'withdrawn')`

/** Finds the accounts, among these, that have work, due or not. */
export async function channelsWithWork(
  db: Queryable,
  channelIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ id: string }>({
    name: 'assets.work.channels',
    text: `select id from unnest($1::text[]) as asked (id)
           where exists (
                   select from assets.assets where channel_id = id and state in ${OPEN_ASSETS})
              or exists (
                   select from assets.groups where channel_id = id and state in ${OPEN_GROUPS})`,
    values: [channelIds],
  })
  return new Set(rows.map(({ id }) => id))
}

/** Leases up to `limit` due items of one account, the longest due first. */
export async function dueAssetWork(
  db: Queryable,
  {
    channelId,
    nowMs,
    limit,
    askedBeforeMs,
  }: {
    readonly channelId: string
    readonly nowMs: number
    readonly limit: number
    /** The caller's own request is still working on anything created or withdrawn later. */
    readonly askedBeforeMs: number
  },
): Promise<readonly DueAssetWork[]> {
  // The statement has no name, so that it is planned for the current sizes of the tables, which
  // vary widely.
  const { rows } = await db.query<WorkRecord>({
    text: `with work as (
             select case state when 'created' then 'find-asset' when 'processing' then 'look'
                               else 'delete-asset' end as kind,
                    asset_id as id, tenant_id, group_type, project_name, native_id, created_at,
                    case state when 'created' then created_at when 'withdrawn' then updated_at end
                      as asked_at
             from assets.assets a
             where channel_id = $1 and state in ${OPEN_ASSETS}
               -- With its group it goes by itself.
               and not (state = 'withdrawn' and exists (
                 select from assets.groups g where g.group_id = a.group_id and g.state = 'withdrawn'))
             union all
             select case state when 'created' then 'find-group' else 'delete-group' end,
                    group_id, tenant_id, group_type, project_name, native_id, created_at,
                    case state when 'created' then created_at else updated_at end
             from assets.groups
             where channel_id = $1 and state in ${OPEN_GROUPS})
           select work.kind, work.id, work.tenant_id, work.group_type, work.project_name,
                  work.native_id, work.created_at,
                  w.channel_id is not distinct from $1 as is_enqueued
           from work left join ops.asset_work w using (id)
           where coalesce(w.due_at_ms, 0) <= $2
             and (asked_at is null or asked_at <= to_timestamp($4::float8 / 1000))
           order by coalesce(w.due_at_ms, 0) limit $3`,
    values: [channelId, Math.round(nowMs), limit, askedBeforeMs],
  })
  return rows.map((row) => ({
    kind: row.kind,
    id: row.id,
    tenantId: row.tenant_id,
    groupType: row.group_type,
    projectName: row.project_name,
    nativeId: row.native_id,
    createdAtMs: row.created_at.getTime(),
    isEnqueued: row.is_enqueued,
  }))
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

/**
 * Assets of a group that are not deleted, refused ones too: upstream may have one without our
 * knowing its id.
 */
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
