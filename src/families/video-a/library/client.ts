import type { AssetProvider, LibraryPage, NativeKey } from '../../../app/asset-ports.ts'
import type { CallOptions, Channel } from '../../../app/ports.ts'
import type { AssetGroupType } from '../../../domain/asset/events.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { malformed } from '../../kit/http/failures.ts'
import { objectOf, textOf, upstreamIdOf } from '../../kit/http/fields.ts'
import { linkOf, listOf, seenAsset, seenGroup } from './answers.ts'
import {
  type Action,
  type Answered,
  createLibraries,
  isMissing,
  type Libraries,
  libraryOf,
  resultIn,
} from './ask.ts'

/** Longest page upstream gives. */
const MAX_PAGE_SIZE = 100
/** As far as lists of groups reach; those of assets reach twice as far. */
const MAX_LISTED = 10_000

type Ask = Libraries['ask']

/**
 * The adapter of asset libraries. `clock` is the wall clock: upstream refuses what is signed some
 * minutes beside its own.
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

/** What is asked of one thing, by its id. */
function things(ask: Ask): Pick<AssetProvider, 'getAsset' | 'deleteAsset' | 'deleteGroup'> {
  const askOf = (
    name: string,
    channel: Channel,
    { nativeId, projectName }: NativeKey,
    options: CallOptions,
  ): Promise<Answered> => {
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
        // Those that ended at last come first.
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

/** Newest first, so that what was just sent is found on the first page. */
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

/** The account's own project for everything, where it has one. */
function projectIn(channel: Channel, projectName: string): string {
  return libraryOf(channel).projectName ?? projectName
}

/** A deletion says nothing but that it went well. @throws ProviderError where it does not */
function assertDeleted(answered: Answered): void {
  if (isMissing(answered)) return
  resultIn(answered)
  if (!isJsonObject(objectOf(answered.body)['ResponseMetadata'])) unreadable()
}

function unreadable(): never {
  throw malformed()
}
