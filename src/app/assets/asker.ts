import type { AssetActor } from '../../domain/asset/decider.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { AssetDeps } from './deps.ts'
import type { Doing } from './streams.ts'
import type { Asking } from './types.ts'

/** Who asks, by which request: as events keep it. */
export function askerOf({ principal, requestId }: Asking): Omit<AssetActor, 'at'> {
  const { tenantId, userId, tokenId } = principal
  return { tenantId, userId, tokenId, requestId }
}

/** Who acts, and when. */
export function actorOf({ clock }: Pick<AssetDeps, 'clock'>, asking: Asking): AssetActor {
  return { ...askerOf(asking), at: toTimestamp(clock.nowMs()) }
}

/** A caller's own command: with the same request it is the same command. */
export function byCaller(asking: Asking): Doing {
  return doingOf(askerOf(asking))
}

/** Likewise, of whoever has asked before. */
export function doingOf({ tenantId, tokenId, requestId }: Omit<AssetActor, 'at'>): Doing {
  return { tenantId, tokenId, correlationId: requestId, commandId: requestId }
}

/** What names the requests that nobody asked for. */
export const POLICY_CORRELATION = 'policy-assets'

/** What we do by ourselves; `correlationId` is the request that made us, where one did. */
export function byPolicy(
  { clock }: Pick<AssetDeps, 'clock'>,
  tenantId: string,
  correlationId = POLICY_CORRELATION,
): Doing {
  return { tenantId, correlationId, commandId: newId('cmd', clock.nowMs()) }
}
