import type { TaskRequest } from '../../../domain/task/state.ts'
import { fromTimestamp, toTimestamp } from '../../../kernel/clock.ts'
import type { Channel } from '../../ports/provider.ts'
import type { Listing } from './listing.ts'
import { type ListedTask, listFromMs, mayBeUnmarked, sendingTimeMs } from './match.ts'
import { executeTaskCommand, newCommandId } from '../task-log.ts'
import type { TaskDeps } from '../deps.ts'

/**
 * Decides when a submission without an outcome certainly is not upstream: pure, in milliseconds.
 * Two complete lists, each begun after upstream could no longer accept it, must lack its marker.
 */

/** Upstream may queue a request for this long after the gateway gave up on it. */
export const ACCEPTANCE_GRACE_MS = 120_000
/** The two lists begin at least this far apart. */
export const LIST_INTERVAL_MS = 60_000

/** The result of the lists of one look. */
export interface ListSnapshot {
  /** Lists by channel id. */
  readonly listings: ReadonlyMap<string, Listing>
  /** Listed tasks that the gateway knows, with their markers. */
  readonly known: ReadonlyMap<string, string>
  /** Start of the look, Unix milliseconds. */
  readonly askedMs: number
}

/** After this upstream does not accept the request any more. */
export function latestAcceptanceMs(request: TaskRequest, channels: readonly Channel[]): number {
  return fromTimestamp(request.requestedAt) + sendingTimeMs(channels) + ACCEPTANCE_GRACE_MS
}

/** Whether the lists of all these channels reach back to before the request was sent. */
export function coverStart(
  request: TaskRequest,
  channels: readonly Channel[],
  listings: ReadonlyMap<string, Listing>,
): boolean {
  const fromMs = listFromMs(request)
  return (
    channels.length > 0 &&
    channels.every(({ id }) => (listings.get(id)?.completeAfterMs ?? Infinity) < fromMs)
  )
}

/**
 * Whether a look without the request's marker proves that upstream does not have it; `channels` are
 * those still configured. It proves nothing if the request may have used a channel that is not
 * among them or was never recorded.
 */
export function provesAbsence(
  request: TaskRequest,
  channels: readonly Channel[],
  look: ListSnapshot,
): boolean {
  const { listings, known, askedMs } = look
  const sentBy = channels.filter(({ id }) => request.channelIds?.includes(id))
  if (!request.markerIsOurs || sentBy.length < (request.channelIds?.length ?? 1)) return false
  if (askedMs < latestAcceptanceMs(request, sentBy)) return false
  if (!coverStart(request, sentBy, listings)) return false
  return sentBy.every(({ id }) => {
    const listing = listings.get(id)
    const mayBeOurs = (one: ListedTask): boolean =>
      one.task.marker === request.marker ||
      (!known.has(one.task.nativeId) && mayBeUnmarked(request, one))
    return listing !== undefined && showsMarkers(listing, known) && !listing.tasks.some(mayBeOurs)
  })
}

/**
 * Whether a channel shows its tasks: some task of ours, with its marker. An empty list may be
 * another account's, and a list without our markers cannot show one.
 */
function showsMarkers({ newest }: Listing, known: ReadonlyMap<string, string>): boolean {
  return newest.some(
    ({ nativeId, marker }) => marker !== undefined && known.get(nativeId) === marker,
  )
}

/** Whether a second look, begun at `askedMs`, is late enough after the first to confirm it. */
export function isConfirmed(firstMs: number | undefined, askedMs: number): firstMs is number {
  return firstMs !== undefined && askedMs >= firstMs + LIST_INTERVAL_MS
}

/**
 * Ends a submission that upstream certainly never accepted, unless it was adopted since. Returns
 * whether it has ended. @throws the log's codes; the next look repeats the proof
 */
export async function giveUp(
  deps: TaskDeps,
  task: { readonly platformId: string; readonly tenantId: string },
  /** Starts of the two looks, Unix milliseconds. */
  looks: { readonly firstMs: number; readonly lastMs: number },
): Promise<boolean> {
  const { platformId, tenantId } = task
  const nowMs = deps.clock.nowMs()
  deps.crashPoint('reconcile.before-give-up')
  const { events, state } = await executeTaskCommand(
    deps,
    platformId,
    {
      kind: 'not-accepted',
      firstSeenAt: toTimestamp(looks.firstMs),
      lastSeenAt: toTimestamp(looks.lastMs),
      at: toTimestamp(nowMs),
    },
    newCommandId(nowMs),
    { correlationId: 'policy-reconcile', tenantId },
  )
  deps.crashPoint('reconcile.after-give-up')
  if (state.phase !== 'ended') return false
  if (events.length === 0) return true
  deps.metrics.ended.inc({ model: state.request.model, status: 'failed' })
  deps.logger.warn({ platformId, tenantId }, 'submission never accepted upstream: given up')
  return true
}
