import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { RequestError } from '../../api/kit/request-error.ts'
import { addressBlock } from '../../kernel/address-ranges.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isDomainError } from '../../kernel/errors.ts'
import { fieldsOf } from '../form-body.ts'
import {
  chooseAccessHref,
  nextPlace,
  overviewHref,
  paths,
  signedInByNameHref,
  signInHref,
} from '../kit/href.ts'
import {
  type AccessDeps,
  accessesNow,
  accessesOf,
  choicesOf,
  noAccess,
  openFor,
} from './accesses.ts'
import {
  BEGUN_FOR_MS,
  createBegunSignIns,
  createKnownPeople,
  type KnownPerson,
  type SignedTexts,
} from './begun-sign-ins.ts'
import { cookieHeader, cookieIn, isFromElsewhere } from './guard.ts'
import { type Provider, ProviderFault } from './provider.ts'
import { type RefusedSignIn, requireConfidential, type ShowSignIn } from './session.ts'
import type { AccessChoice } from './sign-in.tsx'

/**
 * Signing in by name: the provider says who a person is, and the person's token what they may do. The token has no
 * secret that anyone knows; its session is one as of every other token.
 */

interface ByNameDeps extends AccessDeps {
  readonly clock: Clock
  readonly provider: Provider
}

interface Shows {
  readonly signIn: ShowSignIn
  readonly choose: (
    request: FastifyRequest,
    reply: FastifyReply,
    subject: string,
    choices: readonly AccessChoice[],
  ) => unknown
}

/** The address of a path as the browser sees it, which the provider must know. @throws RequestError */
function ownAddress({ protocol, host }: FastifyRequest, path: string): URL {
  const own = `${protocol}://${host}`
  if (URL.canParse(path, own)) return new URL(path, own)
  throw new RequestError('address_not_allowed', 'The header Host names no host')
}

/** The words for a fault of the provider. @throws every other error */
function refusalBy(request: FastifyRequest, error: unknown): RefusedSignIn {
  if (isDomainError(error, 'tenant_not_found')) return { status: 403, fault: error.message }
  if (!(error instanceof ProviderFault)) throw error
  const { kind, detail, message } = error
  request.log.warn({ kind, detail }, 'a sign-in by name failed')
  return { status: kind === 'away' || kind === 'busy' ? 503 : 403, fault: message }
}

/** Providers add members of their own. */
const AnswerQuery = Type.Object({}, { additionalProperties: true })

/** The routes by which a person goes to the provider and comes back; `shows` answers the pages. */
export function byNameRoutes(app: FastifyInstance, deps: ByNameDeps, shows: Shows): void {
  const { provider, countSignIn } = deps
  const kept = createBegunSignIns(provider.secret, deps.clock, overviewHref())
  const people = createKnownPeople(provider.secret, deps.clock, overviewHref())
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
      return shows.signIn(request, reply, next, refusalBy(request, error))
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
      return shows.signIn(request, reply, overviewHref(), { status: 403, fault })
    }
    const { next } = begun
    try {
      const person = await provider.finish(ownAddress(request, request.url), begun)
      const { subject } = person
      const { accesses, claimedId } = await accessesNow(deps, person, request.id)
      const [access] = accesses
      if (access === undefined) return await shows.signIn(request, reply, next, noAccess(subject))
      if (accesses.length > 1) {
        const text = people.write({ subject, claimedId, next })
        const cookie = cookieHeader(request, 'tollgate-person', text, BEGUN_FOR_MS / 1_000)
        return await reply.header('set-cookie', cookie).redirect(chooseAccessHref(), 303)
      }
      await openFor(deps, request, reply, access)
      return await reply.redirect(next, 303)
    } catch (error) {
      return shows.signIn(request, reply, next, refusalBy(request, error))
    }
  })
  chooseRoutes(app, deps, people, shows)
}

const TOO_LATE = 'This choice is older than ten minutes, or was made. Sign in again.'

/** The page on which a person chooses a token, and its form. */
function chooseRoutes(
  app: FastifyInstance,
  deps: ByNameDeps,
  people: SignedTexts<KnownPerson>,
  shows: Shows,
): void {
  const personIn = (request: FastifyRequest) => {
    requireConfidential(request)
    deps.countSignIn('address', addressBlock(request.ip))
    return people.read(cookieIn(request, 'tollgate-person') ?? '')
  }
  const late = (request: FastifyRequest, reply: FastifyReply) =>
    shows.signIn(request, reply, overviewHref(), { status: 403, fault: TOO_LATE })
  const hidden = { schema: { hide: true } }
  app.get(paths.chooseAccess, hidden, async (request, reply) => {
    const person = personIn(request)
    if (person === undefined) return late(request, reply)
    const choices = await choicesOf(deps.db, await accessesOf(deps, person))
    return shows.choose(request, reply, person.subject, choices)
  })
  app.post(paths.chooseAccess, hidden, async (request, reply) => {
    const { token } = fieldsOf(request, ['token'])
    const person = personIn(request)
    if (person === undefined) return late(request, reply)
    const { subject, next } = person
    const accesses = await accessesOf(deps, person)
    const access = accesses.find(({ principal }) => principal.tokenId === token)
    if (access === undefined) return shows.signIn(request, reply, next, noAccess(subject))
    await openFor(deps, request, reply, access)
    const used = cookieHeader(request, 'tollgate-person', undefined)
    return reply.header('set-cookie', used).redirect(next, 303)
  })
}
