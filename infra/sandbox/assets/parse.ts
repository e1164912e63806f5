import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { countOf, type Faults, isOn } from '../faults/vocabulary.ts'
import { Refusal } from '../http/wire.ts'
import { type Fields, isFields, NO_FIELDS, objectBody, Members } from '../kit/body.ts'
import { randomBase36 } from '../kit/clock.ts'
import type { Caller } from './signature.ts'
import {
  type AcceptedResource,
  type AssetRecord,
  type AssetStatus,
  GROUP_TYPES,
  type GroupRecord,
  stampOf,
  STATUSES,
} from './store.ts'

const DEFAULT_PROJECT = 'default'
const MAX_PROJECT_LENGTH = 64

/** The body as an object; an empty one has no members. @throws Refusal */
export function bodyOf(body: Buffer): Fields {
  if (body.length === 0) return NO_FIELDS
  return objectBody(body, (isJson) => {
    const why = isJson ? 'must be a JSON object' : 'is not valid JSON'
    return new Refusal('InvalidParameter', `The request body ${why}.`)
  })
}

/** Members whose faults this wire reports by a code that names the member by its path. */
export class LibraryMembers extends Members {
  readonly #path: string

  constructor(fields: Fields, path = '') {
    const invalid = (name: string, why: string): Refusal =>
      new Refusal(
        `InvalidParameter.${path}${name}`,
        `The parameter ${path}${name} is not valid: ${why}.`,
      )
    super(fields, { invalid, onlyWords: true })
    this.#path = path
  }

  /** Reads a member that must be present and not empty. @throws Refusal */
  needed<Value>(name: string, value: Value | null): Value {
    if (value !== null && value !== '') return value
    const path = `${this.#path}${name}`
    throw new Refusal(`MissingParameter.${path}`, `The request is missing the parameter ${path}.`)
  }

  neededText(name: string, maxLength: number): string {
    return this.needed(name, this.text(name, maxLength))
  }

  /** A list of texts, at most so many, or null; an empty one counts as absent. */
  texts(name: string, maxItems: number): readonly string[] | null {
    const value = this.any(name)
    if (value === undefined) return null
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
      throw this.invalid(name, 'it must be an array of strings')
    if (value.length > maxItems) throw this.invalid(name, `at most ${maxItems} items`)
    return value.length === 0 ? null : value
  }

  object(name: string): Fields | null {
    const value = this.any(name)
    if (value === undefined) return null
    if (!isFields(value)) throw this.invalid(name, 'it must be an object')
    return value
  }

  /** The project a request is about. */
  get project(): string {
    return this.text('ProjectName', MAX_PROJECT_LENGTH) || DEFAULT_PROJECT
  }
}

/** A request whose signature is right. */
export interface SignedOrder extends Caller {
  readonly body: Fields
  readonly faults: Faults
  /** The mark of `[[client=…]]`, else the name that is given. */
  readonly clientMarker: string | null
  readonly clientRequestId: string | null
}

type Kit = Pick<FamilyKit, 'assets' | 'clock' | 'random'>

/** A new id, such as `asset-20260102030405-a1b2c`; no later request gets it. */
export function freshId({ assets, clock, random }: Kit, prefix: 'asset' | 'group'): string {
  const stamp = stampOf(clock.nowMs())
  return assets.freshId(() => `${prefix}-${stamp}-${randomBase36(random, 5)}`)
}

/** The first members of the record of a request. */
export function openingOf(
  kit: Kit,
  order: SignedOrder,
  projectName: string,
  newId: () => string,
): AcceptedResource {
  const { region, accessKeyId, clientMarker, clientRequestId } = order
  return {
    seq: kit.assets.newSeq(),
    id: newId(),
    region,
    projectName,
    acceptedAtMs: kit.clock.nowMs(),
    clientMarker,
    clientRequestId,
    credential: credentialHash(accessKeyId),
  }
}

/** What lists of assets and lists of groups have in common: filters, order and pages. */

const MAX_PAGE_SIZE = 100
const MAX_FILTER_ITEMS = 100
const MAX_NAME_LENGTH = 64

const SORTS = ['CreateTime', 'UpdateTime', 'GroupId'] as const
const ORDERS = ['Desc', 'Asc'] as const

/** What a list query asks for. */
type Listing = Readonly<ReturnType<typeof parseListing>>

/** What a thing is listed by. */
export interface Listed {
  readonly kept: AssetRecord | GroupRecord
  readonly visible: boolean
  readonly groupId: string
  /** The status of an asset. */
  readonly status: AssetStatus | null
  readonly updatedAtMs: number
  readonly shape: () => object
}

/** Reads a list query; pages reach `maxReach` items at most. @throws Refusal */
export function parseListing(fields: Fields, maxReach: number) {
  const body = new LibraryMembers(fields)
  const filter = new LibraryMembers(body.needed('Filter', body.object('Filter')), 'Filter.')
  const groupType = filter.needed('GroupType', filter.word('GroupType', GROUP_TYPES))
  const statuses = filter.texts('Statuses', MAX_FILTER_ITEMS)
  if (statuses?.some((status) => !STATUSES.some((one) => one === status)))
    throw filter.invalid('Statuses', `each must be one of ${STATUSES.join(', ')}`)
  // The sandbox has no other way of paging: a request for one is refused, not answered with something else.
  const unplayed = ['NextToken', 'MaxResults'].find((name) => fields[name] !== undefined)
  if (unplayed !== undefined) throw body.invalid(unplayed, 'use PageNumber and PageSize')
  const pageSize = body.integer('PageSize', 1, MAX_PAGE_SIZE) ?? 10
  const pageNumber = body.integer('PageNumber', 1, maxReach) ?? 1
  if (pageNumber * pageSize > maxReach)
    throw body.invalid('PageNumber', `pages reach ${maxReach} items at most`)
  return {
    groupType,
    groupIds: filter.texts('GroupIds', MAX_FILTER_ITEMS),
    statuses,
    name: filter.text('Name', MAX_NAME_LENGTH) || null,
    pageNumber,
    pageSize,
    sortBy: body.word('SortBy', SORTS) ?? 'CreateTime',
    ascending: (body.word('SortOrder', ORDERS) ?? 'Desc') === 'Asc',
  }
}

function compare(a: Listed, b: Listed, sortBy: Listing['sortBy']): number {
  const inOrder = a.kept.seq - b.kept.seq
  switch (sortBy) {
    case 'CreateTime':
      return a.kept.acceptedAtMs - b.kept.acceptedAtMs || inOrder
    case 'UpdateTime':
      return a.updatedAtMs - b.updatedAtMs || inOrder
    case 'GroupId':
      return a.groupId < b.groupId ? -1 : a.groupId > b.groupId ? 1 : inOrder
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
