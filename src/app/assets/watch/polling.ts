import pLimit from 'p-limit'
import type { LRUCache } from 'lru-cache'
import { createLru } from '../../../kernel/lru.ts'
import type { AssetWork } from '../../../../projections/assets/query.ts'
import { callOptions } from '../../channels/call-upstream.ts'
import { callPaced } from '../../channels/paced-calls.ts'
import type { SeenAsset } from '../../ports/assets.ts'
import type { Channel } from '../../ports/provider.ts'
import type { AssetDeps } from '../deps.ts'
import { POLICY_CORRELATION } from '../actor.ts'

/** Polls the assets that upstream is processing, with as few requests as possible. */

/** One page of a list replaces this many single queries. */
const QUERIES_PER_PAGE = 4
/** Maximum pages read of the list of ended assets; single queries find older ones. */
const MAX_NEW_PAGES = 20
/** Twice the length of an account's list. */
const MAX_ENDED = 20_000
/** Single queries that wait for a turn at the same time: callers wait behind no more than these. */
const MAX_SINGLE_QUERIES = 8

/** Upstream's answer about one asset. */
export type PollResult = SeenAsset | 'gone'

/** Called once for each asset with an answer, as soon as it arrives. */
export type OnResult = (work: AssetWork, result: PollResult) => void

/** Ended assets in lists that no poll wanted yet, by upstream's ids at one account. */
type Ended = LRUCache<string, SeenAsset>

export function createEndedAssets(): Ended {
  return createLru(MAX_ENDED)
}

export interface PollOptions {
  readonly signal: AbortSignal
  /** Kept between polls: only new entries of the list are read, so earlier ones are kept. */
  readonly ended: Ended
  /**
   * Whether single assets that are not in the list of ended ones are queried too. Otherwise, if
   * many are wanted, only new entries of that list are read: assets that it does not have are still
   * being processed.
   */
  readonly isFull: boolean
}

/**
 * Polls these until the signal aborts, and calls `onResult` with each answer. Assets that could not be
 * queried get no call.
 */
export async function pollAssets(
  deps: AssetDeps,
  channel: Channel,
  works: readonly AssetWork[],
  onResult: OnResult,
  { signal, ended, isFull }: PollOptions,
): Promise<void> {
  for (const scope of scopesOf(works)) {
    const wanted = new Map<string, AssetWork>()
    for (const work of scope) if (work.nativeId !== null) wanted.set(work.nativeId, work)
    const poll = { deps, channel, wanted, ended, onResult, signal }
    for (const nativeId of wanted.keys()) report(poll, ended.get(nativeId))
    const isMany = wanted.size >= QUERIES_PER_PAGE
    const isAnswered = await readList(poll, 'ended')
    if (isMany && !isFull) continue
    // In this order: an asset that ends in between is in the second list.
    if (isAnswered && (await readList(poll, 'processing'))) await readList(poll, 'ended')
    // Assets in no list, or fewer than a page is worth.
    await queryEach(poll)
  }
}

/** Groups the assets that one list can show. */
function scopesOf(works: readonly AssetWork[]): readonly (readonly AssetWork[])[] {
  const scopes = new Map<string, AssetWork[]>()
  for (const work of works) {
    const key = JSON.stringify([work.projectName, work.groupType])
    const scope = scopes.get(key)
    if (scope === undefined) scopes.set(key, [work])
    else scope.push(work)
  }
  return [...scopes.values()]
}

interface Poll {
  readonly deps: AssetDeps
  readonly channel: Channel
  /** Assets without an answer yet, by upstream's ids. */
  readonly wanted: Map<string, AssetWork>
  readonly ended: Ended
  readonly onResult: OnResult
  readonly signal: AbortSignal
}

/** Reports an answer; returns whether it was new: wanted, or ended and not known to have ended. */
function report({ wanted, ended, onResult }: Poll, seen: SeenAsset | undefined): boolean {
  if (seen === undefined) return false
  const { nativeId } = seen
  const work = wanted.get(nativeId)
  if (work !== undefined) {
    wanted.delete(nativeId)
    onResult(work, seen)
  }
  return work !== undefined || ended.get(nativeId) === undefined
}

/**
 * Reports the entries of a list, newest first: ended ones as long as they are new, others as long
 * as the list may save requests. Returns whether upstream answered.
 */
async function readList(poll: Poll, status: 'processing' | 'ended'): Promise<boolean> {
  const { deps, channel, wanted, ended, signal } = poll
  const isEnded = status === 'ended'
  const { provider } = deps
  const [first] = wanted.values()
  if (first === undefined) return true
  const { groupType, projectName } = first
  const pageSize = provider.maxPageSize
  const worth = Math.floor(wanted.size / QUERIES_PER_PAGE)
  const maxPages = Math.floor(provider.maxListed / pageSize)
  const lastPage = Math.min(maxPages, isEnded && worth > 0 ? Math.max(worth, MAX_NEW_PAGES) : worth)
  const read: SeenAsset[] = []
  for (let pageNumber = 1; pageNumber <= lastPage; pageNumber += 1) {
    if (wanted.size === 0 && !isEnded) break
    const page = { groupType, projectName, standing: status, pageNumber, pageSize }
    const listed = await callPaced(deps, channel, 'list', signal, () =>
      provider.listAssets(channel, page, callOptions(POLICY_CORRELATION, signal)),
    ).catch(() => undefined)
    if (listed === undefined) return false
    const newCount = listed.items.filter((seen) => report(poll, seen)).length
    read.push(...listed.items)
    const isLast = pageNumber * pageSize >= (listed.total ?? Number.POSITIVE_INFINITY)
    if (listed.items.length === 0 || isLast || (isEnded && newCount === 0)) break
  }
  // Only after complete reading: if it was interrupted, all entries count as new again. Reported
  // ones are kept as well.
  if (isEnded) for (const seen of read) ended.set(seen.nativeId, { ...seen, url: undefined })
  return true
}

async function queryEach({ deps, channel, wanted, onResult, signal }: Poll): Promise<void> {
  await pLimit(MAX_SINGLE_QUERIES).map(wanted.values(), async (work) => {
    const { nativeId, projectName } = work
    if (nativeId === null || signal.aborted) return
    const key = { nativeId, projectName }
    const result = await callPaced(deps, channel, 'get', signal, () =>
      deps.provider.getAsset(channel, key, callOptions(POLICY_CORRELATION, signal)),
    ).catch(() => undefined)
    if (result !== undefined && !signal.aborted) onResult(work, result)
  })
}
