import { waitForPosition } from '../../../projections/engine/checkpoint.ts'
import { type DuePoll, findKnownNativeIds } from '../../../projections/tasks/query.ts'
import type { TaskRequest } from '../../domain/task/state.ts'
import type { Channel } from '../ports.ts'
import { loadTask } from '../tasks/commands.ts'
import type { TaskDeps } from '../tasks/deps.ts'
import { familyOf } from '../tasks/refresh.ts'
import { providerOf } from '../tasks/upstream.ts'
import { type Listing, listSince } from './listing.ts'
import { earliestMs } from './match.ts'

/** What a round of reconciliation goes by: the requests as the log has them, upstream's lists. */

/** The read model must have seen every task of ours before a listed one counts as unknown. */
const CATCH_UP_MS = 10_000

/** A request without a known outcome, and the channels it may have gone through. */
export interface Open {
  readonly request: TaskRequest
  readonly phase: 'requested' | 'uncertain'
  readonly channels: readonly Channel[]
}

/** A due request; `settled` when the log has its outcome. @throws the log's codes */
export async function loadOpen(deps: TaskDeps, poll: DuePoll): Promise<Open | 'settled'> {
  const state = await loadTask(deps.log, poll.platformId)
  if (state.phase !== 'requested' && state.phase !== 'uncertain') return 'settled'
  const { request, phase } = state
  const { family, region, model } = request
  const serving = deps.channels.serving({ family, region, model })
  const first = deps.channels.byId(request.channelId)
  const channels = first === undefined || serving.includes(first) ? serving : [...serving, first]
  return { request, phase, channels }
}

/** What every channel concerned lists, once for all requests; never throws. */
export async function listAll(
  deps: TaskDeps,
  open: readonly Open[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Listing>> {
  const since = new Map<string, { readonly channel: Channel; readonly sinceMs: number }>()
  for (const { request, channels } of open) {
    for (const channel of channels) {
      const sinceMs = Math.min(
        since.get(channel.id)?.sinceMs ?? Number.MAX_SAFE_INTEGER,
        earliestMs(request),
      )
      since.set(channel.id, { channel, sinceMs })
    }
  }
  const listings = await Promise.all(
    [...since.values()].map(async ({ channel, sinceMs }): Promise<[string, Listing]> => {
      const provider = providerOf(deps, familyOf(channel))
      return [channel.id, await listSince(deps, provider, channel, sinceMs, signal)]
    }),
  )
  return new Map(listings)
}

/**
 * Native ids that are ours already. Read after the listing and after the read model passed the
 * log's end: whoever made a listed task had recorded its intent before (P1). Undefined when the
 * read model stays behind; then nothing is adopted.
 */
export async function knownOf(
  deps: TaskDeps,
  open: readonly Open[],
  listings: ReadonlyMap<string, Listing>,
): Promise<ReadonlySet<string> | undefined> {
  const markers = new Set(open.map(({ request }) => request.marker))
  const candidates = [...listings.values()]
    .flatMap(({ tasks }) => tasks)
    .filter(({ task }) => task.marker !== undefined && markers.has(task.marker))
  if (candidates.length === 0) return new Set()
  const end = await deps.log.endPosition()
  if (end === undefined) return undefined
  if (!(await waitForPosition(deps.pool, 'tasks', end, CATCH_UP_MS))) return undefined
  const [first] = open
  if (first === undefined) return new Set()
  return findKnownNativeIds(
    deps.pool,
    first.request.family,
    candidates.map(({ task }) => task.nativeId),
  )
}
