import type { AssetGroupType } from '../../src/domain/asset/events.ts'
import { Conditions } from './conditions.ts'
import { assetStates, shownGroupStates, statesOf, type AssetStatus } from './state.ts'
import { shownSql } from './tables.ts'

/** What a caller's list of groups is narrowed by; undefined does not narrow. */
export interface GroupListFilter {
  readonly tenantId: string
  /** Sees what is of the persons this user had verified; of the general library all of the tenant. */
  readonly userId: string
  readonly groupType: AssetGroupType
  readonly region: 'domestic' | 'overseas' | undefined
  readonly projectName: string | undefined
  readonly groupIds: readonly string[] | undefined
  /** What their names begin with. */
  readonly name: string | undefined
}

export interface AssetListFilter extends GroupListFilter {
  readonly statuses: readonly AssetStatus[] | undefined
}

/** A table that is listed, and its key. */
export type ListedTable =
  | { readonly name: 'assets'; readonly id: 'asset_id'; readonly filter: AssetListFilter }
  | { readonly name: 'groups'; readonly id: 'group_id'; readonly filter: GroupListFilter }

/** The states that are asked for; undefined for all that are shown. */
function askedStates(listed: ListedTable): readonly string[] | undefined {
  if (listed.name === 'groups') return undefined
  return listed.filter.statuses?.flatMap((status) => statesOf[status])
}

/** The same list without what narrows nothing; its name still does. */
export function withoutFacts(listed: ListedTable): ListedTable {
  const none = { region: undefined, projectName: undefined, groupIds: undefined }
  return listed.name === 'assets'
    ? { ...listed, filter: { ...listed.filter, ...none, statuses: undefined } }
    : { ...listed, filter: { ...listed.filter, ...none } }
}

/** How a list is read: all of it that is asked for, or along an order until there is enough. */
type Reading = 'found' | 'walked'

/**
 * What a list shows; in a statement that has conditions already, beside them. The type stands as it is:
 * each type has its own indexes.
 */
export function listConditions(
  listed: ListedTable,
  reading: Reading,
  others = new Conditions(),
): Conditions {
  const { name: table, filter } = listed
  const { groupType, tenantId, userId, name = '' } = filter
  // Names are found state by state; on a walk every state would be compared for nothing.
  const each = table === 'assets' ? assetStates.filter((s) => s !== 'deleted') : shownGroupStates
  const all = name === '' || reading === 'walked' ? undefined : each
  return others
    .beside(`group_type = '${groupType}'`, shownSql[table])
    .is('tenant_id', tenantId)
    .is('user_id', groupType === 'LivenessFace' ? userId : undefined)
    .isOneOf('state', askedStates(listed) ?? all)
    .is('region', filter.region)
    .is('project_name', filter.projectName)
    .isOneOf('group_id', filter.groupIds)
    .beginsWith('name', name)
}
