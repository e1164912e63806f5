import { assetColumns, columnsSql, groupColumns, verificationColumns } from './columns.ts'
import { shownGroupStates, statesSql } from './state.ts'

/** Pages are read from indexes alone where the table was vacuumed: sooner than Postgres would by itself. */
const vacuumed = `fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_insert_scale_factor = 0.05`

export const tablesSql = `
  create table assets (
    ${columnsSql(assetColumns)},
    primary key (asset_id)
  ) with (${vacuumed});

  create table groups (
    ${columnsSql(groupColumns)},
    primary key (group_id)
  ) with (${vacuumed});

  create table verifications (
    ${columnsSql(verificationColumns)},
    primary key (verification_id)
  ) with (fillfactor = 80);

  -- How many are listed: assets by status in all (group_id '') and by group, groups in all. user_id is ''
  -- but for what is of a person: that is listed for the user who had the person verified alone. position
  -- is that of the last change of what a row counts, also of one that leaves it as many.
  create table counts (
    tenant_id text not null,
    group_type text not null,
    user_id text not null,
    kind text not null check (kind in ('asset', 'group')),
    group_id text not null,
    region text not null,
    project_name text not null,
    status text not null,
    n bigint not null,
    position bigint not null,
    primary key (tenant_id, group_type, user_id, kind, group_id, region, project_name, status)
  ) with (fillfactor = 60);
`

/** What lists show of each table. */
export const shownSql = {
  assets: `state <> 'deleted'`,
  groups: `state in (${statesSql(shownGroupStates)})`,
} as const

/** The lists of each type of group are indexed apart: those of persons are each of one user. */
const lists = [
  { type: 'AIGC', owner: 'tenant_id' },
  { type: 'LivenessFace', owner: 'tenant_id, user_id' },
] as const

/** What lists are narrowed by; what most of a list has is read past soonest where it stands in front. */
const asked = ['name', 'region', 'project_name', 'state', 'group_id']

/**
 * Three orders, each with what lists are narrowed by beside it, so that a page is found without the rows;
 * then what finds few among many, by facts or by name. Nothing that is indexed may be longer than a few
 * hundred characters: names are bounded where they come in.
 */
function listIndexes(table: 'assets' | 'groups', id: 'asset_id' | 'group_id'): string {
  return lists
    .map(({ type, owner }) => {
      const index = (name: string, columns: string): string =>
        `create index if not exists ${table}_${type.toLowerCase()}_${name} on ${table} (${columns}
         where group_type = '${type}' and ${shownSql[table]};`
      const order = (column: string): string => {
        const keys = [...new Set([column, id])]
        const others = asked.filter((each) => !keys.includes(each))
        return `${owner}, ${keys.join(', ')}) include (${others.join(', ')})`
      }
      return [
        index('created', order('created_at')),
        index('updated', order('updated_at')),
        index('group', order('group_id')),
        index('facts', `${owner}, state, region, project_name)`),
        index('name', `${owner}, state, name text_pattern_ops)`),
      ].join('\n')
    })
    .join('\n')
}

/** By what support looks for them, and what has no end yet. */
export const indexesSql = `
  ${listIndexes('assets', 'asset_id')}
  ${listIndexes('groups', 'group_id')}
  create index if not exists assets_tenant on assets (tenant_id, asset_id);
  create index if not exists assets_user on assets (user_id, asset_id);
  create index if not exists assets_group on assets (group_id, asset_id);
  create index if not exists assets_native on assets (native_id) where native_id is not null;
  create index if not exists groups_tenant on groups (tenant_id, group_id);
  create index if not exists groups_user on groups (user_id, group_id);
  create index if not exists groups_native on groups (native_id) where native_id is not null;
  create index if not exists assets_open on assets (updated_at, asset_id)
    where state in ('created', 'processing', 'withdrawn');
  create index if not exists groups_open on groups (updated_at, group_id)
    where state in ('created', 'withdrawn');
  create index if not exists verifications_open on verifications (expires_at, verification_id)
    where state = 'started';
  create index if not exists verifications_confirmed on verifications (updated_at)
    where state = 'confirmed';
`
