import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
} from 'fastify'
import type { Authenticate, Principal, Refused } from '../../app/access/principal.ts'
import type { FreeRequests } from '../../app/spending/throttle/free-requests.ts'
import type { TokenKind } from '../../domain/token/events.ts'
import { isWithinRanges } from '../../kernel/address-ranges.ts'
import { DomainError } from '../../kernel/errors.ts'
import { REPLAYED } from './idempotency.ts'
import { RequestError } from './request-error.ts'
import { runForToken } from '../../kernel/token-context.ts'
import { TokenPlaces } from '../../kernel/token-places.ts'

/** Longest secret that is looked up. */
const MAX_SECRET_CHARACTERS = 512
const bearer = /^bearer +([\x21-\x7e]+) *$/i

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, once its token was accepted. */
    principal: Principal | undefined
  }
}

const refusals = {
  unknown: 'The token is not valid',
  expired: 'The token has expired',
  disabled: 'The token has been disabled',
} as const

const kindNames: Readonly<Record<TokenKind, string>> = {
  model: 'a model token',
  profile: 'a profile access token',
  query: 'a query authorization token',
  admin: 'an admin token',
}

function secretOf(request: FastifyRequest, keyHeaders: readonly string[]): string {
  const header = request.headers.authorization
  const key = keyHeaders.map((name) => request.headers[name]).find((value) => value !== undefined)
  if (header === undefined && key === undefined)
    throw new RequestError('unauthenticated', 'Send a token: Authorization: Bearer <TOKEN>')
  const given = header ?? `Bearer ${String(key)}`
  if (header?.trim().includes(' ') === false)
    throw new RequestError(
      'unauthenticated',
      'Send the token with its scheme: Authorization: Bearer <TOKEN>',
    )
  const secret = bearer.exec(given)?.[1]
  if (secret === undefined || secret.length > MAX_SECRET_CHARACTERS)
    throw new RequestError('unauthenticated', refusals.unknown)
  return secret
}

/**
 * Lets only tokens of this kind below the plugin, before a byte of the body is read. Faults:
 * `unauthenticated`, `address_not_allowed`, `wrong_token_kind`, `outage` when tokens cannot be
 * looked up (P9); `rate_limited` after too many invalid tokens from one address. Without
 * `Authorization`, the first present header of `keyHeaders` holds the bare token.
 */
export function requireToken(
  app: FastifyInstance,
  authenticate: Authenticate,
  kind: TokenKind,
  keyHeaders: readonly string[] = [],
): void {
  const hook: onRequestAsyncHookHandler = async (request) => {
    const answer = await authenticate(secretOf(request, keyHeaders), addressOf(request))
    if (!answer.ok) throw refusalOf(answer)
    requireAddress(request, answer.principal)
    if (answer.principal.kind !== kind)
      throw new RequestError('wrong_token_kind', `This path needs ${kindNames[kind]}`)
    request.principal = answer.principal
  }
  if (!app.hasRequestDecorator('principal')) app.decorateRequest('principal', undefined)
  app.addHook('onRequest', hook)
}

function refusalOf(refused: Refused): Error {
  switch (refused.reason) {
    case 'unavailable':
      return new RequestError('outage', 'Tokens cannot be checked at the moment')
    case 'too_many_unknown':
      return new DomainError(
        'rate_limited',
        'Too many tokens that are not valid came from this address; this one was not looked at',
        { retryAfterMs: refused.waitMs },
      )
    case 'unknown':
    case 'expired':
    case 'disabled':
      return new RequestError('unauthenticated', refusals[refused.reason])
  }
}

/**
 * The address of the caller; the header of an untrusted proxy is ignored. A request whose caller
 * has disconnected has no address, although its type says that it has one.
 */
function addressOf({ ip }: { readonly ip?: string }): string | undefined {
  return ip
}

function requireAddress(request: FastifyRequest, { addresses }: Principal): void {
  if (addresses === undefined) return
  const ip = addressOf(request) ?? ''
  if (isWithinRanges(ip, addresses)) return
  throw new RequestError('address_not_allowed', `The token may not be used from ${ip}`)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Marks a POST that counts as a read. */
    readonly startsNothing?: boolean
    /** Marks a POST that keeps something and is never billed; a function decides for each request. */
    readonly isFree?: boolean | ((request: FastifyRequest) => boolean)
  }
}

/** The caller, after `requireToken` has accepted the request. */
export function principalOf(request: FastifyRequest): Principal {
  const { principal } = request
  if (principal === undefined) throw new Error('the route is not behind requireToken')
  return principal
}

/** The caller, for logs: undefined when none was authenticated. */
export function callerOf(request: FastifyRequest): Principal | undefined {
  return request.principal
}

