import type { RecordedGroup } from '../../domain/asset-group/decider.ts'
import { type AssetFault, canBeDeleted } from '../../domain/asset/decider.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { newAssetGroupId, newAssetId, newId } from '../../kernel/ids.ts'
import { callOptions, callUpstream, REFRESH_TIMEOUT_MS } from '../channels/call-upstream.ts'
import { type CallOptions, type Channel, ProviderError } from '../ports/provider.ts'
import { callerOf, callerContext } from './actor.ts'
import type { AssetDeps } from './deps.ts'
import { findGroup } from './find.ts'
import { findOwnGroup } from './owned-objects.ts'
import { libraryAt, libraryFor, libraryRegionOf, projectOf } from './library.ts'
import { queryRefusal, creationRefusal, keptFault, unsentFault } from './refusals.ts'
import { type AssetCommandContext, onAsset, onGroup } from './streams.ts'
import type { LibraryRequest, AssetUseCases } from './types.ts'

/**
 * A creation is recorded first, under the name that upstream gets. If the process dies or the
 * answer is lost, the background finds it again by that name and never sends it twice.
 */

const NOT_CONFIRMED_RETRY_MS = 5_000

export function createCreations(
  deps: AssetDeps,
): Pick<AssetUseCases, 'createAsset' | 'createGroup'> {
  return {
    createGroup: (order) => createGroup(deps, order),
    createAsset: (order) => createAsset(deps, order),
  }
}

async function createGroup(
  deps: AssetDeps,
  order: Parameters<AssetUseCases['createGroup']>[0],
): ReturnType<AssetUseCases['createGroup']> {
  const { clock, provider } = deps
  const target = libraryRegionOf(deps, order)
  const channel = libraryFor(deps, order.principal.tenantId, target)
  const projectName = projectOf(order.projectName)
  const { name, description } = order
  const nowMs = clock.nowMs()
  const groupId = newAssetGroupId(nowMs)
  const group = {
    groupId,
    ...callerOf(order),
    region: target.region,
    projectName,
    channelId: channel.id,
    groupType: 'AIGC' as const,
    name,
    description,
    createdAt: toTimestamp(nowMs),
  }
  await createOnce(deps, order, channel, {
    prepare: async () => (options) =>
      provider.createGroup(channel, { name: groupId, projectName }, options),
    execute: (command, context) =>
      onGroup(deps, groupId, command === 'create' ? { kind: command, group } : command, context),
  })
  return { groupId }
}

async function createAsset(
  deps: AssetDeps,
  order: Parameters<AssetUseCases['createAsset']>[0],
): ReturnType<AssetUseCases['createAsset']> {
  const { clock, provider } = deps
  libraryRegionOf(deps, order)
  const found = await usableGroup(deps, order)
  const { groupType, region, projectName, channelId } = found.group
  const channel = libraryAt(deps, { channelId, region })
  const { groupId, name, assetType, url } = order
  const nowMs = clock.nowMs()
  const assetId = newAssetId(nowMs)
  const asset = {
    assetId,
    ...callerOf(order),
    region,
    projectName,
    channelId,
    groupId,
    groupType,
    assetType,
    name,
    createdAt: toTimestamp(nowMs),
  }
  await createOnce(deps, order, channel, {
    prepare: async () => {
      const nativeGroupId = found.nativeId ?? (await findNativeGroup(deps, found, order))
      const wanted = { name: assetId, projectName, nativeGroupId, url, assetType }
      return (options) => provider.createAsset(channel, wanted, options)
    },
    execute: (command, context) =>
      onAsset(deps, assetId, command === 'create' ? { kind: command, asset } : command, context),
    // A group deletion that the log does not have by now will find this asset in the group.
    ...(canBeDeleted(groupType) && { recheck: () => usableGroup(deps, order) }),
  })
  return { assetId }
}

/** The outcome of a creation, recorded after its first event. */
type Outcome =
  | {
      readonly kind: 'accept'
      readonly nativeId: string
      readonly learntFrom: 'answer'
      readonly at: string
    }
  | { readonly kind: 'refuse'; readonly fault: AssetFault; readonly at: string }

type Ask = (options: CallOptions) => Promise<{ readonly nativeId: string }>

