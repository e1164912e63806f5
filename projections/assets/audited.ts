import type { Queryable } from '../engine/queryable.ts'
import type { StandingTable } from '../engine/standing.ts'
import { assetStatuses, statesOf, statesSql } from './state.ts'
import { shownSql } from './tables.ts'

const askedBy = {
  tenant_id: 'text',
  user_id: 'text',
  token_id: 'text',
  request_id: 'text',
} as const

const keptAt = { region: 'text', project_name: 'text', channel_id: 'text' } as const

/** What of assets, groups and verifications an auditor compares with the log: all of it. */
export const assetTables = {
  assets: {
    name: 'assets.assets',
    columns: {
      asset_id: 'text',
      ...askedBy,
      group_id: 'text',
      group_type: 'text',
      ...keptAt,
      asset_type: 'text',
      name: 'text',
      native_id: 'text',
      state: 'text',
      error_code: 'text',
      error_message: 'text',
      created_at: 'time',
      updated_at: 'time',
      position: 'text',
    },
  },
  groups: {
    name: 'assets.groups',
    columns: {
      group_id: 'text',
      ...askedBy,
      group_type: 'text',
      ...keptAt,
      name: 'text',
      description: 'text',
      native_id: 'text',
      verification_id: 'text',
      state: 'text',
      created_at: 'time',
      updated_at: 'time',
      position: 'text',
    },
  },
  verifications: {
    name: 'assets.verifications',
    columns: {
      verification_id: 'text',
      ...askedBy,
      ...keptAt,
      group_id: 'text',
      native_group_id: 'text',
      state: 'text',
      started_at: 'time',
      expires_at: 'time',
      updated_at: 'time',
      position: 'text',
    },
  },
} as const satisfies Readonly<Record<string, StandingTable>>

/** A count of a tenant's lists: of what, as it was counted anew and as it stands. */
export interface CountedAssets {
  /** Its key in words. */
  readonly key: string
  readonly counted: string
  readonly stands: string
}

const status = assetStatuses
  .map((each) => `when state in (${statesSql(statesOf[each])}) then '${each}'`)
  .join(' ')
const listed = `tenant_id, group_type, case when group_type = 'LivenessFace' then user_id else '' end`
const told = 'tenant_id, group_type, user_id, kind, group_id, region, project_name, status'

/** Where the counts of a tenant's lists do not follow from its assets and groups. */
export async function differingAssetCounts(
  db: Queryable,
  tenantId: string,
  limit: number,
): Promise<readonly CountedAssets[]> {
  const { rows } = await db.query<CountedAssets>(
    `with counted (${told}, n) as (
       select ${listed}, 'asset', of_group, region, project_name, case ${status} end, count(*)
       from assets.assets cross join lateral (values (''), (group_id)) as g (of_group)
       where tenant_id = $1 and ${shownSql.assets}
       group by 1, 2, 3, 5, 6, 7, 8
       union all
       select ${listed}, 'group', '', region, project_name, '', count(*)
       from assets.groups where tenant_id = $1 and ${shownSql.groups}
       group by 1, 2, 3, 6, 7),
     standing as (select * from assets.counts where tenant_id = $1 and n <> 0)
     select concat_ws(' ', ${told}) as key, coalesce(c.n, 0)::text as counted,
            coalesce(s.n, 0)::text as stands
     from counted c full join standing s using (${told})
     where coalesce(c.n, 0) <> coalesce(s.n, 0)
     order by key limit $2`,
    [tenantId, limit],
  )
  return rows
}
