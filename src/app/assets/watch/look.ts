import pLimit from 'p-limit'
import { LRUCache } from 'lru-cache'
import type { AssetWork } from '../../../../projections/assets/query.ts'
import { callOptions } from '../../channels/call-upstream.ts'
import { askInTurn } from '../../channels/in-turn.ts'
import type { SeenAsset } from '../../ports/assets.ts'
import type { Channel } from '../../ports/provider.ts'
import type { AssetDeps } from '../deps.ts'
import { POLICY_CORRELATION } from '../asker.ts'

/** Looks at what upstream works on, with as few requests as it takes. */

/** A page of a list is worth asking for as many by themselves. */
const PAGE_IS_WORTH = 4
/** News is read so far at most; a look at each finds what lies further. */
const NEWS_PAGES = 20
/** Twice as much as a list shows of an account. */
const MAX_ENDED = 20_000
/** Waiting at once for a turn to be asked for by itself: callers wait behind no more than these. */
const SINGLE_AT_ONCE = 8

/** What upstream says of one. */
export type Looked = SeenAsset | 'gone'

/** Called once for each that upstream says something of, as soon as it does. */
export type Told = (work: AssetWork, looked: Looked) => void

/** What upstream has been seen to have ended and was not looked for yet, by its ids at one account. */
export type Ended = LRUCache<string, SeenAsset>

export function createEnded(): Ended {
  return new LRUCache({ max: MAX_ENDED })
}

export interface LookOptions {
  readonly signal: AbortSignal
  /** Kept from look to look: a list is read as far as it is news, so what it showed too early is kept. */
  readonly ended: Ended
  /**
   * Looks at each, also at those that no list of what has ended shows. Without it many are looked for
   * in the news of that list alone: what it does not show is worked on.
   */
  readonly isWhole: boolean
}

/**
 * Looks at these until the signal ends it, and tells what is seen of each. Those that upstream could not
 * be asked about are not told of.
 */
export async function lookAtAll(
  deps: AssetDeps,
  channel: Channel,
  works: readonly AssetWork[],
  told: Told,
  { signal, ended, isWhole }: LookOptions,
): Promise<void> {
  for (const scope of scopesOf(works)) {
    const wanted = new Map<string, AssetWork>()
    for (const work of scope) if (work.nativeId !== null) wanted.set(work.nativeId, work)
    const place = { deps, channel, wanted, ended, told, signal }
    for (const nativeId of wanted.keys()) show(place, ended.get(nativeId))
    const isMany = wanted.size >= PAGE_IS_WORTH
    const isAnswered = await isListed(place, 'ended')
    if (isMany && !isWhole) continue
    // In this order: what ends in between is in the second list.
    if (isAnswered && (await isListed(place, 'processing'))) await isListed(place, 'ended')
    // What no list shows, or what is fewer requests this way.
    await askForEach(place)
  }
}

/** Those that stand in one list. */
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

interface Looking {
  readonly deps: AssetDeps
  readonly channel: Channel
  /** What nothing is known of yet, by upstream's ids. */
  readonly wanted: Map<string, AssetWork>
  readonly ended: Ended
  readonly told: Told
  readonly signal: AbortSignal
}

/** Tells of what was seen; whether it was news: wanted, or ended and not known to have. */
function show({ wanted, ended, told }: Looking, seen: SeenAsset | undefined): boolean {
  if (seen === undefined) return false
  const { nativeId } = seen
  const work = wanted.get(nativeId)
  if (work !== undefined) {
    wanted.delete(nativeId)
    told(work, seen)
  }
  return work !== undefined || ended.get(nativeId) === undefined
}

/**
 * Tells of what a list shows, newest first: of what has ended as long as it is news, else for as long as it may take
 * fewer requests than asking for each. Whether upstream could be asked.
 */
async function isListed(looking: Looking, standing: 'processing' | 'ended'): Promise<boolean> {
  const { deps, channel, wanted, ended, signal } = looking
  const isNews = standing === 'ended'
  const { provider } = deps
  const [first] = wanted.values()
  if (first === undefined) return true
  const { groupType, projectName } = first
  const pageSize = provider.maxPageSize
  const worth = Math.floor(wanted.size / PAGE_IS_WORTH)
  const reach = Math.floor(provider.maxListed / pageSize)
  const lastPage = Math.min(reach, isNews && worth > 0 ? Math.max(worth, NEWS_PAGES) : worth)
  const read: SeenAsset[] = []
  for (let pageNumber = 1; pageNumber <= lastPage; pageNumber += 1) {
    if (wanted.size === 0 && !isNews) break
    const page = { groupType, projectName, standing, pageNumber, pageSize }
    const listed = await askInTurn(deps, channel, 'list', signal, () =>
      provider.listAssets(channel, page, callOptions(POLICY_CORRELATION, signal)),
    ).catch(() => undefined)
    if (listed === undefined) return false
    const news = listed.items.filter((seen) => show(looking, seen)).length
    read.push(...listed.items)
    const isLast = pageNumber * pageSize >= (listed.total ?? Number.POSITIVE_INFINITY)
    if (listed.items.length === 0 || isLast || (isNews && news === 0)) break
  }
  // Only now: where reading broke off, all of it is news once more. What was told is kept too.
  if (isNews) for (const seen of read) ended.set(seen.nativeId, { ...seen, url: undefined })
  return true
}

async function askForEach({ deps, channel, wanted, told, signal }: Looking): Promise<void> {
  await pLimit(SINGLE_AT_ONCE).map(wanted.values(), async (work) => {
    const { nativeId, projectName } = work
    if (nativeId === null || signal.aborted) return
    const key = { nativeId, projectName }
    const looked = await askInTurn(deps, channel, 'get', signal, () =>
      deps.provider.getAsset(channel, key, callOptions(POLICY_CORRELATION, signal)),
    ).catch(() => undefined)
    if (looked !== undefined && !signal.aborted) told(work, looked)
  })
}
