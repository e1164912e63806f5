import type { AssetGroupType } from '../../src/domain/asset/events.ts'
import type { Queryable } from '../engine/queryable.ts'
import { Conditions } from './conditions.ts'
import { toAssetRow, toGroupRow, type AssetRow, type GroupRow } from './tables.ts'
import type { AssetState, GroupState } from './state.ts'

/** Lists for support: every asset and group in the scope, deleted ones too. */

/**
 * Filter of groups; an undefined member does not filter. `tenantId` and `userIds` are also the
 * scope.
 */
export interface GroupSearch {
  readonly tenantId: string | undefined
  readonly userIds: readonly string[] | undefined
  readonly groupType: AssetGroupType | undefined
  readonly state: GroupState | undefined
  readonly region: 'domestic' | 'overseas' | undefined
  readonly projectName: string | undefined
  readonly groupId: string | undefined
  /** Id upstream. */
  readonly nativeId: string | undefined
}

/** Filter of assets; an undefined member does not filter. */
export interface AssetSearch extends Omit<GroupSearch, 'state'> {
  readonly state: AssetState | undefined
  readonly assetId: string | undefined
}

/** Continues after the id of the last row already seen. */
export interface SearchPage {
  readonly after: string | undefined
  readonly limit: number
}

/** Newest first: by their ids, which begin with the time. `next` is where the page after begins. */
export interface FoundAssets<Row> {
  readonly items: readonly Row[]
  readonly next: string | undefined
}

function searched(search: Omit<GroupSearch, 'state'> & { readonly state: string | undefined }) {
  return new Conditions()
    .is('tenant_id', search.tenantId)
    .isOneOf('user_id', search.userIds)
    .is('group_type', search.groupType)
    .is('state', search.state)
    .is('region', search.region)
    .is('project_name', search.projectName)
    .is('group_id', search.groupId)
    .is('native_id', search.nativeId)
}

async function newest(
  db: Queryable,
  { table, id }: { readonly table: string; readonly id: string },
  conditions: Conditions,
  { after, limit }: SearchPage,
): Promise<readonly object[]> {
  const { sql } = conditions.isBefore(id, after)
  const { rows } = await db.query<object & Record<string, unknown>>(
    `select * from assets.${table} where ${sql} order by ${id} desc limit ${conditions.add(limit + 1)}`,
    conditions.values,
  )
  return rows
}

/** A page of assets, newest first. */
export async function listAssetsFor(
  db: Queryable,
  search: AssetSearch,
  page: SearchPage,
): Promise<FoundAssets<AssetRow>> {
  const conditions = searched(search).is('asset_id', search.assetId)
  const of = { table: 'assets', id: 'asset_id' }
  const rows = await newest(db, of, conditions, page)
  const items = rows.slice(0, page.limit).map(toAssetRow)
  return { items, next: rows.length > page.limit ? items.at(-1)?.assetId : undefined }
}

/** A page of groups, newest first. */
export async function listGroupsFor(
  db: Queryable,
  search: GroupSearch,
  page: SearchPage,
): Promise<FoundAssets<GroupRow>> {
  const of = { table: 'groups', id: 'group_id' }
  const rows = await newest(db, of, searched(search), page)
  const items = rows.slice(0, page.limit).map(toGroupRow)
  return { items, next: rows.length > page.limit ? items.at(-1)?.groupId : undefined }
}
