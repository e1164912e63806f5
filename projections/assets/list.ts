import type { Queryable } from '../engine/queryable.ts'
import {
  listConditions,
  type AssetListFilter,
  type GroupListFilter,
  type ListedTable,
} from './list-filter.ts'
import { toAssetRow, toGroupRow, type AssetRow, type GroupRow } from './tables.ts'
import { type CountedTotals, totalOf, type AssetTotal } from './totals.ts'

/** Page and order of a list. */
export interface ListPage {
  /** From 1. */
  readonly pageNumber: number
  readonly pageSize: number
  /** Equal values are ordered by id. */
  readonly sortBy: 'CreateTime' | 'UpdateTime' | 'GroupId'
  readonly sortOrder: 'Asc' | 'Desc'
}

export type AssetListing = AssetListFilter & ListPage
export type GroupListing = GroupListFilter & ListPage

/** A page, and how many there are on all pages. */
export interface Listed<Row> {
  readonly rows: readonly Row[]
  readonly total: number
}

/**
 * Up to so many rows are found by the filter and then sorted; with more, a walk along the order
 * soon meets the first ones.
 */
const SORTED_AT_MOST = 5_000

const sortColumns = {
  CreateTime: 'created_at',
  UpdateTime: 'updated_at',
  GroupId: 'group_id',
} as const

/** A page of rows: their keys from an index, from the nearer end of the list. */
async function pageOf(
  db: Queryable,
  listed: ListedTable,
  { total, found }: AssetTotal,
  { pageNumber, pageSize, sortBy, sortOrder }: ListPage,
): Promise<readonly object[]> {
  const offset = (pageNumber - 1) * pageSize
  const limit = Math.min(pageSize, total - offset)
  if (limit <= 0) return []
  const fromEnd = total - offset - limit
  const descends = sortOrder === 'Desc'
  const { name, id } = listed
  const columns = [...new Set([sortColumns[sortBy], id])]
  const order = (descending: boolean): string =>
    columns.map((column) => `${column} ${descending ? 'desc' : 'asc'}`).join(', ')
  const isFew = total <= SORTED_AT_MOST
  const least = listConditions(found, isFew ? 'found' : 'walked')
  const whole = listConditions(listed, 'walked', least)
  const keys = `select ${columns.join(', ')} from assets.${name} where ${least.sql}`
  const { rows } = await db.query<object & Record<string, unknown>>(
    // `offset 0` keeps the planner from looking for few along the whole order. A row that changed
    // since the count is checked again before it is shown.
    `select t.* from (
       select ${id} as key from (${keys} ${isFew ? 'offset 0' : ''}) as found
       order by ${order(fromEnd < offset ? !descends : descends)}
       limit ${least.add(limit)} offset ${least.add(Math.min(offset, fromEnd))}) as page
     cross join lateral (select * from assets.${name} where ${id} = key and ${whole.sql} offset 0) as t
     order by ${order(descends)}`,
    least.values,
  )
  return rows
}

/**
 * A page of a tenant's assets, none that is deleted. Of 100,000 a page at any depth takes some
 * milliseconds; the slowest is a deep page of a list narrowed by a name prefix that most assets
 * share.
 */
export async function findAssets(
  db: Queryable,
  listing: AssetListing,
  counted: CountedTotals,
): Promise<Listed<AssetRow>> {
  const listed: ListedTable = { name: 'assets', id: 'asset_id', filter: listing }
  const total = await totalOf(db, listed, counted)
  const rows = await pageOf(db, listed, total, listing)
  return { rows: rows.map(toAssetRow), total: total.total }
}

/** A page of a tenant's groups, none that is deleted or that upstream never took. */
export async function findGroups(
  db: Queryable,
  listing: GroupListing,
  counted: CountedTotals,
): Promise<Listed<GroupRow>> {
  const listed: ListedTable = { name: 'groups', id: 'group_id', filter: listing }
  const total = await totalOf(db, listed, counted)
  const rows = await pageOf(db, listed, total, listing)
  return { rows: rows.map(toGroupRow), total: total.total }
}
