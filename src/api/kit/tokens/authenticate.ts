import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import type { Principal, Refused, TokenOwner } from '../../../app/access/principal.ts'
import type { RequestPurpose } from '../../../domain/account/status.ts'
import type { TokenKind, TokenRole } from '../../../domain/token/events.ts'
import { sharerOf } from '../../../domain/token/sharer.ts'
import { isWithinRanges } from '../../../kernel/address-ranges.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { RequestError } from '../request-error.ts'
import type { Services } from '../services.ts'
import { runFor } from '../../../platform/sharer-context.ts'
import { SharerPlaces } from '../../../kernel/sharer-places.ts'

/** Longest secret that is looked up. */
const MAX_SECRET_CHARACTERS = 512
const bearer = /^bearer +([\x21-\x7e]+) *$/i

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, once its token was accepted. */
    principal: Principal | undefined
  }
  interface FastifyContextConfig {
    /** The roles of tokens that may use the route; absent: only tokens without a role. */
    readonly roles?: readonly TokenRole[]
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

const HOW_TO_SEND = 'Send it as `Authorization: Bearer <TOKEN>`'

function secretOf(request: FastifyRequest, keyHeaders: readonly string[]): string {
  const header = request.headers.authorization
  const key = keyHeaders.map((name) => request.headers[name]).find((value) => value !== undefined)
  if (header === undefined && key === undefined)
    throw new RequestError('unauthenticated', `There is no token. ${HOW_TO_SEND}`)
  const given = header ?? `Bearer ${String(key)}`
  if (!/^bearer /i.test(given))
    throw new RequestError('unauthenticated', `The token is not a bearer token. ${HOW_TO_SEND}`)
  const secret = bearer.exec(given)?.[1]
  if (secret === undefined || secret.length > MAX_SECRET_CHARACTERS)
    throw new RequestError('unauthenticated', refusals.unknown)
  return secret
}

/** The services that check tokens. */
export interface TokenServices {
  readonly tokens: Pick<Services['tokens'], 'authenticate' | 'tenantAccess'>
  readonly http: Pick<Services['http'], 'refusedForms'>
}

/**
 * Lets only tokens of this kind below the plugin, and of those with a role only the ones that the
 * route declares, before a byte of the body is read. Faults: `unauthenticated`,
 * `address_not_allowed`, `wrong_token_kind`, `role_denied`, `outage` when tokens cannot be
 * looked up (P9); `rate_limited` after too many invalid tokens or refused requests from one address. Without
 * `Authorization`, the first present header of `keyHeaders` holds the bare token. It throws what
 * `TenantAccess` refuses.
 */
export function requireToken(
  app: FastifyInstance,
  { tokens, http: { refusedForms } }: TokenServices,
  kind: TokenKind,
  keyHeaders: readonly string[] = [],
): void {
  const accept = async (request: FastifyRequest): Promise<Principal> => {
    const answer = await tokens.authenticate(secretOf(request, keyHeaders), addressOf(request))
    request.tokenOwner = answer.ok ? answer.principal : ownerOf(answer)
    if (!answer.ok) throw tokenRefusal(answer)
    requireTokenAddress(request, answer.principal)
    if (answer.principal.kind !== kind)
      throw new RequestError('wrong_token_kind', `This path needs ${kindNames[kind]}`)
    requireRole(request, answer.principal)
    return answer.principal
  }
  const hook: onRequestAsyncHookHandler = async (request) => {
    try {
      const principal = await accept(request)
      // Known from here on, so that a refusal counts under the token and not for the whole address.
      request.principal = principal
      const checking = request.is404
        ? undefined
        : tokens.tenantAccess.check(principal, purposeOf(request, kind))
      // No call waits a turn for an account that is known.
      if (checking !== undefined) await checking
    } catch (error) {
      await refusedForms.check(request)
      throw error
    }
    const refused = refusedForms.check(request)
    if (refused !== undefined) await refused
  }
  if (!app.hasRequestDecorator('principal')) app.decorateRequest('principal', undefined)
  app.addHook('onRequest', hook)
}

/** A POST of a model token begins something, unless its route says that it starts and keeps nothing. */
function purposeOf(request: FastifyRequest, kind: TokenKind): RequestPurpose {
  const {
    method,
    routeOptions: {
      config: { startsNothing = false, isFree = false },
    },
  } = request
  if (kind !== 'model') return method === 'GET' || method === 'HEAD' ? 'read' : 'change'
  if (method !== 'POST') return 'read'
  const keeps = typeof isFree === 'boolean' ? isFree : isFree(request)
  return startsNothing && !keeps ? 'read' : 'create'
}

const ownerOf = (refused: Refused): TokenOwner | undefined =>
  'token' in refused ? refused.token : undefined

/** The failure of a request whose token was refused. */
export function tokenRefusal(refused: Refused): Error {
  switch (refused.reason) {
    case 'unavailable':
      return new RequestError('outage', 'Tokens cannot be checked at the moment')
    case 'too_many_unknown':
      return new DomainError(
        'rate_limited',
        'Too many requests with invalid tokens came from this address; this token was not checked',
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

/** @throws RequestError `address_not_allowed` for a token that is bound to other addresses */
export function requireTokenAddress(request: FastifyRequest, { addresses }: Principal): void {
  if (addresses === undefined) return
  const ip = addressOf(request) ?? ''
  if (isWithinRanges(ip, addresses)) return
  throw new RequestError('address_not_allowed', `The token may not be used from ${ip}`)
}

/**
 * Refuses a token whose role the route does not declare; a path without a route stays 404.
 * @throws RequestError `role_denied`
 */
export function requireRole(request: FastifyRequest, { role }: Principal): void {
  if (role === undefined || request.is404) return
  const { config, url = '' } = request.routeOptions
  const { roles = [] } = config
  if (roles.includes(role)) return
  const route = `${request.method} ${url.replaceAll(/:([a-z_]+)/g, '{$1}')}`
  const those = roles.map((one) => `of the role ${one}, or `).join('')
  const message = `${route} is for tokens ${those}without a role; this one has the role ${role}`
  throw new RequestError('role_denied', message)
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

/** Queries of one user, and of one tenant, that are answered at once, in one process. */
const QUERIES_AT_ONCE = { perUser: 3, perTenant: 6 } as const
/** Time for which a further one waits, and the `Retry-After` after a wait in vain. */
const QUERY_WAIT_MS = 5_000

/**
 * Counts the queries below the plugin, except those that are refused for their parameters, and
 * answers only a few of one user and of one tenant in parallel: reading and writing rows occupies the event loop and
 * connections that other callers need.
 */
export function useQueryBounds(
  app: FastifyInstance,
  { throttle }: { readonly throttle: Pick<Services['throttle'], 'query'> },
): void {
  const places = new SharerPlaces(QUERIES_AT_ONCE, QUERY_WAIT_MS)
  app.addHook('preHandler', (request, reply, done) => {
    const caller = principalOf(request)
    throttle.query(caller)
    const sharer = sharerOf(caller)
    places.enter(sharer, (isLate) => {
      if (isLate) return done(tooManyQueries())
      if (reply.raw.destroyed) {
        places.leave(sharer)
        return done(new RequestError('overloaded', 'The caller hung up'))
      }
      reply.raw.once('close', () => places.leave(sharer))
      return runFor(sharer, done)
    })
  })
}

const tooManyQueries = (): DomainError =>
  new DomainError('rate_limited', 'This user, or its tenant, has too many queries running', {
    retryAfterMs: QUERY_WAIT_MS,
  })
