import { monotonicClock } from '../../../kernel/clock.ts'
import {
  type Channel,
  ProviderError,
  type TaskObservation,
  type TaskProvider,
} from '../../ports/provider.ts'
import type { TaskDeps } from '../deps.ts'
import { callOptions, callUpstream } from '../../channels/call-upstream.ts'
import type { ListedTask } from './match.ts'

/** What a channel's account has made since a time, as far as it can be listed. */

/** Tries of one page: what a list holds is worth more than one failed query of many. */
const PAGE_TRIES = 3
/** A list that takes longer is broken off; within a lease of the reconciler. */
const MAX_LISTING_MS = 300_000
/** Tasks kept of one list; with more that are looked for, it is not complete. */
const MAX_KEPT = 10_000
/** Tasks looked at to tell whether a list shows what there is. */
const MAX_SHOWN = 500

export interface Listing {
  /** Those that were looked for, each once. */
  readonly tasks: readonly ListedTask[]
  /** The newest of all, looked for or not; a bounded number. */
  readonly newest: readonly TaskObservation[]
  /** Whatever was made after this, Unix milliseconds, has been listed; ∞: nothing is certain. */
  readonly completeAfterMs: number
}

type Page = Awaited<ReturnType<TaskProvider['list']>>

/**
 * Lists newest first back to `sinceMs`, page by page. An upstream that fails or contradicts itself
 * gives what it gave so far, and says nothing of what is older.
 */
export async function listSince(
  deps: Pick<TaskDeps, 'logger' | 'metrics' | 'paces'>,
  provider: TaskProvider,
  wish: {
    readonly channel: Channel
    readonly sinceMs: number
    readonly wanted: (task: TaskObservation) => boolean
  },
  signal: AbortSignal,
): Promise<Listing> {
  const { channel, sinceMs, wanted } = wish
  const untilMs = monotonicClock.nowMs() + MAX_LISTING_MS
  const kept = new Map<string, ListedTask>()
  const newest: TaskObservation[] = []
  let place = firstPlace
  // A page may have to be read twice: see `follow`.
  for (let reads = 0; reads < 2 * provider.maxListPages; reads += 1) {
    const overdue = monotonicClock.nowMs() > untilMs || place.page > provider.maxListPages
    const answer = overdue ? undefined : await readPage(deps, provider, channel, place.page, signal)
    if (answer === undefined) break
    newest.push(...answer.items.slice(0, Math.max(0, MAX_SHOWN - newest.length)))
    for (const task of answer.items) if (wanted(task)) kept.set(task.nativeId, { channel, task })
    const next = follow(place, answer, provider.maxListSize, sinceMs)
    if (kept.size > MAX_KEPT) break
    place = next
    if (place.ended) break
  }
  return { tasks: [...kept.values()], newest, completeAfterMs: place.completeAfterMs }
}

/** How far a list has been followed. */
interface Place {
  /** The next page to read. */
  readonly page: number
  /** It is read for the second time, after something was taken out before it. */
  readonly again: boolean
  /** Tasks there were in all when the page before was read first, and how many a page takes. */
  readonly total: number
  readonly size: number
  readonly completeAfterMs: number
  /** Everything that was given could be read and fits together. */
  readonly sound: boolean
  readonly ended: boolean
}

const firstPlace: Place = {
  page: 1,
  again: false,
  total: 0,
  size: 0,
  completeAfterMs: Number.POSITIVE_INFINITY,
  sound: true,
  ended: false,
}

/**
 * Where a list goes on after a page. New tasks push others to later pages, so that some come twice
 * and none is missed. Taken out, as the total tells, they let others slip to a page that was read:
 * that one is read again.
 */
function follow(place: Place, answer: Page, askedSize: number, sinceMs: number): Place {
  const { page, again } = place
  const count = answer.items.length + answer.unreadable
  const total = answer.total ?? Number.POSITIVE_INFINITY
  const removed = page > 1 || again ? Math.max(0, place.total - total) : 0
  if (removed > 0 && !again) return { ...place, page: page - 1, again: true }
  // An upstream may give smaller pages than it was asked for.
  const size = page === 1 ? Math.min(askedSize, Math.max(1, count)) : place.size
  const listed = (page - 1) * size + count
  const isLast = count === 0 || listed >= total
  // A page with a gap, or a list that ends before its total, leaves out what may be ours.
  const isShort = answer.total !== undefined && count < size && listed < total
  const sound = place.sound && answer.unreadable === 0 && !isShort && removed <= size
  const newestMs = Math.max(...answer.items.map(({ createdAtMs }) => createdAtMs ?? Infinity))
  const passed = answer.items.length > 0 && newestMs < sinceMs
  return {
    page: page + 1,
    again: false,
    total: answer.total ?? 0,
    size,
    // Within a page the order is not relied on: what is younger than its youngest came before it.
    completeAfterMs: completeAfter(place.completeAfterMs, sound, isLast, newestMs),
    sound,
    ended: isLast || passed,
  }
}

function completeAfter(
  beforeMs: number,
  sound: boolean,
  isLast: boolean,
  newestMs: number,
): number {
  if (!sound) return beforeMs
  return isLast ? Number.NEGATIVE_INFINITY : Math.min(beforeMs, newestMs)
}

/** One page; undefined when it cannot be had. */
async function readPage(
  deps: Pick<TaskDeps, 'logger' | 'metrics' | 'paces'>,
  provider: TaskProvider,
  channel: Channel,
  page: number,
  signal: AbortSignal,
): Promise<Page | undefined> {
  for (let left = PAGE_TRIES - 1; ; left -= 1) {
    try {
      return await deps.paces
        .of(channel)
        .run(signal, () =>
          callUpstream(deps, channel, 'list', () =>
            provider.list(
              channel,
              { page, pageSize: provider.maxListSize },
              callOptions('policy-reconcile', signal),
            ),
          ),
        )
    } catch (error) {
      const kind = error instanceof ProviderError ? error.kind : 'stopped'
      if (left > 0 && !signal.aborted && (kind === 'unavailable' || kind === 'malformed')) continue
      deps.logger.warn({ channelId: channel.id, page, kind }, 'listing upstream failed')
      return undefined
    }
  }
}
