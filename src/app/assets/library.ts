import { DomainError } from '../../kernel/errors.ts'
import { keyedHash } from '../../kernel/keyed-hash.ts'
import type { Channel, Region } from '../ports/provider.ts'
import type { AssetDeps } from './deps.ts'
import type { ObjectRequest, ModelRequest } from './types.ts'

/** Region and account in which objects of the library are stored. */

/** The project of callers that name none. */
const DEFAULT_PROJECT = 'default'

/** Name of a caller's project: here, and at accounts without their own. */
export function projectOf(named: string | undefined): string {
  return named ?? DEFAULT_PROJECT
}

/** A model's region, and the family whose channels have it. */
interface LibraryRegion {
  readonly family: string
  readonly region: Region
}

/** @throws DomainError `unknown_model`, `model_not_allowed` */
export function libraryRegionOf(
  { catalog }: Pick<AssetDeps, 'catalog'>,
  { principal, model: name }: Pick<ModelRequest, 'principal' | 'model'>,
): LibraryRegion {
  const found = catalog.findAssetModel(name)
  const region = found?.model.region
  if (found === undefined || region === undefined)
    throw new DomainError('unknown_model', '`model` must be a model whose tasks can use assets', {})
  const { family, model } = found
  const { models } = principal
  if (models !== undefined && !models.has(model.name))
    throw new DomainError('model_not_allowed', 'this token may not use the model', {
      model: model.name,
    })
  return { family, region }
}

/** For an object named by its id. @throws DomainError as `libraryRegionOf`, `asset_region_mismatch` */
export function requireRegion(
  deps: Pick<AssetDeps, 'catalog'>,
  { principal, model }: Pick<ObjectRequest, 'principal' | 'model'>,
  kept: Region,
): void {
  if (model === undefined || libraryRegionOf(deps, { principal, model }).region === kept) return
  throw new DomainError('asset_region_mismatch', `the object is kept in the ${kept} region`, {
    param: 'model',
  })
}

/**
 * The account whose library gets a tenant's new objects. Each tenant has its own order of accounts,
 * the same in every process, so that its objects can be used together. @throws DomainError
 * `channel_not_available`
 */
export function libraryFor(
  { channels, markerSecret }: Pick<AssetDeps, 'channels' | 'markerSecret'>,
  tenantId: string,
  { family, region }: LibraryRegion,
  verifiesPersons = false,
): Channel {
  const [first] = channels.all
    .filter((channel) => channel.family === family && channel.region === region)
    .filter(({ library }) => library && (library.verifiesPersons || !verifiesPersons))
    .map((channel) => ({
      channel,
      rank: keyedHash(markerSecret, 'asset-place', [tenantId, channel.id]),
    }))
    .toSorted((a, b) => a.rank.compare(b.rank))
  return first?.channel ?? refuse(region)
}

/** The account that has an object. @throws DomainError `channel_not_available` if it was removed */
export function libraryAt(
  { channels }: Pick<AssetDeps, 'channels'>,
  { channelId, region }: { readonly channelId: string; readonly region: Region },
): Channel {
  const channel = channels.byId(channelId)
  return channel?.library === undefined ? refuse(region) : channel
}

function refuse(region: Region): never {
  throw new DomainError('channel_not_available', `no asset library of the ${region} region`, {
    region,
  })
}
