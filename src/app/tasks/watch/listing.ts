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

/** The tasks of a channel's account since a time, as far as it lists them. */

/** Tries of one page: one failed query must not discard the whole list. */
const PAGE_TRIES = 3
/** A longer listing is aborted; less than a lease of the reconciler. */
const MAX_LISTING_MS = 300_000
/** Tasks kept of one list; if more match, it is not complete. */
const MAX_KEPT = 10_000
/** Tasks kept to check whether a list shows markers. */
const MAX_SHOWN = 500

export interface Listing {
  /** The matching tasks, each once. */
  readonly tasks: readonly ListedTask[]
  /** The newest tasks, matching or not; a bounded number. */
  readonly newest: readonly TaskObservation[]
  /** All tasks made after this time, Unix milliseconds, were listed; ∞: no task certainly was. */
  readonly completeAfterMs: number
}

type ListedPage = Awaited<ReturnType<TaskProvider['list']>>

/**
 * Lists newest first back to `sinceMs`, page by page. If upstream fails or contradicts itself, the
 * result has the tasks read so far and claims nothing about older ones.
 */
export async function listSince(
  deps: Pick<TaskDeps, 'logger' | 'metrics' | 'paces'>,
  provider: TaskProvider,
  range: {
    readonly channel: Channel
    readonly sinceMs: number
    readonly wanted: (task: TaskObservation) => boolean
  },
  signal: AbortSignal,
): Promise<Listing> {
  const { channel, sinceMs, wanted } = range
  const untilMs = monotonicClock.nowMs() + MAX_LISTING_MS
  const kept = new Map<string, ListedTask>()
  const newest: TaskObservation[] = []
  let place = firstCursor
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
interface ListCursor {
  /** The next page to read. */
  readonly page: number
  /** Whether the page is read for the second time, because a task before it was removed. */
  readonly again: boolean
  /** The total when the page before was first read, and the size of a page. */
  readonly total: number
  readonly size: number
  readonly completeAfterMs: number
  /** All answers so far were readable and consistent. */
  readonly sound: boolean
  readonly ended: boolean
}

const firstCursor: ListCursor = {
  page: 1,
  again: false,
  total: 0,
  size: 0,
  completeAfterMs: Number.POSITIVE_INFINITY,
  sound: true,
  ended: false,
}

/**
 * Finds the page with which a list continues. New tasks push others to later pages, so some appear
 * twice and none is missed. Removed tasks, which the total shows, pull others onto a page that was
 * read already: that page is read again.
 */
function follow(
  place: ListCursor,
  answer: ListedPage,
  askedSize: number,
  sinceMs: number,
): ListCursor {
  const { page, again } = place
  const count = answer.items.length + answer.unreadable
  const total = answer.total ?? Number.POSITIVE_INFINITY
  const removed = page > 1 || again ? Math.max(0, place.total - total) : 0
  if (removed > 0 && !again) return { ...place, page: page - 1, again: true }
  // Upstream may return smaller pages than requested.
  const size = page === 1 ? Math.min(askedSize, Math.max(1, count)) : place.size
  const listed = (page - 1) * size + count
  const isLast = count === 0 || listed >= total
  // A page with a gap, or a list that ends before its total, may leave out our task.
  const isShort = answer.total !== undefined && count < size && listed < total
  const sound = place.sound && answer.unreadable === 0 && !isShort && removed <= size
  const newestMs = Math.max(...answer.items.map(({ createdAtMs }) => createdAtMs ?? Infinity))
  const passed = answer.items.length > 0 && newestMs < sinceMs
  return {
    page: page + 1,
    again: false,
    total: answer.total ?? 0,
    size,
    // The order within a page is not relied on: tasks younger than its youngest came before it.
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

/** One page; undefined when it cannot be read. */
async function readPage(
  deps: Pick<TaskDeps, 'logger' | 'metrics' | 'paces'>,
  provider: TaskProvider,
  channel: Channel,
  page: number,
  signal: AbortSignal,
): Promise<ListedPage | undefined> {
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
