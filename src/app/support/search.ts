import { listTenants, ownersNamed, searchTokens } from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { SearchScope } from '../../../projections/engine/search.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import { creditsByPrefix, grantsByReference, linesById } from '../../../projections/ledger/query.ts'
import {
  type FoundSources,
  sourcesByKey,
  sourcesByNote,
  sourcesByPrefix,
  sourcesByUpstreamRequest,
  summariesOf,
} from '../../../projections/timeline/query.ts'
import { unreachable } from '../../kernel/assert.ts'
import { type Clock, toTimestamp } from '../../kernel/clock.ts'
import { timesOfUlid } from '../../kernel/ids.ts'
import { refusedRequests } from './refusal-list.ts'
import {
  ofOwner,
  ofPosting,
  ofRefused,
  ofSource,
  withNote,
  ofToken,
  type SearchItem,
  type Unmatched,
} from './search-items.ts'
import { type Lookup, MAX_WORDS, type Word, wordsIn } from './words.ts'

/** Finds calls, tasks, tokens and the like by an id, its beginning, a name, or a text that holds ids. */

export interface SearchResult {
  readonly items: readonly SearchItem[]
  /** Whether the text stands for more. */
  readonly more: boolean
  /** Hints follow from the text, and from what the scope itself has, never from what others have (P8). */
  readonly hints: readonly string[]
}

export interface SearchDeps {
  readonly db: Queryable
  /** Position of the log's last event, undefined while it is empty. */
  readonly logEnd: () => Promise<bigint | undefined>
  readonly clock: Clock
  /** The hash of an `Idempotency-Key`, as events have it. */
  readonly keyHash: (key: string) => string
  /** The call that a tenant's id of a kept answer names; undefined for any other text. */
  readonly callOfAnswer: (tenantId: string, answerId: string) => string | undefined
}

export interface SearchRequest {
  readonly text: string
  readonly scope: SearchScope
  /** Whether the asker sees all tenants, also where the scope is narrowed to one. */
  readonly isOperator: boolean
  /** A day of the tenant in which request ids of providers are looked for, which have no index. */
  readonly day: { readonly fromMs: number; readonly toMs: number } | undefined
  readonly limit: number
}

export type Search = (request: SearchRequest) => Promise<SearchResult>

/** A read model that is behind is waited for this long before nothing is found. */
const CURRENT_WAIT_MS = 1_000
/** Tenants for which an operator's response id is opened in turn. */
const MAX_OPENED = 10_000
/** From so many characters on, a ULID begins a second or less of ids. */
const SELECTIVE_PREFIX = 8
const WHOLE_REQUEST_ID = 'req_'.length + 26
/** Characters of a ULID that say its time. */
const ULID_TIME = 10
const FIRST_YEAR_MS = Date.UTC(2020, 0)
const DAY_MS = 86_400_000
const CUT_HINT =
  'not all that may match was read, 5,000 of a beginning, the last 20,000 events of a day or the newest 2,000 notes: add characters, or the id of the tenant'

export function createSearch(deps: SearchDeps): Search {
  return async (request) => {
    const { text, limit } = request
    const { words, left } = wordsIn(text)
    const find = () => foundOf(deps, words, { ...request, limit: limit + 1 })
    let { items, isCut } = await find()
    const hints = [...hintsOf(words, left)]
    if (items.length === 0 && words.length > 0) {
      // What was written a moment ago, on any replica, is found.
      if (await isCurrent(deps)) ({ items, isCut } = await find())
      else hints.push('the latest events are not read yet: search again in a moment')
    }
    if (isCut) hints.push(CUT_HINT)
    if (items.length === 0) hints.push(...absenceHints(deps, words, request))
    return { items: items.slice(0, limit), more: items.length > limit, hints }
  }
}

/** Waits until the timeline has what the log has now. */
async function isCurrent({ db, logEnd }: SearchDeps): Promise<boolean> {
  const end = await logEnd()
  return end === undefined || waitForPosition(db, 'timeline', end, CURRENT_WAIT_MS)
}

