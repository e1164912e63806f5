import type { LRUCache } from 'lru-cache'
import { createLru } from '../../kernel/lru.ts'
import { assetNotActive, canBeDeleted, isOwn } from '../../domain/asset/decider.ts'
import type { AssetType } from '../../domain/asset/events.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { createLookUps } from '../../eventlog/log/look-ups.ts'
import { actorOf, callerContext } from './actor.ts'
import type { AssetDeps } from './deps.ts'
import { type AssetAt, readAsset, readAssetAt, readGroup, useAsset } from './streams.ts'
import type {
  LibraryRequest,
  AssetLocation,
  AssetsWanted,
  CheckAssets,
  FindAssetTypes,
  UseAssets,
  WantedAsset,
} from './types.ts'

/** Active assets whose streams are not read again. */
const MAX_KNOWN = 10_000

/** An asset's constant facts are valid from any state; changing ones are decided by the append. */
type Known = LRUCache<string, AssetAt>
type UseDeps = Pick<AssetDeps, 'log' | 'recent' | 'clock'>
/** Reads the assets that callers name. */
interface Reads {
  readonly log: Pick<EventLog, 'readStream'>
}

export function createUseAssets(deps: UseDeps): {
  readonly useAssets: UseAssets
  readonly checkAssets: CheckAssets
  readonly findAssetTypes: FindAssetTypes
} {
  const known: Known = createLru(MAX_KNOWN)
  const named: Reads = { log: createLookUps(deps.log) }
  /** In order: the error names the first faulty one. */
  const checkAll = async (
    trusted: Known | undefined,
    wanted: Omit<AssetsWanted, 'requestId'>,
    then: (found: AssetAt, each: WantedAsset) => Promise<void>,
  ): Promise<AssetLocation> => {
    const nativeIds = new Map<string, string>()
    let channelId: string | undefined
    for (const each of wanted.assets) {
      const found = await checked(named, trusted, wanted, each)
      const { asset, nativeId } = found.state
      channelId ??= asset.channelId
      if (channelId !== asset.channelId)
        refuse(each.param, 'names an asset that is kept at another account than the others')
      await then(found, each)
      if (nativeId !== undefined) nativeIds.set(each.assetId, nativeId)
    }
    if (channelId === undefined) throw new RangeError('a creation that uses no asset')
    return { channelId, nativeIds }
  }
  return {
    useAssets: ({ requestId, ...wanted }) => {
      const request = { principal: wanted.principal, requestId }
      return checkAll(known, wanted, (found, { param }) => use(deps, known, request, found, param))
    },
    checkAssets: async (wanted) => {
      // No decision follows a check, so it reads the log.
      await checkAll(undefined, wanted, async () => {})
    },
    findAssetTypes: async (principal, wanted) => {
      const found = new Map<string, AssetType>()
      for (const { assetId, param } of wanted) {
        if (found.has(assetId)) continue
        const asset = (await stateOf(named, known, assetId))?.state.asset
        if (asset === undefined || !isOwn(asset, principal)) throw notFound(param)
        found.set(assetId, asset.assetType)
      }
      return found
    },
  }
}

/** The known state, or that in the log; undefined when there is none. */
async function stateOf(
  { log }: Reads,
  known: Known | undefined,
  assetId: string,
): Promise<AssetAt | undefined> {
  const before = known?.get(assetId)
  if (before !== undefined) return before
  const read = await readAssetAt(log, assetId)
  if (read?.state.phase === 'active') known?.set(assetId, read)
  return read
}

async function checked(
  deps: Reads,
  known: Known | undefined,
  { principal, region, projectName }: Omit<AssetsWanted, 'requestId'>,
  { assetId, assetType, param }: WantedAsset,
): Promise<AssetAt> {
  const found = await stateOf(deps, known, assetId)
  if (
    found === undefined ||
    found.state.phase === 'deleted' ||
    !isOwn(found.state.asset, principal)
  )
    throw notFound(param)
  const { state } = found
  const { asset } = state
  if (projectName !== undefined && projectName !== asset.projectName) throw notFound(param)
  if (asset.region !== region)
    throw new DomainError(
      'asset_region_mismatch',
      `the asset ${assetId} is kept in the ${asset.region} region, the model is ${region}`,
      { param },
    )
  if (asset.assetType !== assetType)
    refuse(param, `names an asset of the type ${asset.assetType} where ${assetType} is wanted`)
  if (state.phase !== 'active') throw notActive(assetId, param)
  if (!canBeDeleted(asset.groupType)) return found
  const group = await readGroup(deps.log, asset.groupId)
  if (group.phase !== 'accepted') {
    // The known state may be outdated: the log decides.
    known?.delete(assetId)
    const now = await readAsset(deps.log, assetId)
    throw now.phase === 'deleted' ? notFound(param) : notActive(assetId, param)
  }
  return found
}

/** Records the use of an asset that can be deleted. The known state may be old; the log decides. */
async function use(
  deps: UseDeps,
  known: Known,
  request: LibraryRequest,
  found: AssetAt,
  param: string,
): Promise<void> {
  const { assetId, groupType } = found.state.asset
  if (!canBeDeleted(groupType)) return
  try {
    known.set(assetId, await useAsset(deps, found, actorOf(deps, request), callerContext(request)))
  } catch (error) {
    known.delete(assetId)
    if (isDomainError(error, 'asset_not_active')) throw notActive(assetId, param)
    if (isDomainError(error, 'asset_not_found')) throw notFound(param)
    throw error
  }
}

function notFound(param: string): DomainError {
  return new DomainError('asset_not_found', 'the asset does not exist', { param })
}

function notActive(assetId: string, param: string): DomainError {
  const { code, message, details } = assetNotActive(assetId)
  return new DomainError(code, message, { ...details, param })
}

function refuse(param: string, why: string): never {
  throw new DomainError('invalid_request', `\`${param}\` ${why}`, { param })
}
