import type { AssetActor } from '../../domain/asset/decider.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { AssetDeps } from './deps.ts'
import type { AssetCommandContext } from './streams.ts'
import type { LibraryRequest } from './types.ts'

/** The token and request of a caller, as events record them. */
export function callerOf({ principal, requestId }: LibraryRequest): Omit<AssetActor, 'at'> {
  const { tenantId, userId, tokenId } = principal
  return { tenantId, userId, tokenId, requestId }
}

/** The caller, with the present time. */
export function actorOf({ clock }: Pick<AssetDeps, 'clock'>, request: LibraryRequest): AssetActor {
  return { ...callerOf(request), at: toTimestamp(clock.nowMs()) }
}

/** A caller's own command: the same request gives the same command. */
export function callerContext(request: LibraryRequest): AssetCommandContext {
  return contextOf(callerOf(request))
}

/** The actor of an earlier request, from its token. */
export function contextOf({
  tenantId,
  tokenId,
  requestId,
}: Omit<AssetActor, 'at'>): AssetCommandContext {
  return { tenantId, tokenId, correlationId: requestId, commandId: requestId }
}

/** Correlation id of work without a request. */
export const POLICY_CORRELATION = 'policy-assets'

/** A command of the gateway itself; `correlationId` is the request that led to it, if any. */
export function policyContext(
  { clock }: Pick<AssetDeps, 'clock'>,
  tenantId: string,
  correlationId = POLICY_CORRELATION,
): AssetCommandContext {
  return { tenantId, correlationId, commandId: newId('cmd', clock.nowMs()) }
}
