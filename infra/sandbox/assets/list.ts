import { countOf, type Faults, isOn } from '../faults/vocabulary.ts'
import type { Fields } from '../kit/body.ts'
import { integerOf, invalid, neededObject, neededWord, textOf, textsOf, wordIn } from './members.ts'
import { GROUP_TYPES, type GroupType, STATUSES } from './record.ts'

/** Lists of assets and of groups: what is filtered, sorted and paged alike. */

const MAX_PAGE_SIZE = 100
const MAX_FILTER_ITEMS = 100
const MAX_NAME_LENGTH = 64

const SORTS = ['CreateTime', 'UpdateTime', 'GroupId'] as const
const ORDERS = ['Desc', 'Asc'] as const

/** What a list query asks for. */
export interface Listing {
  readonly groupType: GroupType
  readonly groupIds: readonly string[] | null
  readonly statuses: readonly string[] | null
  /** Exactly so. */
  readonly name: string | null
  readonly pageNumber: number
  readonly pageSize: number
  readonly sortBy: (typeof SORTS)[number]
  readonly ascending: boolean
}

/** What a thing is listed by. */
export interface Listed {
  readonly seq: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly groupId: string
  readonly shape: () => object
}

/** Reads a list query; pages reach `maxReach` items at most. @throws Refusal */
export function parseListing(body: Fields, maxReach: number): Listing {
  const filter = neededObject(body, 'Filter')
  const groupType = neededWord(filter, 'Filter.GroupType', GROUP_TYPES)
  const statuses = textsOf(filter, 'Filter.Statuses', MAX_FILTER_ITEMS)
  if (statuses?.some((status) => !STATUSES.some((one) => one === status)))
    throw invalid('Filter.Statuses', `each must be one of ${STATUSES.join(', ')}`)
  // The other way of paging is not played: what asks for it is told, not given something else.
  const unplayed = ['NextToken', 'MaxResults'].find((name) => body[name] !== undefined)
  if (unplayed !== undefined) throw invalid(unplayed, 'use PageNumber and PageSize')
  const pageSize = integerOf(body, 'PageSize', { absent: 10, min: 1, max: MAX_PAGE_SIZE })
  const pageNumber = integerOf(body, 'PageNumber', { absent: 1, min: 1, max: maxReach })
  if (pageNumber * pageSize > maxReach)
    throw invalid('PageNumber', `pages reach ${maxReach} items at most`)
  return {
    groupType,
    groupIds: textsOf(filter, 'Filter.GroupIds', MAX_FILTER_ITEMS),
    statuses,
    name: textOf(filter, 'Filter.Name', MAX_NAME_LENGTH) || null,
    pageNumber,
    pageSize,
    sortBy: wordIn(body, 'SortBy', SORTS) ?? 'CreateTime',
    ascending: (wordIn(body, 'SortOrder', ORDERS) ?? 'Desc') === 'Asc',
  }
}

function compare(a: Listed, b: Listed, sortBy: Listing['sortBy']): number {
  switch (sortBy) {
    case 'CreateTime':
      return a.createdAtMs - b.createdAtMs || a.seq - b.seq
    case 'UpdateTime':
      return a.updatedAtMs - b.updatedAtMs || a.seq - b.seq
    case 'GroupId':
      return a.groupId < b.groupId ? -1 : a.groupId > b.groupId ? 1 : a.seq - b.seq
  }
}

/** The page of what was found that a listing asks for. */
export function pageOf(found: readonly Listed[], listing: Listing, faults: Faults): object {
  const { pageNumber, sortBy, ascending } = listing
  const pageSize = Math.min(listing.pageSize, countOf(faults, 'page-cap') ?? listing.pageSize)
  const all = isOn(faults, 'empty-list') ? [] : found
  const sign = ascending ? 1 : -1
  const sorted = [...all].sort((a, b) => sign * compare(a, b, sortBy))
  const page = sorted.slice((pageNumber - 1) * pageSize, pageNumber * pageSize)
  return {
    Items: page.map(({ shape }) =>
      isOn(faults, 'unmarked') ? { ...shape(), Name: undefined } : shape(),
    ),
    TotalCount: all.length,
    PageNumber: pageNumber,
    PageSize: pageSize,
  }
}
