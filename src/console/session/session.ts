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
import type {
  Authenticate,
  Authenticated,
  Principal,
  Recall,
  Resume,
} from '../../app/access/principal.ts'
import type { RecalledSession, RecallingSessions } from '../../app/access/recalled-sessions.ts'
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
import { isConfidential, openedBy, sessionCookie, sessionIn } from './guard.ts'
import { nextPlace, overviewHref, paths, signInHref } from '../kit/href.ts'
import type { Place, Reader } from '../kit/layout.tsx'
import { readingAs, savesViews, seesOperations, seesOtherTenants } from './reading-as.ts'

/** Signing in with a token, and the session that follows. */

export interface SessionDeps {
  readonly db: Queryable
  readonly sessions: RecallingSessions
  readonly authenticate: Authenticate
  readonly resume: Resume
  readonly recall: Recall
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
  interface FastifyContextConfig {
    /** The page shows what the process itself knows, also to sessions that are only recalled. */
    readonly showsProcess?: boolean
  }
}

/** The role of a session in a word. */
export function roleOf(principal: Principal): string {
  if (principal.role !== undefined) return principal.role
  if (isOperator(principal)) return 'operator'
  return principal.kind === 'admin' ? 'administrator' : 'reader'
}

/** The holder of a session whose names cannot be read. */
function namelessReader(principal: Principal): Omit<Reader, 'places' | 'savesViews'> {
  const { tokenId, tenantId } = principal
  const sees = seesOtherTenants(principal) ? 'all tenants' : tenantId
  return { tokenName: tokenId, lastFour: '', sees, role: roleOf(principal) }
}

async function readerOf(
  db: Queryable,
  principal: Principal,
): Promise<Omit<Reader, 'places' | 'savesViews'>> {
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

const isUnavailable = (answer: Authenticated): boolean =>
  !answer.ok && answer.reason === 'unavailable'

/**
 * Opens a session in place of the one before; while Postgres is away an operator gets one that this
 * process alone knows, for the state of the process. @throws errors of Postgres
 */
async function openSession(
  sessions: RecallingSessions,
  principal: Principal,
  opened: { readonly secretHash: string } & ReturnType<typeof openedBy>,
  before: string | undefined,
): Promise<string> {
  try {
    if (before !== undefined) await sessions.end(before)
    // A new id at each sign-in: one that others have put into the browser becomes no session.
    return await sessions.open({ ...opened, tokenId: principal.tokenId })
  } catch (error) {
    if (!seesOperations(principal)) throw error
    return sessions.openHere({ secretHash: opened.secretHash, viewedTenants: [] })
  }
}

/**
 * Opens a session for the secret of a token; undefined once the answer has its cookie.
 * @throws DomainError `rate_limited` after too many of the address or of the token's user
 */
async function signIn(
  { sessions, authenticate, recall, countSignIn }: SessionDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  secret: string,
): Promise<RefusedSignIn | undefined> {
  requireConfidential(request)
  countSignIn('address', addressBlock(request.ip))
  const looked = await authenticate(secret, request.ip)
  const answer = isUnavailable(looked) ? recall(sha256Hex(secret)) : looked
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
  const opened = { secretHash: sha256Hex(secret), ...openedBy(request) }
  const id = await openSession(sessions, principal, opened, sessionIn(request))
  void reply.header('set-cookie', sessionCookie(request, id))
  return undefined
}

/** Answers the page of signing in, with the place that comes next and why the last try was refused. */
export type ShowSignIn = (
  request: FastifyRequest,
  reply: FastifyReply,
  next: string,
  refused?: RefusedSignIn,
) => unknown

/** The routes of signing in and out; `page` answers a page with a form. */
export function sessionRoutes(
  app: FastifyInstance,
  deps: SessionDeps,
  shows: {
    readonly signIn: ShowSignIn
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

/** The token of a session: looked up again, or what this process knows of it while it cannot be. */
async function tokenOf(
  { resume, recall }: Pick<SessionDeps, 'resume' | 'recall'>,
  { secretHash, isRecalled }: RecalledSession,
): Promise<{ readonly answer: Authenticated; readonly isRecalled: boolean }> {
  const answer = isRecalled ? undefined : await resume(secretHash)
  return answer === undefined || isUnavailable(answer)
    ? { answer: recall(secretHash), isRecalled: true }
    : { answer, isRecalled: false }
}

/** Finds the session of a request; `away`: Postgres did not answer, and the page leads to the sign-in. */
async function sessionOf(
  { sessions }: Pick<SessionDeps, 'sessions'>,
  request: FastifyRequest,
): Promise<RecalledSession | 'away' | undefined> {
  const id = sessionIn(request)
  try {
    return id === undefined ? undefined : await sessions.find(id)
  } catch (error) {
    if (request.routeOptions.config.showsProcess === true) return 'away'
    throw error
  }
}

/**
 * Lets only requests with a session below the plugin; others are led to the sign-in, and back after it.
 * Faults: `outage`, `address_not_allowed`, `role_denied`.
 */
export function requireSession(
  app: FastifyInstance,
  deps: Omit<SessionDeps, 'codes' | 'countSignIn'>,
  placesFor: (token: Principal, isRecalled: boolean) => Promise<readonly Place[]>,
): void {
  app.decorateRequest('reader', undefined)
  // Set before it is read, as `reader` is: an array as the usual value would be one for all requests.
  app.decorateRequest('viewedTenants')
  app.addHook('onRequest', async (request, reply) => {
    const next = request.method === 'GET' ? request.url : undefined
    const session = await sessionOf(deps, request)
    // The cookie stays: its session may be open.
    if (session === 'away') return reply.redirect(signInHref({ next }), 303)
    const found = session && (await tokenOf(deps, session))
    const answer = found?.answer
    if (answer?.ok === false && answer.reason === 'unavailable') throw tokenRefusal(answer)
    if (answer?.ok !== true) {
      if (sessionIn(request) !== undefined)
        void reply.header('set-cookie', sessionCookie(request, undefined))
      return reply.redirect(signInHref({ next }), 303)
    }
    const { principal } = answer
    request.tokenOwner = principal
    request.viewedTenants = session?.viewedTenants ?? []
    requireTokenAddress(request, principal)
    // First, so that a refusal has the head of the page, with its places.
    const isRecalled = found?.isRecalled === true
    const [reader, places] = await allSettledOrThrow([
      isRecalled ? namelessReader(principal) : readerOf(deps.db, principal),
      placesFor(principal, isRecalled),
    ])
    request.reader = { ...reader, places, savesViews: savesViews(principal) }
    const { method, routeOptions } = request
    if (isRecalled && (method !== 'GET' || routeOptions.config.showsProcess !== true))
      throw tokenRefusal({ reason: 'unavailable' })
    requireRole(request, principal)
    const { startsNothing = request.method !== 'POST' } = request.routeOptions.config
    const purpose = startsNothing ? 'read' : 'change'
    if (!request.is404) await deps.tenantAccess.check(principal, purpose)
    request.principal = principal
    return undefined
  })
}
