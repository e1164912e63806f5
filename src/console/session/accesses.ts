import type { FastifyReply, FastifyRequest } from 'fastify'
import { tenantNames, tokensOfSubject } from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { requireTokenAddress, tokenRefusal } from '../../api/kit/tokens/authenticate.ts'
import type { ConsoleSessions } from '../../app/access/console-sessions.ts'
import type { Principal, Resume } from '../../app/access/principal.ts'
import type { CountSignIn } from '../../app/spending/throttle/sign-ins.ts'
import { sharerOf } from '../../domain/token/sharer.ts'
import { openedBy, sessionCookie, sessionIn } from './guard.ts'
import { seesOtherTenants } from './reading-as.ts'
import { type RefusedSignIn, roleOf } from './session.ts'
import type { AccessChoice } from './sign-in.tsx'

/** The tokens with which a person signs in by name. */

export interface AccessDeps {
  readonly db: Queryable
  readonly sessions: Pick<ConsoleSessions, 'open' | 'end'>
  readonly resume: Resume
  readonly countSignIn: CountSignIn
}

/** A token that a person can sign in with. */
export interface Access {
  readonly principal: Principal
  readonly secretHash: string
}

/**
 * The newest valid token of a subject, of each tenant and scope: one that the administrator of a tenant issues takes no
 * access elsewhere away. @throws RequestError while tokens cannot be looked up
 */
export async function accessesOf(
  { db, resume }: Pick<AccessDeps, 'db' | 'resume'>,
  subject: string,
): Promise<readonly Access[]> {
  const found = new Map<string, Access>()
  for (const { tenantId, spansTenants, secretHash } of await tokensOfSubject(db, subject)) {
    const key = spansTenants ? `all ${tenantId}` : tenantId
    if (found.has(key)) continue
    const answer = await resume(secretHash)
    if (answer.ok) found.set(key, { principal: answer.principal, secretHash })
    else if (answer.reason === 'unavailable') throw tokenRefusal(answer)
  }
  return [...found.values()]
}

/**
 * Opens a session for a person, whose cookie the answer then has.
 * @throws DomainError `rate_limited`; RequestError from an address that the token is not for
 */
export async function openFor(
  deps: AccessDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { principal, secretHash }: Access,
): Promise<void> {
  const { tokenId } = principal
  requireTokenAddress(request, principal)
  deps.countSignIn('user', sharerOf(principal).user)
  const before = sessionIn(request)
  if (before !== undefined) await deps.sessions.end(before)
  const id = await deps.sessions.open({ secretHash, tokenId, ...openedBy(request) })
  void reply.header('set-cookie', sessionCookie(request, id))
  request.log.info({ tokenId }, 'a person signed in by name')
}

/** The words for a person without a token. */
export const noAccess = (subject: string): RefusedSignIn => ({
  status: 403,
  fault: `${subject} has no access here. An operator gives it: tollgate token issue --subject ${subject} …`,
})

/** The tokens of a person in words, with the names of their tenants. */
export async function choicesOf(
  db: Queryable,
  accesses: readonly Access[],
): Promise<readonly AccessChoice[]> {
  const names = await tenantNames(
    db,
    accesses.map(({ principal }) => principal.tenantId),
  )
  return accesses.map(({ principal }) => ({
    tokenId: principal.tokenId,
    role: roleOf(principal),
    sees: seesOtherTenants(principal)
      ? 'All tenants'
      : (names.get(principal.tenantId) ?? principal.tenantId),
  }))
}