async function foundOf(
  deps: SearchDeps,
  words: readonly Word[],
  request: SearchRequest,
): Promise<{ readonly items: readonly SearchItem[]; readonly isCut: boolean }> {
  const { scope, limit } = request
  const found = new Map<string, SearchItem>()
  let isCut = false
  for (const word of words) {
    const find = (by: readonly Lookup[]) =>
      Promise.all(by.map((one) => itemsOf(deps, one, request)))
    let items = await find(word.lookups)
    if (items.every(({ sourceIds, others }) => sourceIds.length + others.length === 0))
      items = await find(word.otherwise)
    isCut ||= items.some((one) => one.isCut)
    const sources = await describedSources(
      deps,
      items.flatMap(({ sourceIds }) => sourceIds),
      scope,
    )
    const notes = new Map(items.flatMap((one) => [...(one.notes ?? [])]))
    for (const item of [
      ...sources.map((source) => withNote(source, notes)),
      ...items.flatMap(({ others }) => others),
    ]) {
      const key = `${item.kind} ${item.tenantId} ${item.id}`
      if (!found.has(key)) found.set(key, { ...item, matched: word.text })
    }
    if (found.size >= limit) break
  }
  return { items: [...found.values()].slice(0, limit), isCut }
}

/** The result of one lookup: ids whose events describe them, and things that are described already. */
interface LookedUp {
  readonly sourceIds: readonly string[]
  readonly others: readonly Unmatched[]
  /** Notes by which ids were found. */
  readonly notes?: ReadonlyMap<string, string>
  /** Whether there was more to read than is read. */
  readonly isCut: boolean
}

const nothing: FoundSources = { ids: [], isCut: false }
const sourcesOnly = ({ ids, isCut }: FoundSources): LookedUp => ({
  sourceIds: ids,
  others: [],
  isCut,
})
const othersOnly = (others: readonly Unmatched[]): LookedUp => ({
  sourceIds: [],
  others,
  isCut: false,
})

async function itemsOf(
  deps: SearchDeps,
  lookup: Lookup,
  { scope, isOperator, day, limit }: SearchRequest,
): Promise<LookedUp> {
  const { db, clock } = deps
  switch (lookup.by) {
    case 'source':
    case 'call':
      return sourcesOnly(
        await sourcesByPrefix(db, { naming: lookup.by, prefix: lookup.prefix }, scope, limit),
      )
    case 'nativeId': {
      // Ids of the asset library at a provider are for operators.
      const naming = isOperator ? 'nativeId' : 'task'
      return sourcesOnly(await sourcesByPrefix(db, { naming, prefix: lookup.prefix }, scope, limit))
    }
    case 'request':
      return requestsOf(deps, lookup.prefix, scope, limit)
    case 'response':
      return sourcesOnly({ ...nothing, ids: await callsOfAnswer(deps, lookup.id, scope) })
    case 'upstream': {
      const { tenantId } = scope
      if (day === undefined || tenantId === undefined) return sourcesOnly(nothing)
      const of = { id: lookup.id, ...day }
      return sourcesOnly(await sourcesByUpstreamRequest(db, of, { ...scope, tenantId }, limit))
    }
    case 'key':
      return sourcesOnly(await sourcesByKey(db, deps.keyHash(lookup.text), scope, limit))
    case 'line':
      return othersOnly((await linesById(db, lookup.id, scope)).map(ofPosting))
    case 'credit':
      return othersOnly((await creditsByPrefix(db, lookup.prefix, scope, limit)).map(ofPosting))
    case 'last_four': {
      const tokens = await searchTokens(db, { lastFour: lookup.text }, scope, limit)
      return othersOnly(tokens.map((token) => ofToken(token, clock.nowMs())))
    }
    case 'owner':
      return othersOnly((await ownersNamed(db, lookup.text, scope, limit)).map(ofOwner))
    case 'token_name': {
      const tokens = await searchTokens(db, { name: lookup.text }, scope, limit)
      return othersOnly(tokens.map((token) => ofToken(token, clock.nowMs())))
    }
    case 'reference':
      return othersOnly((await grantsByReference(db, lookup.text, scope, limit)).map(ofPosting))
    case 'note': {
      const noted = await sourcesByNote(db, lookup.text, { ...scope, isOperator }, limit)
      return { ...sourcesOnly(noted), notes: noted.notes }
    }
    default:
      return unreachable(lookup)
  }
}

