import type { AssetFault, AssetState, RecordedAsset } from '../../domain/asset/decider.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import type { SeenAsset } from '../ports/assets.ts'
import type { AssetDeps } from './deps.ts'
import { policyContext } from './actor.ts'
import { onAsset } from './streams.ts'

/** Upstream's failure of an asset without a reason. */
const NO_REASON = { code: 'ProcessingFailed', message: 'The asset could not be processed.' }
/** Upstream deleted it by itself. */
const GONE_UPSTREAM = {
  code: 'ResourceNotFound',
  message: 'The asset no longer exists.',
}

/** Whether a missing object may still appear: upstream's reads may be behind its writes. */
export function isYoung(
  { clock, assetLimits }: Pick<AssetDeps, 'clock' | 'assetLimits'>,
  createdAtMs: number,
): boolean {
  return clock.nowMs() - createdAtMs <= assetLimits.lostAfterMs
}

/** The change of an asset by upstream's answer; undefined for no change. */
export function stateChangeOf(
  deps: Pick<AssetDeps, 'clock' | 'assetLimits'>,
  createdAtMs: number,
  seen: SeenAsset | 'gone',
): 'active' | { readonly failed: AssetFault } | undefined {
  if (seen === 'gone') return isYoung(deps, createdAtMs) ? undefined : { failed: GONE_UPSTREAM }
  switch (seen.status) {
    case 'active':
      return 'active'
    case 'failed':
      return { failed: seen.error ?? NO_REASON }
    // An unknown status is no failure.
    case 'processing':
    case 'unknown':
      return undefined
  }
}

/** Records an asset's new state: the one way by which its state follows upstream's. */
export async function observeAsset(
  deps: AssetDeps,
  { asset }: Pick<RecordedAsset, 'asset'>,
  change: 'active' | { readonly failed: AssetFault },
  requestId?: string,
): Promise<AssetState> {
  deps.crashPoint('asset.before-observed')
  const command = { kind: 'observe', seen: change, at: toTimestamp(deps.clock.nowMs()) } as const
  return onAsset(deps, asset.assetId, command, policyContext(deps, asset.tenantId, requestId))
}
