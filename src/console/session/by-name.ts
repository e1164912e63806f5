import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { secretsOfSubject } from '../../../projections/access/query.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import { requireTokenAddress, tokenRefusal } from '../../api/kit/tokens/authenticate.ts'
import type { ConsoleSessions } from '../../app/access/console-sessions.ts'
import type { Principal, Resume } from '../../app/access/principal.ts'
import type { CountSignIn } from '../../app/spending/throttle/sign-ins.ts'
import { sharerOf } from '../../domain/token/sharer.ts'
import { addressBlock } from '../../kernel/address-ranges.ts'
import type { Clock } from '../../kernel/clock.ts'
import { nextPlace, overviewHref, paths, signedInByNameHref, signInHref } from '../kit/href.ts'
import { BEGUN_FOR_MS, createBegunSignIns } from './begun-sign-ins.ts'
import {
  cookieHeader,
  cookieIn,
  isFromElsewhere,
  openedBy,
  sessionCookie,
  sessionIn,
} from './guard.ts'
import { type Provider, ProviderFault } from './provider.ts'
import { type RefusedSignIn, requireConfidential } from './session.ts'

/**
 * Signing in by name: the provider says who a person is, and the person's token what they may do. The token has no
 * secret that anyone knows; its session is one as of every other token.
 */

interface ByNameDeps {
  readonly db: Queryable
  readonly sessions: Pick<ConsoleSessions, 'open' | 'end'>
  readonly resume: Resume
  readonly countSignIn: CountSignIn
  readonly clock: Clock
  readonly provider: Provider
}

type ShowSignIn = (
  request: FastifyRequest,
  reply: FastifyReply,
  next: string,
  refused?: RefusedSignIn,
) => unknown

/** The address of a path as the browser sees it, which the provider must know. @throws RequestError */
function ownAddress({ protocol, host }: FastifyRequest, path: string): URL {
  const own = `${protocol}://${host}`
  if (URL.canParse(path, own)) return new URL(path, own)
  throw new RequestError('address_not_allowed', 'The header Host names no host')
}

/** The words for a fault of the provider. @throws every other error */
function refusalBy(request: FastifyRequest, error: unknown): RefusedSignIn {
  if (!(error instanceof ProviderFault)) throw error
  const { kind, detail, message } = error
  request.log.warn({ kind, detail }, 'a sign-in by name failed')
  return { status: kind === 'away' || kind === 'busy' ? 503 : 403, fault: message }
}

/** The newest valid token of a subject. @throws RequestError while tokens cannot be looked up */
async function tokenOf(
  { db, resume }: Pick<ByNameDeps, 'db' | 'resume'>,
  subject: string,
): Promise<{ readonly principal: Principal; readonly secretHash: string } | undefined> {
  for (const { secretHash } of await secretsOfSubject(db, subject)) {
    const answer = await resume(secretHash)
    if (answer.ok) return { principal: answer.principal, secretHash }
    if (answer.reason === 'unavailable') throw tokenRefusal(answer)
  }
  return undefined
}

/**
 * Opens a session for a person; undefined once the answer has its cookie.
 * @throws DomainError `rate_limited`; RequestError from an address that the token is not for
 */
async function openFor(
  deps: ByNameDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  subject: string,
): Promise<RefusedSignIn | undefined> {
  const found = await tokenOf(deps, subject)
  if (found === undefined) {
    const fault = `${subject} has no access here. An operator gives it: tollgate token issue --subject ${subject} …`
    return { status: 403, fault }
  }
  const { principal, secretHash } = found
  const { tokenId } = principal
  requireTokenAddress(request, principal)
  deps.countSignIn('user', sharerOf(principal).user)
  const before = sessionIn(request)
  if (before !== undefined) await deps.sessions.end(before)
  const id = await deps.sessions.open({ secretHash, tokenId, ...openedBy(request) })
  void reply.header('set-cookie', sessionCookie(request, id))
  request.log.info({ tokenId }, 'a person signed in by name')
  return undefined
}

/** Providers add members of their own. */
const AnswerQuery = Type.Object({}, { additionalProperties: true })

/** The routes by which a person goes to the provider and comes back; `show` answers the sign-in page. */
export function byNameRoutes(app: FastifyInstance, deps: ByNameDeps, show: ShowSignIn): void {
  const { provider, countSignIn } = deps
  const kept = createBegunSignIns(provider.secret, deps.clock, overviewHref())
  const typed = app.withTypeProvider<TypeBoxTypeProvider>()
  const withNext = { hide: true, querystring: Type.Object({ next: Type.Optional(Type.String()) }) }
  typed.get(paths.signInByName, { schema: withNext }, async (request, reply) => {
    requireConfidential(request)
    const next = nextPlace(request.query.next)
    // Another site must not sign a person in.
    if (isFromElsewhere(request)) return reply.redirect(signInHref({ next }), 303)
    try {
      const callback = ownAddress(request, signedInByNameHref())
      const { href, begun } = await provider.begin(callback.href)
      const text = kept.write({ ...begun, next })
      const cookie = cookieHeader(request, 'tollgate-sign-in', text, BEGUN_FOR_MS / 1_000)
      return await reply.header('set-cookie', cookie).redirect(href, 303)
    } catch (error) {
      return show(request, reply, next, refusalBy(request, error))
    }
  })
  const answered = { hide: true, querystring: AnswerQuery }
  app.get(paths.signedInByName, { schema: answered }, async (request, reply) => {
    requireConfidential(request)
    countSignIn('address', addressBlock(request.ip))
    const begun = kept.read(cookieIn(request, 'tollgate-sign-in') ?? '')
    // The cookie is for one answer of the provider.
    void reply.header('set-cookie', cookieHeader(request, 'tollgate-sign-in', undefined))
    if (begun === undefined) {
      const fault =
        'This sign-in is older than ten minutes, or began in another browser. Begin again.'
      return show(request, reply, overviewHref(), { status: 403, fault })
    }
    const { next } = begun
    try {
      const subject = await provider.finish(ownAddress(request, request.url), begun)
      const refused = await openFor(deps, request, reply, subject)
      return refused === undefined
        ? await reply.redirect(next, 303)
        : show(request, reply, next, refused)
    } catch (error) {
      return show(request, reply, next, refusalBy(request, error))
    }
  })
}
