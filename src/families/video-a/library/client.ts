import type {
  AssetProvider,
  LibraryPage,
  Listed,
  NativeKey,
  SeenAsset,
  SeenGroup,
} from '../../../app/ports/assets.ts'
import type { CallOptions, Channel } from '../../../app/ports/provider.ts'
import type { AssetGroupType } from '../../../domain/asset/events.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { malformed } from '../../kit/http/refusals.ts'
import {
  codeOf,
  isGiven,
  losslessCount,
  objectOf,
  textOf,
  upstreamIdOf,
} from '../../kit/http/fields.ts'
import type { Scrubber } from '../../kit/http/scrubber.ts'
import {
  type Action,
  type CompleteAnswer,
  createLibraries,
  scrubbing,
  isMissing,
  type Libraries,
  libraryOf,
  resultIn,
} from './exchange.ts'

/** Converts the wire of asset libraries for the use cases. */

const MAX_URL_LENGTH = 4_096
/** The reason shown for an asset that failed without one. */
const NO_REASON = 'ProcessingFailed'

const statuses: ReadonlyMap<unknown, SeenAsset['status']> = new Map([
  ['Processing', 'processing'],
  ['Active', 'active'],
  ['Failed', 'failed'],
])

/** An asset, or undefined if the value is not one. An unknown status is not a failure. */
function seenAsset(value: unknown, scrub: Scrubber): SeenAsset | undefined {
  const item = objectOf(value)
  const nativeId = upstreamIdOf(item['Id'])
  if (nativeId === undefined) return undefined
  const status = statuses.get(item['Status']) ?? 'unknown'
  const ids = [nativeId, upstreamIdOf(item['GroupId']) ?? '']
  return {
    nativeId,
    name: textOf(item['Name']),
    status,
    error: status === 'failed' ? faultOf(item['Error'], scrubbing(scrub, ids)) : undefined,
    url: linkOf(item['URL']),
  }
}

/** A group, or undefined if the value is not one. */
function seenGroup(value: unknown): SeenGroup | undefined {
  const item = objectOf(value)
  const nativeId = upstreamIdOf(item['Id'])
  return nativeId === undefined ? undefined : { nativeId, name: textOf(item['Name']) }
}

/**
 * The readable items of a list; with a name, only those with exactly that name, because upstream
 * also finds similar names. Undefined if the answer is no list.
 */
function listOf<Item extends SeenGroup>(
  result: JsonObject,
  read: (value: unknown) => Item | undefined,
  name: string | undefined,
): Listed<Item> | undefined {
  const total = losslessCount(result['TotalCount'])
  const items = itemsOf(result, total)
  if (items === undefined) return undefined
  const seen = items.flatMap((item) => read(item) ?? [])
  return { items: name === undefined ? seen : seen.filter((item) => item.name === name), total }
}

/** An empty list may be null or absent. */
function itemsOf(result: JsonObject, total: number | undefined): readonly unknown[] | undefined {
  const { Items: items } = result
  if (Array.isArray(items)) return items
  return items === null || (!isGiven(items) && total === 0) ? [] : undefined
}

/** A web link, valid now; undefined for anything else. */
function linkOf(value: unknown): string | undefined {
  const link = textOf(value)
  return link !== undefined && link.length <= MAX_URL_LENGTH && /^https?:\/\//i.test(link)
    ? link
    : undefined
}

function faultOf(value: unknown, scrub: Scrubber): SeenAsset['error'] {
  const said = objectOf(value)
  return { code: codeOf(said['Code']) ?? NO_REASON, message: scrub(textOf(said['Message']) ?? '') }
}

/** Longest page upstream gives. */
const MAX_PAGE_SIZE = 100
/** The reach of group lists; asset lists reach twice as far. */
const MAX_LISTED = 10_000

type Ask = Libraries['ask']

/**
 * The adapter of asset libraries. `clock` is the wall clock: upstream refuses a signature whose
 * date differs from its own by some minutes.
 */
export function createAssetProvider(
  clock: Clock,
): AssetProvider & { readonly close: () => Promise<void> } {
  const { ask, close } = createLibraries(clock)
  return {
    maxPageSize: MAX_PAGE_SIZE,
    maxListed: MAX_LISTED,
    ...creations(ask),
    ...things(ask),
    ...lists(ask),
    ...verifications(ask),
    close,
  }
}

function creations(ask: Ask): Pick<AssetProvider, 'createGroup' | 'createAsset'> {
  const create = async (channel: Channel, action: Action, options: CallOptions) => {
    const result = resultIn(await ask(channel, action, options))
    return { nativeId: upstreamIdOf(result['Id']) ?? unreadable() }
  }
  return {
    createGroup: (channel, { name, projectName }, options) => {
      const groupType: AssetGroupType = 'AIGC'
      const ProjectName = projectIn(channel, projectName)
      const body = { Name: name, GroupType: groupType, ProjectName }
      return create(channel, { name: 'CreateAssetGroup', body }, options)
    },

    createAsset: (channel, order, options) => {
      const { nativeGroupId, url } = order
      const body = {
        GroupId: nativeGroupId,
        URL: url,
        AssetType: order.assetType,
        Name: order.name,
        ProjectName: projectIn(channel, order.projectName),
      }
      const hidden = [nativeGroupId, url]
      return create(channel, { name: 'CreateAsset', body, hidden }, options)
    },
  }
}

