import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { tenantNames, tokenLabels } from '../../../projections/access/query.ts'
import {
  tokenRefusal,
  requireRole,
  requireTokenAddress,
} from '../../api/kit/tokens/authenticate.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import type { ConsoleSessions } from '../../app/access/console-sessions.ts'
import type { Authenticate, Principal, Resume } from '../../app/access/principal.ts'
import type { TenantAccess } from '../../app/access/tenant-access.ts'
import type { CountSignIn } from '../../app/spending/throttle/sign-ins.ts'
import { isOperator } from '../../domain/token/events.ts'
import { sharerOf } from '../../domain/token/sharer.ts'
import { addressBlock } from '../../kernel/address-ranges.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { sha256Hex } from '../../kernel/ids.ts'
import type { EntryCodes } from './entry-codes.ts'
import { failureOf } from '../failure.ts'
import { fieldsOf } from '../form-body.ts'
import { isConfidential, sessionCookie, sessionIn } from './guard.ts'
import { nextPlace, overviewHref, paths, signInHref } from '../kit/href.ts'
import type { Place, Reader } from '../kit/layout.tsx'
import { readingAs } from './reading-as.ts'

/** Signing in with a token, and the session that follows. */

export interface SessionDeps {
  readonly db: Queryable
  readonly sessions: ConsoleSessions
  readonly authenticate: Authenticate
  readonly resume: Resume
  readonly tenantAccess: Pick<TenantAccess, 'check'>
  readonly codes: EntryCodes
  readonly countSignIn: CountSignIn
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The holder of the session, as the head of its pages shows it. */
    reader: Reader | undefined
    /** Tenants that the session has given a reason to view. */
    viewedTenants: readonly string[]
  }
}

function roleOf(principal: Principal): string {
  if (principal.role !== undefined) return principal.role
  if (isOperator(principal)) return 'operator'
  return principal.kind === 'admin' ? 'administrator' : 'reader'
}

async function readerOf(db: Queryable, principal: Principal): Promise<Omit<Reader, 'places'>> {
  const { tokenId, tenantId } = principal
  const seesAll = readingAs(principal).scope?.level === 'all_tenants'
  const label = (await tokenLabels(db, [tokenId])).get(tokenId)
  const names = seesAll ? undefined : await tenantNames(db, [tenantId])
  return {
    tokenName: label?.name ?? tokenId,
    lastFour: label?.lastFour ?? '',
    sees: names === undefined ? 'all tenants' : (names.get(tenantId) ?? tenantId),
    role: roleOf(principal),
  }
}

/** A sign-in that was refused, for the page that shows the form again. */
export interface RefusedSignIn {
  readonly status: number
  readonly fault: string
}

const OPEN_ADDRESS =
  'Tokens are accepted over an encrypted connection only: use https, or a browser on the machine of the gateway'

/** @throws RequestError where the secret would cross a network unencrypted */
export function requireConfidential(request: FastifyRequest): void {
  if (!isConfidential(request)) throw new RequestError('address_not_allowed', OPEN_ADDRESS)
}

/**
 * Opens a session for the secret of a token; undefined once the answer has its cookie.
 * @throws DomainError `rate_limited` after too many of the address or of the token's user
 */
async function signIn(
  { sessions, authenticate, countSignIn }: SessionDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  secret: string,
): Promise<RefusedSignIn | undefined> {
  requireConfidential(request)
  countSignIn('address', addressBlock(request.ip))
  const answer = await authenticate(secret, request.ip)
  if (!answer.ok) {
    const { status, message } = failureOf(tokenRefusal(answer), request.id)
    return { status, fault: message }
  }
  const { principal } = answer
  requireTokenAddress(request, principal)
  if (principal.kind !== 'query' && principal.kind !== 'admin') {
    const fault = `This is a ${principal.kind} token: use a query token (qak-…) or an admin token (adm-…).`
    return { status: 403, fault }
  }
  countSignIn('user', sharerOf(principal).user)
  const before = sessionIn(request)
  if (before !== undefined) await sessions.end(before)
  // A new id at each sign-in: one that others have put into the browser becomes no session.
  const id = await sessions.open({ secretHash: sha256Hex(secret), tokenId: principal.tokenId })
  void reply.header('set-cookie', sessionCookie(request, id))
  return undefined
}