/** Hooks for the token of each request. */
export interface PerToken {
  /**
   * Delays a request that starts nothing, or may repeat an earlier one, to the token's rate.
   * @throws DomainError `rate_limited`
   */
  readonly ownTurn?: (principal: Principal) => Promise<void> | undefined
  /** Called after a token was accepted. */
  readonly tokenUsed?: (tokenId: string) => void
  /** Limits on requests that are not billed. */
  readonly free?: FreeRequests
  /** Refuses what keeps something and is not billed. @throws DomainError `storage_full` */
  readonly checkDisk?: (() => Promise<void>) | undefined
}

/** Counts requests against their token, and runs the following work in that token's context. */
export function usePerToken(app: FastifyInstance, perToken: PerToken): void {
  const { tokenUsed, free } = perToken
  // Runs after the body is read, because reading it loses the async context.
  app.addHook('preHandler', (request, _reply, done) => {
    const caller = callerOf(request)
    if (caller === undefined) return done()
    const begin = (): void => runForToken(caller.tokenId, done)
    const turn = turnOf(perToken, request, caller)
    if (turn === undefined) begin()
    else turn.then(begin, done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const caller = callerOf(request)
    if (caller !== undefined) {
      tokenUsed?.(caller.tokenId)
      if (free !== undefined && mayBeBilled(request, caller))
        countOutcome(free, caller.tokenId, reply)
    }
    done()
  })
}

/** Resolves when a request may begin its work; undefined where it need not wait. */
function turnOf(
  { ownTurn, free, checkDisk }: PerToken,
  request: FastifyRequest,
  caller: Principal,
): Promise<void> | undefined {
  if (isFreeWrite(request, caller)) {
    const refused = free?.begin(caller.tokenId)
    if (refused !== undefined) return refused
    free?.count(caller.tokenId)
    return checkDisk?.()
  }
  const refused = mayBeBilled(request, caller) ? free?.begin(caller.tokenId) : undefined
  if (refused !== undefined) return refused
  return isOwnRequest(request) ? ownTurn?.(caller) : undefined
}

/**
 * Whether a request keeps something and is never billed: uploads and changes of accounts. Operators
 * are not counted, and what is disabled or deleted makes room.
 */
function isFreeWrite(request: FastifyRequest, { kind, scope }: Principal): boolean {
  const {
    method,
    routeOptions: {
      config: { isFree = false },
    },
  } = request
  if (kind === 'model') return typeof isFree === 'boolean' ? isFree : isFree(request)
  if (kind === 'admin' && (scope === undefined || scope.level === 'all_tenants')) return false
  return kind !== 'query' && method !== 'GET' && method !== 'HEAD' && method !== 'DELETE'
}

/** Whether it is a call or a creation. */
function mayBeBilled(
  { method, routeOptions: { config } }: FastifyRequest,
  { kind }: Principal,
): boolean {
  const isNeverBilled = config.isFree === true || config.startsNothing === true
  return kind === 'model' && method === 'POST' && !isNeverBilled
}

/**
 * A refusal of what the caller sent is not billed, and a repeated answer was billed before; at a limit
 * nothing was started.
 */
function countOutcome(free: FreeRequests, tokenId: string, reply: FastifyReply): void {
  const { statusCode: status } = reply
  if (status < 400 && !reply.hasHeader(REPLAYED)) free.served(tokenId)
  if (status >= 400 && status < 500 && status !== 429) free.count(tokenId)
}

/** Whether a request only reads, deletes, or may repeat an earlier one. */
function isOwnRequest({ method, headers, routeOptions: { config } }: FastifyRequest): boolean {
  return (
    method !== 'POST' || config.startsNothing === true || headers['idempotency-key'] !== undefined
  )
}

/** Counts a query of a token. @throws DomainError `rate_limited` at the token's limit */
export type CountQuery = (principal: Principal) => void

/** Queries of one token that are answered at once, in one process. */
const QUERIES_AT_ONCE = 3
/** How long a further one waits, and the `Retry-After` when it waited in vain. */
const QUERY_WAIT_MS = 5_000

/**
 * Counts the queries below the plugin, except those that are refused for their parameters, and
 * answers only a few of one token at once: rows that are read and written hold the event loop, and
 * connections, that calls of others need.
 */
export function useQueryBounds(app: FastifyInstance, count: CountQuery | undefined): void {
  const places = new TokenPlaces(QUERIES_AT_ONCE, QUERY_WAIT_MS)
  app.addHook('preHandler', (request, reply, done) => {
    const caller = principalOf(request)
    count?.(caller)
    const { tokenId } = caller
    places.enter(tokenId, (isLate) => {
      if (isLate) return done(tooManyQueries())
      if (reply.raw.destroyed) {
        places.leave(tokenId)
        return done(new RequestError('overloaded', 'The caller hung up'))
      }
      reply.raw.once('close', () => places.leave(tokenId))
      return runForToken(tokenId, done)
    })
  })
}

const tooManyQueries = (): DomainError =>
  new DomainError('rate_limited', 'Too many queries of this token at once', {
    retryAfterMs: QUERY_WAIT_MS,
  })
