import { createLru } from '../../src/kernel/lru.ts'
import type { Queryable } from '../engine/queryable.ts'
import { Conditions } from './conditions.ts'
import { listOwner } from './counts.ts'
import { listConditions, withoutFacts, type ListedTable } from './list-filter.ts'

/** The total of a list over all pages, and the smallest filter that finds the same rows. */
export interface AssetTotal {
  readonly total: number
  readonly found: ListedTable
}

/** Lists remembered. */
const MAX_REMEMBERED = 1_000

/**
 * Totals that had to be counted row by row, each cached until its list changes: a caller that goes
 * through the pages of a list causes one count. Belongs to one database.
 */
export class CountedTotals {
  readonly #counted = createLru<string, { readonly position: string; readonly total: number }>(
    MAX_REMEMBERED,
  )

  /** The total of a list whose last change was at a position; counted where it is not known. */
  async of(listed: ListedTable, position: string, count: () => Promise<number>): Promise<number> {
    const { sql, values } = listConditions(listed, 'found')
    const key = JSON.stringify([listed.name, sql, values])
    const known = this.#counted.get(key)
    if (known?.position === position) return known.total
    // A change during the count is either counted or has a later position than the remembered one.
    const total = await count()
    this.#counted.set(key, { position, total })
    return total
  }
}

/**
 * A sum of few counts, except for lists filtered by name. If the counts show that every asset of
 * the list has a filtered fact (its only region, its only group), the filter is left out.
 */
export async function totalOf(
  db: Queryable,
  listed: ListedTable,
  counted: CountedTotals,
): Promise<AssetTotal> {
  const { name = '', groupIds } = listed.filter
  // Groups are not counted one by one.
  if (listed.name === 'groups' && groupIds !== undefined)
    return { total: await countRows(db, listed), found: listed }
  const { all, matching, position } = await sumCounts(db, listed)
  const found = all === matching ? withoutFacts(listed) : listed
  if (name === '' || matching === 0) return { total: matching, found }
  return { total: await counted.of(found, position, () => countRows(db, found)), found }
}

/**
 * Number of rows of the list without and with the filter, not by name; and the position of its last
 * change.
 */
async function sumCounts(
  db: Queryable,
  listed: ListedTable,
): Promise<{ readonly all: number; readonly matching: number; readonly position: string }> {
  const { name, filter } = listed
  const { tenantId, groupType, userId, region, projectName } = filter
  // The empty id stands for all groups; no group has it.
  const groupIds = filter.groupIds?.filter((id) => id !== '') ?? ['']
  const list = new Conditions()
    .is('kind', name === 'assets' ? 'asset' : 'group')
    .is('tenant_id', tenantId)
    .is('group_type', groupType)
    .is('user_id', listOwner(groupType, userId))
    .isOneOf('group_id', ['', ...groupIds])
  const asked = list
    .beside()
    .isOneOf('group_id', groupIds)
    .is('region', region)
    .is('project_name', projectName)
    .isOneOf('status', listed.name === 'assets' ? listed.filter.statuses : undefined)
  const { rows } = await db.query<{ all: string; matching: string; position: string | null }>(
    `select coalesce(sum(n) filter (where group_id = ''), 0) as "all",
            coalesce(sum(n) filter (where ${asked.sql}), 0) as matching,
            max(position) as position
     from assets.counts where ${list.sql}`,
    list.values,
  )
  const { all = 0, matching = 0, position } = rows[0] ?? {}
  return { all: Number(all), matching: Number(matching), position: position ?? '' }
}

async function countRows(db: Queryable, listed: ListedTable): Promise<number> {
  const conditions = listConditions(listed, 'found')
  const { rows } = await db.query<{ total: string }>(
    `select count(*) as total from assets.${listed.name} where ${conditions.sql}`,
    conditions.values,
  )
  return Number(rows[0]?.total ?? 0)
}