/** The routes of signing in and out; `page` answers a page with a form. */
export function sessionRoutes(
  app: FastifyInstance,
  deps: SessionDeps,
  shows: {
    readonly signIn: (
      request: FastifyRequest,
      reply: FastifyReply,
      next: string,
      refused?: RefusedSignIn,
    ) => unknown
    readonly enter: (request: FastifyRequest, reply: FastifyReply, code: string) => unknown
  },
): void {
  const typed = app.withTypeProvider<TypeBoxTypeProvider>()
  const hidden = { schema: { hide: true } }
  const withNext = { hide: true, querystring: Type.Object({ next: Type.Optional(Type.String()) }) }
  typed.get(paths.signIn, { schema: withNext }, (request, reply) => {
    requireConfidential(request)
    return shows.signIn(request, reply, nextPlace(request.query.next))
  })
  app.post(paths.signIn, hidden, async (request, reply) => {
    const fields = fieldsOf(request, ['token', 'next'])
    const next = nextPlace(fields.next)
    const refused = await signIn(deps, request, reply, fields.token.trim())
    return refused === undefined
      ? reply.redirect(next, 303)
      : shows.signIn(request, reply, next, refused)
  })
  const withCode = { hide: true, querystring: Type.Object({ code: Type.String() }) }
  typed.get(paths.enter, { schema: withCode }, (request, reply) =>
    shows.enter(request, reply, request.query.code),
  )
  app.post(paths.enter, hidden, async (request, reply) => {
    requireConfidential(request)
    const secret = deps.codes.use(fieldsOf(request, ['code']).code)
    const fault =
      'This link was already used, or is older than five minutes. Sign in with a token of data/demo.json.'
    const refused =
      secret === undefined ? { status: 403, fault } : await signIn(deps, request, reply, secret)
    const first = overviewHref()
    return refused === undefined
      ? reply.redirect(first, 303)
      : shows.signIn(request, reply, first, refused)
  })
  app.post(paths.signOut, hidden, async (request, reply) => {
    fieldsOf(request, [])
    const id = sessionIn(request)
    if (id !== undefined) await deps.sessions.end(id)
    return reply.header('set-cookie', sessionCookie(request, undefined)).redirect(signInHref(), 303)
  })
}

/**
 * Lets only requests with a session below the plugin; others are led to the sign-in, and back after it.
 * Faults: `outage`, `address_not_allowed`, `role_denied`.
 */
export function requireSession(
  app: FastifyInstance,
  deps: Omit<SessionDeps, 'codes' | 'countSignIn'>,
  placesFor: (token: Principal) => Promise<readonly Place[]>,
): void {
  app.decorateRequest('reader', undefined)
  // Set before it is read, as `reader` is: an array as the usual value would be one for all requests.
  app.decorateRequest('viewedTenants')
  app.addHook('onRequest', async (request, reply) => {
    const id = sessionIn(request)
    const session = id === undefined ? undefined : await deps.sessions.find(id)
    const answer = session && (await deps.resume(session.secretHash))
    if (answer?.ok === false && answer.reason === 'unavailable') throw tokenRefusal(answer)
    if (answer?.ok !== true) {
      if (id !== undefined) void reply.header('set-cookie', sessionCookie(request, undefined))
      const next = request.method === 'GET' ? request.url : undefined
      return reply.redirect(signInHref({ next }), 303)
    }
    const { principal } = answer
    request.tokenOwner = principal
    request.viewedTenants = session?.viewedTenants ?? []
    requireTokenAddress(request, principal)
    // First, so that a refusal has the head of the page, with its places.
    const [reader, places] = await allSettledOrThrow([
      readerOf(deps.db, principal),
      placesFor(principal),
    ])
    request.reader = { ...reader, places }
    requireRole(request, principal)
    const { startsNothing = request.method !== 'POST' } = request.routeOptions.config
    const purpose = startsNothing ? 'read' : 'change'
    if (!request.is404) await deps.tenantAccess.check(principal, purpose)
    request.principal = principal
    return undefined
  })
}
