import { assetGroupTypes, type AssetGroupType } from '../../../domain/asset/events.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import { type AssetListing, type AssetPage, assetSorts } from '../../../app/assets/types.ts'
import { isAssetGroupId } from '../../../kernel/ids.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { given, optionalList, optionalObject } from '../../../api/kit/member-checks.ts'
import {
  assetStatuses,
  choiceOf,
  DEFAULT_PAGE_SIZE,
  integerOr,
  lacking,
  MAX_FILTERED,
  MAX_LISTED,
  MAX_NAME_CHARACTERS,
  MAX_PAGE_SIZE,
  optionalChoice,
  optionalText,
} from './checks.ts'
import { type Call, type RunAction, scopeOf, toAsset, toAssetGroup } from './kept.ts'

/** Lists of what a caller has. */

const filters: readonly string[] = ['GroupType', 'GroupIds', 'Statuses', 'Name']
/** Another way to page: who went by it would be given the first page for ever. */
const tokens = ['NextToken', 'MaxResults'] as const

/** What is left out of a filter answers with everything, so nothing is that is meant to be in one. */
function checkPlaces(body: JsonObject, filter: JsonObject): void {
  for (const name of filters)
    if (given(body, name) !== undefined) refuse(name, `\`${name}\` belongs inside \`Filter\``)
  for (const name of tokens)
    if (given(body, name) !== undefined)
      refuse(name, `\`${name}\` is not taken: pages go by \`PageNumber\` and \`PageSize\``)
  const unknown = Object.keys(filter).find((name) => !filters.includes(name))
  if (unknown !== undefined)
    refuse(`Filter.${unknown}`, `\`Filter\` takes ${filters.join(', ')} and nothing else`)
}

/** @throws DomainError `invalid_request` when it is there and no list of texts */
function textsIn(filter: JsonObject, name: string): readonly string[] | undefined {
  const path = `Filter.${name}`
  const items = optionalList(filter, name, path)
  if (items === undefined) return undefined
  if (items.length > MAX_FILTERED)
    return refuse(path, `\`${path}\` must have at most ${MAX_FILTERED} entries`)
  const texts = items.filter((item) => typeof item === 'string')
  if (texts.length < items.length) return refuse(path, `\`${path}\` must be an array of strings`)
  // Naming none is no filter.
  return texts.length === 0 ? undefined : [...new Set(texts)]
}

interface Filter extends Pick<AssetListing, 'groupIds' | 'statuses' | 'name'> {
  readonly groupType: AssetGroupType
}

function filterOf(body: JsonObject): Filter {
  const filter = optionalObject(body, 'Filter')
  checkPlaces(body, filter ?? {})
  if (filter === undefined) return lacking('Filter', 'is required, with a `GroupType` in it')
  const type = given(filter, 'GroupType') ?? lacking('Filter.GroupType')
  return {
    groupType: choiceOf(type, assetGroupTypes, 'Filter.GroupType'),
    // What cannot be an id is of nothing, and is not looked for.
    groupIds: textsIn(filter, 'GroupIds')?.filter(isAssetGroupId),
    statuses: textsIn(filter, 'Statuses')?.map((one) =>
      choiceOf(one, assetStatuses, 'Filter.Statuses'),
    ),
    name: optionalText(filter, 'Name', MAX_NAME_CHARACTERS, 'Filter.Name') || undefined,
  }
}

function listingOf(call: Call): AssetListing {
  const { body } = call
  const scope = scopeOf(call)
  const filter = filterOf(body)
  const pageNumber = integerOr(body, 'PageNumber', { min: 1, max: MAX_LISTED, otherwise: 1 })
  const sizes = { min: 1, max: MAX_PAGE_SIZE, otherwise: DEFAULT_PAGE_SIZE }
  const pageSize = integerOr(body, 'PageSize', sizes)
  if (pageNumber * pageSize > MAX_LISTED)
    refuse('PageNumber', `\`PageNumber\` times \`PageSize\` must be at most ${MAX_LISTED}`)
  return {
    ...scope,
    ...filter,
    pageNumber,
    pageSize,
    sortBy: optionalChoice(body, 'SortBy', assetSorts) ?? 'CreateTime',
    sortOrder: optionalChoice(body, 'SortOrder', ['Asc', 'Desc']) ?? 'Desc',
  }
}

function shown<View>(
  { items, total }: AssetPage<View>,
  { pageNumber, pageSize }: Pick<AssetListing, 'pageNumber' | 'pageSize'>,
  show: (view: View) => object,
): object {
  return {
    Items: items.map(show),
    TotalCount: total,
    PageNumber: pageNumber,
    PageSize: pageSize,
  }
}

export const listAssets: RunAction = async (call, { assets }) => {
  const listing = listingOf(call)
  return shown(await assets.listAssets(listing), listing, toAsset)
}

export const listAssetGroups: RunAction = async (call, { assets }) => {
  // A group has no state: what a filter says of states was checked, and leaves none out.
  const listing = listingOf(call)
  return shown(await assets.listGroups(listing), listing, toAssetGroup)
}
