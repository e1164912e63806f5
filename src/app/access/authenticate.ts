import { timingSafeEqual } from 'node:crypto'
import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import { LRUCache } from 'lru-cache'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import { findTokenByHash, type FoundToken } from '../../../projections/access/query.ts'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import { tokenPrefixes, tokenStreams } from '../../domain/token/events.ts'
import type { EventLog, RecordedEvent, UnknownEvent } from '../../eventlog/log/types.ts'
import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { sha256Hex } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import { createRetryLog } from '../../kernel/retry-log.ts'
import { type Limits, limitsInForce, noLimits } from '../spending/throttle/holders.ts'
import { createSharedCatchUp } from './catch-up.ts'
import { TokenCache } from './token-cache.ts'
import type { Authenticate, Principal } from './principal.ts'
import { UnknownSecrets } from './unknown-secrets.ts'

/** From a bearer secret to who is calling. */

const MAX_SECRET_LENGTH = 256
const CATCH_UP_MS = 2_000
const MAX_CHANGED = 10_000
/** Tokens looked at again at once, of those that serve meanwhile. */
const MAX_REFRESHING = 8

export interface Authenticator {
  readonly authenticate: Authenticate
  /** Tells of an event of the log: what it changes is not served from memory again. */
  readonly noticed: (event: RecordedEvent) => void
  /** The same of an event that this program does not understand: whatever it says changes its token. */
  readonly noticedUnknown: (event: UnknownEvent) => void
}

export function createAuthenticator(deps: {
  readonly pool: Pool
  readonly log: EventLog
  readonly catalog: Catalog
  /** Says which tokens have ended. */
  readonly clock: Clock
  /** Says how long ago one was looked up. */
  readonly monotonic?: Clock
  readonly logger: Log
  /** Of tokens for which nothing else was said. */
  readonly defaultLimits?: Limits
  /** Of query tokens among them, which start nothing. */
  readonly queryLimits?: Limits
  /** Unknown secrets a minute that one address may try. */
  readonly unknownPerMinute?: number
  readonly registry?: Registry
}): Authenticator {
  const {
    pool,
    log,
    catalog,
    clock,
    monotonic = monotonicClock,
    logger,
    defaultLimits = noLimits,
  } = deps
  const { queryLimits = noLimits, unknownPerMinute = Number.MAX_SAFE_INTEGER } = deps
  const guesses = new UnknownSecrets(unknownPerMinute, monotonic, deps.registry)
  const cache = new TokenCache(monotonic)
  const refreshing = new Set<string>()
  const lookUps = createRetryLog(logger)
  /** Positions the read model must have passed before a token's row is believed. */
  const changed = new LRUCache<string, bigint>({ max: MAX_CHANGED })
  /** Counts what was noticed: a read that began before something was noticed is not kept. */
  let generation = 0
  const catchUp = createSharedCatchUp(async () => {
    const end = await log.endPosition()
    if (end !== undefined && !(await waitForPosition(pool, 'access', end, CATCH_UP_MS)))
      throw new Error('the access read model is behind the event log')
  })

  // A row that was read before a change arrives after it, however long another read has passed it.
  const remember = (hash: string, { token, readAt }: Read): void => {
    if (readAt === generation) cache.set(hash, token)
  }

  /** The row of a secret, no older than the changes noticed by then. */
  const read = async (hash: string): Promise<Read> => {
    for (;;) {
      const readAt = generation
      const token = await findTokenByHash(pool, hash)
      const position = token && changed.get(token.tokenId)
      if (token === undefined || position === undefined) return { token, readAt }
      if (!(await waitForPosition(pool, 'access', position, CATCH_UP_MS)))
        throw new Error('the access read model is behind a change of this token')
      if (changed.get(token.tokenId) === position) changed.delete(token.tokenId)
    }
  }

  /** In the background: whoever asks does not wait for what has not changed. */
  const refresh = async (hash: string): Promise<void> => {
    if (refreshing.size >= MAX_REFRESHING || refreshing.has(hash)) return
    refreshing.add(hash)
    try {
      remember(hash, await read(hash))
    } catch (error) {
      lookUps.failed({ err: error }, 'a token could not be looked up')
    } finally {
      refreshing.delete(hash)
    }
  }

  /** One that is in memory is asked for by nobody who guesses. */
  const remembered = (hash: string): { readonly token: FoundToken | undefined } | undefined => {
    const cached = cache.get(hash)
    if (cached?.isOld === true) void refresh(hash)
    return cached
  }

  const lookUp = async (hash: string): Promise<FoundToken | undefined> => {
    let found = await read(hash)
    if (found.token === undefined) {
      // It may have been issued a moment ago: the log has the last word on what does not exist.
      await catchUp()
      found = await read(hash)
    }
    lookUps.worked()
    remember(hash, found)
    return found.token
  }

  return {
    authenticate: async (secret, address) => {
      if (!isSecretShaped(secret)) return { ok: false, reason: 'unknown' }
      const hash = sha256Hex(secret)
      const tooMany = (waitMs: number) =>
        ({ ok: false, reason: 'too_many_unknown', waitMs }) as const
      try {
        const known = remembered(hash)
        const waitMs = known === undefined && address !== undefined ? guesses.waitMs(address) : 0
        if (waitMs > 0) return tooMany(waitMs)
        const { token } = known ?? { token: await lookUp(hash) }
        if (token === undefined || !sameHash(token.secretHash, hash)) {
          // Whoever sends one and the same again guesses nothing.
          const overMs = known === undefined && address !== undefined ? guesses.tried(address) : 0
          return overMs > 0 ? tooMany(overMs) : { ok: false, reason: 'unknown' }
        }
        const defaults = token.kind === 'query' ? queryLimits : defaultLimits
        return judge(catalog, token, clock.nowMs(), defaults)
      } catch (error) {
        lookUps.failed({ err: error }, 'a token could not be looked up')
        return { ok: false, reason: 'unavailable' }
      }
    },
    noticed: (event) => {
      if (event.type === 'TokenIssued') {
        generation += 1
        cache.delete(event.data.secretHash)
        return
      }
      if (!changesToken(event)) return
      generation += 1
      const { tokenId } = event.data
      cache.forget(tokenId)
      if (event.type === 'TokenRotated') cache.delete(event.data.secretHash)
      changed.set(tokenId, event.position)
    },
    noticedUnknown: ({ stream, position }) => {
      generation += 1
      const tokenId = stream.slice(tokenStreams.length)
      cache.forget(tokenId)
      changed.set(tokenId, position)
    },
  }
}

