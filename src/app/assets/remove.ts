import pLimit from 'p-limit'
import type { AssetActor, KnownAsset, RecordedAsset } from '../../domain/asset/decider.ts'
import type { KnownGroup } from '../../domain/asset-group/decider.ts'
import { assetsOfGroup } from '../../../projections/assets/query.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { callOptions } from '../channels/call-upstream.ts'
import { callPaced } from '../channels/paced-calls.ts'
import { ProviderError } from '../ports/provider.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'
import { actorOf, policyContext, contextOf } from './actor.ts'
import { requireChangeable } from './change.ts'
import type { AssetDeps } from './deps.ts'
import { findAsset, type LibraryCall } from './find.ts'
import { isYoung } from './observe.ts'
import { findOwnAsset, findOwnGroup } from './owned-objects.ts'
import { libraryAt } from './library.ts'
import { onAsset, onGroup, readAsset } from './streams.ts'
import type { LibraryRequest, AssetUseCases } from './types.ts'

/**
 * A deletion is recorded first, as a withdrawal that stops every use; then upstream deletes, then
 * that is recorded. After any interruption, the same request and the background continue from
 * there.
 */

/** The request waits no longer for the library, including its turn. */
const DELETION_TIMEOUT_MS = 20_000
/** Assets of one group recorded in parallel. */
const AT_ONCE = 8
/** Whether upstream has the object becomes known later. */
const NOT_CONFIRMED_RETRY_MS = 5_000

export function createRemovals(
  deps: AssetDeps,
): Pick<AssetUseCases, 'deleteAsset' | 'deleteGroup'> {
  const within = (
    kept: Parameters<typeof libraryAt>[1],
    { requestId }: LibraryRequest,
    work: (call: LibraryCall) => Promise<void>,
  ): Promise<void> => {
    const channel = libraryAt(deps, kept)
    const signal = AbortSignal.timeout(DELETION_TIMEOUT_MS)
    return deps.libraryConcurrency.run(channel.id, () => work({ channel, signal, requestId }))
  }
  return {
    deleteAsset: async (key) => {
      const known = await findOwnAsset(deps, key)
      requireChangeable(known.asset)
      await within(known.asset, key, async (call) => {
        await withdrawAsset(deps, actorOf(deps, key), known.asset.assetId)
        deps.crashPoint('asset.after-withdrawn')
        await finishOrDefer(() => deleteWithdrawn(deps, known, call))
      })
    },
    deleteGroup: async (key) => {
      const known = await findOwnGroup(deps, key)
      requireChangeable(known.group)
      await within(known.group, key, async (call) => {
        const by = actorOf(deps, key)
        await onGroup(deps, known.group.groupId, { kind: 'withdraw', by }, contextOf(by))
        deps.crashPoint('asset.after-group-withdrawn')
        await finishOrDefer(async () => {
          await deleteGroupUpstream(deps, known, by, call)
          return true
        })
      })
    },
  }
}

async function withdrawAsset(deps: AssetDeps, by: AssetActor, assetId: string): Promise<void> {
  await onAsset(deps, assetId, { kind: 'withdraw', by }, contextOf(by))
}

/** Leaves unfinished work to the background. `work` returns whether it is finished. */
async function finishOrDefer(work: () => Promise<boolean>): Promise<void> {
  const isDone = await work().catch((error: unknown) => {
    if (error instanceof ProviderError) throw notDeletedYet(error)
    throw isDomainError(error) ? notDeletedYet({}) : error
  })
  if (!isDone) throw notDeletedYet({ retryAfterMs: NOT_CONFIRMED_RETRY_MS })
}

function notDeletedYet({ kind, retryAfterMs }: Partial<ProviderError>): DomainError {
  return new DomainError(
    'upstream_unavailable',
    'The object can no longer be used, but is not deleted yet; send the same deletion again',
    { kind, retryAfterMs },
  )
}

