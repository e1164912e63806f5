import { timingSafeEqual } from 'node:crypto'
import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import type { FoundToken } from '../../../projections/access/query.ts'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import { isOperator, tokenPrefixes, tokenStreams } from '../../domain/token/events.ts'
import type { EventLog, RecordedEvent, UnknownEvent } from '../../eventlog/log/types.ts'
import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { sha256Hex } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import { createRetryLog } from '../../kernel/retry-log.ts'
import { type Limits, limitsInForce, noLimits } from '../spending/throttle/limits.ts'
import type {
  Authenticate,
  Authenticated,
  Principal,
  Recall,
  Resume,
  TokenOwner,
} from './principal.ts'
import { TokenLookUp } from './token-look-up.ts'
import { UnknownSecrets } from './unknown-secrets.ts'

/** From a bearer secret to the caller. */

const MAX_SECRET_LENGTH = 256
const unknown = { ok: false, reason: 'unknown' } as const

export interface Authenticator {
  readonly authenticate: Authenticate
  readonly resume: Resume
  readonly recall: Recall
  /** Called with every event of the log: memory does not serve a changed token again. */
  readonly noticed: (event: RecordedEvent) => void
  /** Called with an event that this program does not understand: it invalidates its token. */
  readonly noticedUnknown: (event: UnknownEvent) => void
}

/** Limits of tokens without their own; absent: none. */
interface DefaultLimits {
  readonly defaultLimits?: Limits
  /** Limits of query tokens, which start nothing. */
  readonly queryLimits?: Limits
  /** Limits of tokens that manage an account or a part of it; operators have none. */
  readonly accountLimits?: Limits
}

/** Chooses the default limits of a token. */
function limitsByKind({
  defaultLimits = noLimits,
  queryLimits = noLimits,
  accountLimits = noLimits,
}: DefaultLimits) {
  return (token: FoundToken): Limits => {
    if (token.kind === 'model') return defaultLimits
    if (token.kind === 'query') return queryLimits
    return isOperator(token) ? noLimits : accountLimits
  }
}

export function createAuthenticator(
  deps: DefaultLimits & {
    readonly pool: Pool
    readonly log: EventLog
    readonly catalog: Catalog
    /** Decides which tokens have expired. */
    readonly clock: Clock
    /** Measures how long ago a token was looked up. */
    readonly monotonic?: Clock
    readonly logger: Log
    /** Unknown secrets a minute that one address may try. */
    readonly unknownPerMinute?: number
    readonly registry?: Registry
  },
): Authenticator {
  const { pool, log, catalog, clock, monotonic = monotonicClock, logger } = deps
  const { unknownPerMinute = Number.MAX_SAFE_INTEGER } = deps
  const guesses = new UnknownSecrets(unknownPerMinute, monotonic, deps.registry)
  const retries = createRetryLog(logger)
  const tokens = new TokenLookUp({ pool, log, monotonic, retries })

  const defaultsFor = limitsByKind(deps)

  const unavailable = (error: unknown): Authenticated => {
    retries.failed({ err: error }, 'a token could not be looked up')
    return { ok: false, reason: 'unavailable' }
  }

  const authenticate: Authenticate = async (secret, address) => {
    if (!isSecretShaped(secret)) return unknown
    const hash = sha256Hex(secret)
    const tooMany = (waitMs: number) => ({ ok: false, reason: 'too_many_unknown', waitMs }) as const
    try {
      const known = tokens.cached(hash)
      const waitMs = known === undefined && address !== undefined ? guesses.waitMs(address) : 0
      if (waitMs > 0) return tooMany(waitMs)
      const { token } = known ?? { token: await tokens.lookUp(hash) }
      if (token === undefined || !sameHash(token.secretHash, hash)) {
        // A caller that repeats one secret is not guessing.
        const overMs = known === undefined && address !== undefined ? guesses.tried(address) : 0
        return overMs > 0 ? tooMany(overMs) : unknown
      }
      return judge(catalog, token, clock.nowMs(), defaultsFor(token))
    } catch (error) {
      return unavailable(error)
    }
  }

  return {
    authenticate,
    resume: async (hash) => {
      try {
        const token = tokens.cached(hash)?.token ?? (await tokens.lookUp(hash))
        return token ? judge(catalog, token, clock.nowMs(), defaultsFor(token)) : unknown
      } catch (error) {
        return unavailable(error)
      }
    },
    recall: (hash) => {
      const token = tokens.recall(hash)
      return token
        ? judge(catalog, token, clock.nowMs(), defaultsFor(token))
        : { ok: false, reason: 'unavailable' }
    },
    noticed: (event) => tokens.noticed(event),
    noticedUnknown: (event) => tokens.noticedUnknown(event),
  }
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

function judge(
  catalog: Catalog,
  token: FoundToken,
  nowMs: number,
  defaults: Limits,
): Awaited<ReturnType<Authenticate>> {
  const { tokenId, tenantId, userId } = token
  const owner: TokenOwner = { tokenId, tenantId, userId }
  if (token.disabledAtMs !== undefined) return { ok: false, reason: 'disabled', token: owner }
  const endMs = Math.min(
    token.expiresAtMs ?? Number.POSITIVE_INFINITY,
    token.secretValidUntilMs ?? Number.POSITIVE_INFINITY,
  )
  if (endMs <= nowMs) return { ok: false, reason: 'expired', token: owner }
  const principal: Principal = {
    ...owner,
    kind: token.kind,
    // Older tokens name a model by a version alias; a call is always of an external name.
    models: token.models && new Set(token.models.map(catalog.externalModelName)),
    addresses: token.addresses,
    limits: limitsInForce(token.limits, defaults),
    scope: token.scope,
    role: token.role,
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
  /** Called with each token that is disabled from now on. */
  readonly onDisabled?: (tokenId: string) => void
  readonly logger: Log
  readonly signal: AbortSignal
}): Promise<{ readonly done: Promise<void> }> {
  const { log, pool, authenticator, onDisabled, logger, signal } = deps
  // Events up to the read model's checkpoint need no notice: nothing is cached yet.
  const checkpoint = await readCheckpoint(pool, 'access')
  const from = checkpoint === undefined || checkpoint.position < 0n ? undefined : checkpoint.at
  const follow = async (): Promise<void> => {
    const changes = log.subscribe({
      ...(from === undefined ? {} : { from }),
      streamPrefix: tokenStreams,
      // A newer program wrote it: later events must still be noticed.
      onUnknown: (event) => {
        logger.warn({ type: event.type, stream: event.stream }, 'an event cannot be decoded')
        authenticator.noticedUnknown(event)
      },
      signal,
    })
    for await (const message of changes) {
      if (message.kind !== 'event') continue
      authenticator.noticed(message.event)
      if (message.event.type === 'TokenDisabled') onDisabled?.(message.event.data.tokenId)
    }
  }
  const done = follow().catch((error: unknown) => {
    if (!signal.aborted) logger.error({ err: error }, 'the subscription to token events has ended')
  })
  return { done }
}