/** What a read found, and the generation that it began in. */
interface Read {
  readonly token: FoundToken | undefined
  readonly readAt: number
}

function isSecretShaped(secret: string): boolean {
  return (
    secret.length <= MAX_SECRET_LENGTH &&
    Object.values(tokenPrefixes).some((prefix) => secret.startsWith(prefix))
  )
}

function sameHash(known: string, given: string): boolean {
  const [a, b] = [Buffer.from(known), Buffer.from(given)]
  return a.length === b.length && timingSafeEqual(a, b)
}

const changingTypes = [
  'TokenRotated',
  'TokenLimitsChanged',
  'TokenUpdated',
  'TokenDisabled',
] as const
type ChangingType = (typeof changingTypes)[number]
const changing: ReadonlySet<string> = new Set(changingTypes)

function changesToken(
  event: RecordedEvent,
): event is Extract<RecordedEvent, { readonly type: ChangingType }> {
  return changing.has(event.type)
}

function judge(
  catalog: Catalog,
  token: FoundToken,
  nowMs: number,
  defaults: Limits,
): Awaited<ReturnType<Authenticate>> {
  if (token.disabledAtMs !== undefined) return { ok: false, reason: 'disabled' }
  const endMs = Math.min(
    token.expiresAtMs ?? Number.POSITIVE_INFINITY,
    token.secretValidUntilMs ?? Number.POSITIVE_INFINITY,
  )
  if (endMs <= nowMs) return { ok: false, reason: 'expired' }
  const principal: Principal = {
    tokenId: token.tokenId,
    kind: token.kind,
    tenantId: token.tenantId,
    userId: token.userId,
    // Older tokens name a model by a version alias; a call is always of an external name.
    models: token.models && new Set(token.models.map(catalog.externalModelName)),
    addresses: token.addresses,
    limits: limitsInForce(token.limits, defaults),
    scope: token.scope,
  }
  return { ok: true, principal }
}

/**
 * Feeds the authenticator from the log until the signal aborts. Resolves once it follows the log
 * from where the log ended.
 */
export async function followTokens(deps: {
  readonly log: EventLog
  readonly pool: Pool
  readonly authenticator: Authenticator
  readonly logger: Log
  readonly signal: AbortSignal
}): Promise<{ readonly done: Promise<void> }> {
  const { log, pool, authenticator, logger, signal } = deps
  // What the read model has seen needs no telling: nothing is cached yet.
  const checkpoint = await readCheckpoint(pool, 'access')
  const from = checkpoint === undefined || checkpoint.position < 0n ? undefined : checkpoint.at
  const follow = async (): Promise<void> => {
    const changes = log.subscribe({
      ...(from === undefined ? {} : { from }),
      streamPrefix: tokenStreams,
      // It is a newer program's: what follows still has to be noticed here.
      onUnknown: (event) => {
        logger.warn({ type: event.type, stream: event.stream }, 'an event is not understood')
        authenticator.noticedUnknown(event)
      },
      signal,
    })
    for await (const message of changes)
      if (message.kind === 'event') authenticator.noticed(message.event)
  }
  const done = follow().catch((error: unknown) => {
    if (!signal.aborted) logger.error({ err: error }, 'tokens are no longer followed')
  })
  return { done }
}
