import { CountedTotals, findAssets, findGroups } from '../../../projections/assets/query.ts'
import type { RecordedAsset } from '../../domain/asset/decider.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { isDomainError } from '../../kernel/errors.ts'
import { catchUp } from '../access/own-writes.ts'
import { callOptions, callUpstream, REFRESH_TIMEOUT_MS } from '../channels/call-upstream.ts'
import { ProviderError } from '../ports/provider.ts'
import type { AssetDeps } from './deps.ts'
import { observeAsset, stateChangeOf } from './observe.ts'
import { findOwnAsset, findOwnGroup } from './owned-objects.ts'
import { libraryRegionOf, projectOf } from './library.ts'
import type { AssetGroupListing, AssetUseCases } from './types.ts'
import { assetViewOf, faultOf, groupViewOf, statusOf } from './view.ts'

/** Reads single objects from the log and, if needed, upstream; lists from our records. */
export function createReads(
  deps: AssetDeps,
): Pick<AssetUseCases, 'getAsset' | 'getGroup' | 'listAssets' | 'listGroups'> {
  const counted = new CountedTotals()
  return {
    getAsset: async (key) => {
      const known = await findOwnAsset(deps, key)
      const { state, url } = await refreshed(deps, known, key.requestId)
      return assetViewOf(state, url)
    },
    getGroup: async (key) => groupViewOf(await findOwnGroup(deps, key)),
    listAssets: async (listing) => {
      const { statuses } = listing
      const filter = await filterOf(deps, listing)
      const { rows, total } = await findAssets(deps.pool, { ...filter, statuses }, counted)
      const items = rows.map(({ state: phase, errorCode, errorMessage, ...row }) => {
        const error =
          errorCode === null ? undefined : { code: errorCode, message: errorMessage ?? '' }
        const view = { status: statusOf(phase), error: faultOf({ phase, error }), url: undefined }
        return { ...row, ...view }
      })
      return { items, total }
    },
    listGroups: async (listing) => {
      const { rows, total } = await findGroups(deps.pool, await filterOf(deps, listing), counted)
      return { items: rows, total }
    },
  }
}

/** The filter of a list, after the read model has the writes of this process for the tenant. */
async function filterOf(deps: AssetDeps, listing: AssetGroupListing) {
  const { model, principal, projectName, requestId: _requestId, ...filter } = listing
  const region =
    model === undefined ? undefined : libraryRegionOf(deps, { principal, model }).region
  const { tenantId, userId } = principal
  await deps.readModels.requireCurrent('assets')
  await catchUp(deps, 'assets', tenantId)
  return { ...filter, region, tenantId, userId, projectName: projectOf(projectName) }
}

/**
 * Queries upstream for its state and URL. A caller's read does not wait: while the library is busy
 * or unavailable, the caller gets the recorded state.
 */
async function refreshed(
  deps: AssetDeps,
  state: RecordedAsset,
  requestId: string,
): Promise<{ readonly state: RecordedAsset; readonly url: string | undefined }> {
  const { asset, nativeId, phase } = state
  const channel = deps.channels.byId(asset.channelId)
  const isPolled = phase === 'processing' || phase === 'active'
  if (!isPolled || nativeId === undefined || channel?.library === undefined)
    return { state, url: undefined }
  const key = { nativeId, projectName: asset.projectName }
  const options = callOptions(requestId, AbortSignal.timeout(REFRESH_TIMEOUT_MS))
  try {
    const seen = await deps.paces
      .of(channel)
      .tryRun(() =>
        callUpstream(deps, channel, 'get', () => deps.provider.getAsset(channel, key, options)),
      )
    if (seen === undefined) return { state, url: undefined }
    const url = seen === 'gone' ? undefined : seen.url
    const createdAtMs = fromTimestamp(asset.createdAt)
    const change = phase === 'processing' ? stateChangeOf(deps, createdAtMs, seen) : undefined
    if (change === undefined) return { state, url }
    const next = await observeAsset(deps, state, change, requestId)
    return { state: next.phase === 'none' ? state : next, url }
  } catch (error) {
    // A later poll can record upstream's answer.
    if (isDomainError(error))
      deps.logger.warn(
        { assetId: asset.assetId, requestId, err: error },
        'the new state of an asset could not be recorded',
      )
    else if (!(error instanceof ProviderError)) throw error
    return { state, url: undefined }
  }
}