/** Takes the asset as it was before its withdrawal. */
async function deleteWithdrawn(
  deps: AssetDeps,
  known: RecordedAsset,
  call: LibraryCall,
): Promise<boolean> {
  if (known.phase !== 'refused') return deleteAssetUpstream(deps, known, call)
  // Upstream certainly never had it.
  await confirmAssetDeleted(deps, known.asset, call.requestId)
  return true
}

/**
 * Deletes a withdrawn asset upstream, and records that; returns whether it is done. An asset of
 * unknown outcome is searched for, because a young one may still appear. @throws ProviderError,
 * codes of the log
 */
export async function deleteAssetUpstream(
  deps: AssetDeps,
  known: Pick<KnownAsset, 'asset' | 'nativeId'>,
  call: LibraryCall,
): Promise<boolean> {
  const { channel, signal, requestId } = call
  const { asset } = known
  const { assetId, projectName } = asset
  // The age is that before the search.
  const mayArrive = isYoung(deps, fromTimestamp(asset.createdAt))
  const nativeId = known.nativeId ?? (await findAsset(deps, asset, call))
  if (nativeId === undefined) {
    if (!mayArrive) await confirmAssetDeleted(deps, asset, requestId)
    return !mayArrive
  }
  const options = callOptions(requestId ?? assetId, signal)
  await callPaced(deps, channel, 'delete', signal, () =>
    deps.provider.deleteAsset(channel, { nativeId, projectName }, options),
  )
  deps.crashPoint('asset.after-deletion')
  await confirmAssetDeleted(deps, asset, requestId)
  return true
}

/** Records that upstream does not have it any more. */
async function confirmAssetDeleted(
  deps: AssetDeps,
  { assetId, tenantId }: { readonly assetId: string; readonly tenantId: string },
  requestId?: string,
): Promise<void> {
  const at = toTimestamp(deps.clock.nowMs())
  await onAsset(
    deps,
    assetId,
    { kind: 'confirmDeleted', at },
    policyContext(deps, tenantId, requestId),
  )
}

/**
 * Withdraws every asset of a withdrawn group, deletes all upstream, and records it. It can be
 * repeated from any point. @throws ProviderError, DomainError `read_model_behind`, codes of the log
 */
export async function deleteGroupUpstream(
  deps: AssetDeps,
  { group, nativeId }: Pick<KnownGroup, 'group' | 'nativeId'>,
  by: AssetActor,
  { channel, signal, requestId }: LibraryCall,
): Promise<void> {
  const { groupId, projectName, tenantId } = group
  const assetIds = await assetsIn(deps, groupId)
  const turn = pLimit(AT_ONCE)
  const each = (work: (assetId: string) => Promise<void>) =>
    allSettledOrThrow(assetIds.map((assetId) => turn(() => work(assetId))))
  await each(async (assetId) => {
    const { phase } = await readAsset(deps.log, assetId)
    if (phase === 'none' || phase === 'withdrawn' || phase === 'deleted') return
    await withdrawAsset(deps, by, assetId)
    deps.crashPoint('asset.after-withdrawn')
  })
  if (nativeId !== undefined) {
    const options = callOptions(requestId ?? groupId, signal)
    await callPaced(deps, channel, 'delete', signal, () =>
      deps.provider.deleteGroup(channel, { nativeId, projectName }, options),
    )
  }
  deps.crashPoint('asset.after-deletion')
  await each((assetId) => confirmAssetDeleted(deps, { assetId, tenantId }, requestId))
  const at = toTimestamp(deps.clock.nowMs())
  const context = policyContext(deps, tenantId, requestId)
  await onGroup(deps, groupId, { kind: 'confirmDeleted', at }, context)
}

/** Every asset of a group that is not deleted, including those created a moment ago. */
async function assetsIn({ pool, log }: AssetDeps, groupId: string): Promise<readonly string[]> {
  await requireCaughtUp({ db: pool, log }, 'assets')
  return assetsOfGroup(pool, groupId)
}