/** Requests that began something, or else refused ones that are kept as samples. */
async function requestsOf(
  { db }: SearchDeps,
  prefix: string,
  scope: SearchScope,
  limit: number,
): Promise<LookedUp> {
  const [firstMs, lastMs] = timesOfUlid(prefix.slice(prefix.indexOf('_') + 1))
  const samples = { prefix, firstMs, lastMs }
  const { tenantId, userIds } = scope
  const [{ ids: sourceIds, isCut }, refused] = await Promise.all([
    sourcesByPrefix(db, { naming: 'request', prefix }, scope, limit),
    refusedRequests(db, samples, { tenantId, userIds }, limit),
  ])
  // A call that failed is counted as a refusal too: it is shown as a call.
  const isShown = sourceIds.length > 0 && prefix.length === WHOLE_REQUEST_ID
  return { sourceIds, others: isShown ? [] : refused.map(ofRefused), isCut }
}

/** The call whose answer a provider keeps under an id that is sealed for one tenant. */
async function callsOfAnswer(
  { db, callOfAnswer }: SearchDeps,
  responseId: string,
  { tenantId }: SearchScope,
): Promise<readonly string[]> {
  const tenants =
    tenantId === undefined
      ? (await listTenants(db, { limit: MAX_OPENED })).map((tenant) => tenant.tenantId)
      : [tenantId]
  for (const tenant of tenants) {
    const callId = callOfAnswer(tenant, responseId)
    if (callId !== undefined) return [callId]
  }
  return []
}

async function describedSources(
  { db, clock }: SearchDeps,
  sourceIds: readonly string[],
  scope: SearchScope,
): Promise<readonly Unmatched[]> {
  const ids = [...new Set(sourceIds)]
  if (ids.length === 0) return []
  const summaries = await summariesOf(db, ids, scope)
  const tokenIds = ids.filter((id) => id.startsWith('token_'))
  const tokens =
    tokenIds.length === 0 ? [] : await searchTokens(db, { ids: tokenIds }, scope, ids.length)
  const byId = new Map(tokens.map((token) => [token.tokenId, token]))
  return summaries.map((summary) => {
    const token = byId.get(summary.sourceId)
    return token === undefined ? ofSource(summary) : ofToken(token, clock.nowMs())
  })
}

function hintsOf(words: readonly Word[], left: number): readonly string[] {
  const isShort = words.some(({ ulid }) => ulid !== undefined && ulid.length < SELECTIVE_PREFIX)
  return [
    ...(left > 0 ? [`only the first ${MAX_WORDS} ids are looked up: ${left} more are in it`] : []),
    ...(isShort ? ['add characters where something is missing: many ids begin so'] : []),
  ]
}

/** What the text itself shows where nothing is found. */
function absenceHints(
  { clock }: SearchDeps,
  words: readonly Word[],
  { day }: SearchRequest,
): readonly string[] {
  const latestMs = clock.nowMs() + DAY_MS
  const times = words.flatMap(({ text, ulid = '' }) => {
    if (ulid.length < ULID_TIME) return []
    const [madeMs] = timesOfUlid(ulid.slice(0, ULID_TIME))
    // The ids of requests with a key are hashes, which show no time.
    return madeMs < FIRST_YEAR_MS || madeMs > latestMs
      ? []
      : [`${text} was made at ${toTimestamp(madeMs)}`]
  })
  const isRequest = words.some(({ lookups }) => lookups.some(({ by }) => by === 'request'))
  const isUpstream = words.some(({ otherwise }) => otherwise.some(({ by }) => by === 'upstream'))
  return [
    ...times,
    ...(isUpstream && day === undefined
      ? ['the request id of a provider is looked for in one day of one tenant: name both']
      : []),
    ...(isRequest
      ? [
          'of refused requests the last five of each hour, token, route and code are kept, for 14 days',
        ]
      : []),
  ]
}
