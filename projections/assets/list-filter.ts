import type { AssetGroupType } from '../../src/domain/asset/events.ts'
import { Conditions } from './conditions.ts'
import { assetStates, shownGroupStates, statesOf, type AssetStatus } from './state.ts'
import { shownSql } from './tables.ts'

/** The filter of a caller's list of groups; an undefined member does not filter. */
export interface GroupListFilter {
  readonly tenantId: string
  /**
   * The user whose verified persons are visible; the general library is visible to all of the
   * tenant.
   */
  readonly userId: string
  readonly groupType: AssetGroupType
  readonly region: 'domestic' | 'overseas' | undefined
  readonly projectName: string | undefined
  readonly groupIds: readonly string[] | undefined
  /** Prefix of their names. */
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

/** The list with the filter by name only. */
export function withoutFacts(listed: ListedTable): ListedTable {
  const none = { region: undefined, projectName: undefined, groupIds: undefined }
  return listed.name === 'assets'
    ? { ...listed, filter: { ...listed.filter, ...none, statuses: undefined } }
    : { ...listed, filter: { ...listed.filter, ...none } }
}

/** How a list is read: all matching rows, or rows along an order until there are enough. */
type Reading = 'found' | 'walked'

/**
 * The conditions of a list, to be combined with the existing conditions of a statement. The type is
 * written as a literal, because each type has separate indexes.
 */
export function listConditions(
  listed: ListedTable,
  reading: Reading,
  others = new Conditions(),
): Conditions {
  const { name: table, filter } = listed
  const { groupType, tenantId, userId, name = '' } = filter
  // Names are found state by state; a walk would compare every state in vain.
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