/** The body of a request about one asset or group, by its id. */
function things(ask: Ask): Pick<AssetProvider, 'getAsset' | 'deleteAsset' | 'deleteGroup'> {
  const askOf = (
    name: string,
    channel: Channel,
    { nativeId, projectName }: NativeKey,
    options: CallOptions,
  ): Promise<CompleteAnswer> => {
    const body = { Id: nativeId, ProjectName: projectIn(channel, projectName) }
    return ask(channel, { name, body, hidden: [nativeId] }, options)
  }
  return {
    getAsset: async (channel, key, options) => {
      const answered = await askOf('GetAsset', channel, key, options)
      if (isMissing(answered)) return 'gone'
      const seen = seenAsset(resultIn(answered), answered.scrub)
      return seen?.nativeId === key.nativeId ? seen : unreadable()
    },

    deleteAsset: async (channel, key, options) =>
      assertDeleted(await askOf('DeleteAsset', channel, key, options)),

    deleteGroup: async (channel, key, options) =>
      assertDeleted(await askOf('DeleteAssetGroup', channel, key, options)),
  }
}

function lists(ask: Ask): Pick<AssetProvider, 'listAssets' | 'listGroups'> {
  return {
    listAssets: async (channel, page, options) => {
      const { standing } = page
      const body = {
        ...listBody(channel, page, standing && { Statuses: statusesOf[standing] }),
        // The last ended come first.
        ...(standing === 'ended' && { SortBy: 'UpdateTime' }),
      }
      const answered = await ask(channel, { name: 'ListAssets', body }, options)
      const read = (item: unknown) => seenAsset(item, answered.scrub)
      return listOf(resultIn(answered), read, page.name) ?? unreadable()
    },

    listGroups: async (channel, page, options) => {
      const body = listBody(channel, page)
      const answered = await ask(channel, { name: 'ListAssetGroups', body }, options)
      return listOf(resultIn(answered), seenGroup, page.name) ?? unreadable()
    },
  }
}

function verifications(ask: Ask): Pick<AssetProvider, 'startVerification' | 'verificationResult'> {
  return {
    startVerification: async (channel, { callbackUrl, projectName }, options) => {
      const body = { CallbackURL: callbackUrl, ProjectName: projectIn(channel, projectName) }
      const action = { name: 'CreateVisualValidateSession', body, hidden: [callbackUrl] }
      const result = resultIn(await ask(channel, action, options))
      return {
        credential: textOf(result['BytedToken']) ?? unreadable(),
        link: linkOf(result['H5Link']) ?? unreadable(),
      }
    },

    verificationResult: async (channel, { credential, projectName }, options) => {
      const body = { BytedToken: credential, ProjectName: projectIn(channel, projectName) }
      const action = { name: 'GetVisualValidateResult', body, hidden: [credential] }
      const answered = await ask(channel, action, options)
      if (isMissing(answered)) return { kind: 'gone' }
      const nativeGroupId = upstreamIdOf(resultIn(answered)['GroupId'])
      return nativeGroupId === undefined ? { kind: 'pending' } : { kind: 'passed', nativeGroupId }
    },
  }
}

const statusesOf = { processing: ['Processing'], ended: ['Active', 'Failed'] } as const

/** Newest first, so that the first page has new assets. */
function listBody(channel: Channel, page: LibraryPage, filter: JsonObject = {}): JsonObject {
  const { groupType, name, pageNumber, pageSize } = page
  if (pageSize > MAX_PAGE_SIZE || pageNumber * pageSize > MAX_LISTED)
    throw new RangeError(`a page has ${MAX_PAGE_SIZE} items at most, all of them ${MAX_LISTED}`)
  return {
    Filter: { GroupType: groupType, ...filter, ...(name !== undefined && { Name: name }) },
    PageNumber: pageNumber,
    PageSize: pageSize,
    SortBy: 'CreateTime',
    SortOrder: 'Desc',
    ProjectName: projectIn(channel, page.projectName),
  }
}

/** The account's project for all requests, if it has one. */
function projectIn(channel: Channel, projectName: string): string {
  return libraryOf(channel).projectName ?? projectName
}

/** The answer to a deletion only reports success. @throws ProviderError for any other answer */
function assertDeleted(answered: CompleteAnswer): void {
  if (isMissing(answered)) return
  resultIn(answered)
  if (!isJsonObject(objectOf(answered.body)['ResponseMetadata'])) unreadable()
}

function unreadable(): never {
  throw malformed()
}