interface Creation {
  /** Prepares the upstream request before anything is recorded. */
  readonly prepare: () => Promise<Ask>
  readonly execute: (command: 'create' | Outcome, context: AssetCommandContext) => Promise<unknown>
  /**
   * Checks the prerequisites again after the creation is recorded. @throws DomainError if they no
   * longer hold
   */
  readonly recheck?: () => Promise<unknown>
}

/**
 * Records it, asks upstream for it once, and records the answer. If it is unknown whether upstream
 * accepted it, it counts as created, and the background looks for it. @throws DomainError
 * `submission_refused` when upstream certainly did not accept it
 */
async function createOnce(
  deps: AssetDeps,
  request: LibraryRequest,
  channel: Channel,
  { prepare, execute, recheck }: Creation,
): Promise<void> {
  const { clock, crashPoint, logger } = deps
  const { principal, requestId } = request
  const { tenantId } = principal
  const ours = (): AssetCommandContext => ({
    tenantId,
    correlationId: requestId,
    commandId: newId('cmd', clock.nowMs()),
  })
  /** If this append fails, the background finds the object by its name later, or never. */
  const record = async (outcome: Outcome): Promise<void> => {
    await execute(outcome, ours()).catch((error: unknown) =>
      logger.warn({ requestId, err: error }, 'the outcome of an asset creation was not recorded'),
    )
  }
  const refused = (fault: AssetFault): Promise<void> =>
    record({ kind: 'refuse', fault, at: toTimestamp(clock.nowMs()) })
  await deps.libraryConcurrency.run(channel.id, async () => {
    const ask = await counted(deps, request, async () => {
      await deps.log.ready()
      const prepared = await prepare()
      await execute('create', { ...callerContext(request), isNew: true })
      return prepared
    })
    crashPoint('asset.after-created')
    await recheck?.().catch(async (error: unknown) => {
      await refused(unsentFault(error))
      throw error
    })
    const answer = await sent(deps, requestId, channel, ask)
    crashPoint('asset.after-provider')
    if ('nativeId' in answer) {
      const { nativeId } = answer
      const at = toTimestamp(clock.nowMs())
      await record({ kind: 'accept', nativeId, learntFrom: 'answer', at })
      crashPoint('asset.after-accepted')
      return
    }
    const { error } = answer
    if (error.acceptance !== 'ruled_out') return
    await refused(keptFault(error))
    throw creationRefusal(error)
  })
}

/** The caller's group, if assets can be added to it. @throws DomainError as `findOwnGroup` */
async function usableGroup(
  deps: AssetDeps,
  order: Parameters<AssetUseCases['createAsset']>[0],
): Promise<RecordedGroup> {
  const known = await findOwnGroup(deps, { ...order, id: order.groupId })
  if (known.phase !== 'withdrawn') return known
  throw new DomainError('asset_group_not_found', 'the asset group does not exist', {})
}

/** Looks for a group of unknown upstream outcome before it adds an asset to it. */
async function findNativeGroup(
  deps: AssetDeps,
  { group }: RecordedGroup,
  { requestId }: LibraryRequest,
): Promise<string> {
  const channel = libraryAt(deps, group)
  const signal = AbortSignal.timeout(REFRESH_TIMEOUT_MS)
  const found = await findGroup(deps, group, { channel, signal, requestId }).catch(
    (error: unknown) => {
      throw error instanceof ProviderError ? queryRefusal(error) : error
    },
  )
  if (found !== undefined) return found
  throw new DomainError(
    'upstream_unavailable',
    'The asset library has not confirmed the group yet; try again later',
    { retryAfterMs: NOT_CONFIRMED_RETRY_MS },
  )
}

/** Only started requests count against the token's rate. */
async function counted<Result>(
  deps: AssetDeps,
  { principal }: LibraryRequest,
  begin: () => Promise<Result>,
): Promise<Result> {
  const reserved = await deps.throttle.request(principal)
  try {
    return await begin()
  } catch (error) {
    reserved?.release('not_started')
    throw error
  }
}

/** Upstream's answer, or its failure. */
async function sent(
  deps: AssetDeps,
  requestId: string,
  channel: Channel,
  ask: Ask,
): Promise<{ readonly nativeId: string } | { readonly error: ProviderError }> {
  try {
    const options = callOptions(requestId)
    return await callUpstream(deps, channel, 'create', () => ask(options))
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const { kind, acceptance, code: upstreamCode } = error
    deps.logger.warn(
      { requestId, channelId: channel.id, kind, acceptance, upstreamCode },
      'asset creation failed upstream',
    )
    return { error }
  }
}
