import type { Queryable } from '../engine/queryable.ts'
import { assetStatuses, statesOf, statesSql } from './state.ts'
import { shownSql } from './tables.ts'

/** A row of the counts of a tenant's lists that does not follow from its assets and groups. */
export interface CountedAssets {
  /** Key of the count, in words. */
  readonly key: string
  /** Value by the rows, and stored value. */
  readonly counted: string
  readonly stands: string
  /**
   * Position of the last change of the counted rows, which is the lowest possible position of the
   * count; and its stored position.
   */
  readonly changed: string
  readonly position: string
}

const status = assetStatuses
  .map((each) => `when state in (${statesSql(statesOf[each])}) then '${each}'`)
  .join(' ')
const listed = `tenant_id, group_type, case when group_type = 'LivenessFace' then user_id else '' end`
const identity = 'tenant_id, group_type, user_id, kind, group_id, region, project_name, status'

/**
 * Finds counts of a tenant's lists that do not match its assets and groups. The position of a count
 * is between the last change of the counted rows and the position of the read model; its exact
 * value depends on the batches.
 */
export async function differingAssetCounts(
  db: Queryable,
  tenantId: string,
  upTo: bigint,
  limit: number,
): Promise<readonly CountedAssets[]> {
  const { rows } = await db.query<CountedAssets>(
    `with counted (${identity}, n, changed) as (
       select ${listed}, 'asset', of_group, region, project_name, case ${status} end, count(*), max(position)
       from assets.assets cross join lateral (values (''), (group_id)) as g (of_group)
       where tenant_id = $1 and ${shownSql.assets}
       group by 1, 2, 3, 5, 6, 7, 8
       union all
       select ${listed}, 'group', '', region, project_name, '', count(*), max(position)
       from assets.groups where tenant_id = $1 and ${shownSql.groups}
       group by 1, 2, 3, 6, 7),
     stored as (select * from assets.counts where tenant_id = $1)
     select concat_ws(' ', ${identity}) as key, coalesce(c.n, 0)::text as counted,
            coalesce(s.n, 0)::text as stands, coalesce(c.changed, 0)::text as changed,
            coalesce(s.position, 0)::text as position
     from counted c full join stored s using (${identity})
     where coalesce(c.n, 0) <> coalesce(s.n, 0)
        or s.position not between coalesce(c.changed, 0) and $2
     order by key limit $3`,
    [tenantId, upTo, limit],
  )
  return rows
}
