import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type SubjectToken,
  tenantNames,
  tokensOfSubject,
} from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { requireTokenAddress, tokenRefusal } from '../../api/kit/tokens/authenticate.ts'
import type { ConsoleSessions } from '../../app/access/console-sessions.ts'
import type { Principal, Resume } from '../../app/access/principal.ts'
import type { ClaimTokens } from '../../app/accounts/claim-tokens.ts'
import type { CountSignIn } from '../../app/spending/throttle/sign-ins.ts'
import { sharerOf } from '../../domain/token/sharer.ts'
import { openedBy, sessionCookie, sessionIn } from './guard.ts'
import type { KnownPerson } from './begun-sign-ins.ts'
import type { Person } from './provider.ts'
import { seesOtherTenants } from './reading-as.ts'
import { type RefusedSignIn, roleOf } from './session.ts'
import type { AccessChoice } from './sign-in.tsx'

/** The tokens with which a person signs in by name. */

export interface AccessDeps {
  readonly db: Queryable
  readonly sessions: Pick<ConsoleSessions, 'open' | 'end'>
  readonly resume: Resume
  readonly countSignIn: CountSignIn
  /** Gives people without an invitation the role of a claim; undefined: all are invited. */
  readonly claimTokens: ClaimTokens | undefined
}

/** A token that a person can sign in with. */
export interface Access {
  readonly principal: Principal
  readonly secretHash: string
}

/** Tokens of one person that replace each other: those of a tenant, and those of all tenants. */
const groupOf = (tenantId: string, spansTenants: boolean): string =>
  spansTenants ? `all ${tenantId}` : tenantId

/**
 * The newest valid token of each tenant and scope: one that the administrator of a tenant issues takes no access
 * elsewhere away. @throws RequestError while tokens cannot be looked up
 */
async function newestOf(
  resume: Resume,
  tokens: readonly SubjectToken[],
): Promise<ReadonlyMap<string, Access>> {
  const found = new Map<string, Access>()
  for (const { tenantId, spansTenants, secretHash } of tokens) {
    const group = groupOf(tenantId, spansTenants)
    if (found.has(group)) continue
    const answer = await resume(secretHash)
    if (answer.ok) found.set(group, { principal: answer.principal, secretHash })
    else if (answer.reason === 'unavailable') throw tokenRefusal(answer)
  }
  return found
}

/** The tokens that a person chooses from. @throws RequestError while tokens cannot be looked up */
export async function accessesOf(
  { db, resume }: Pick<AccessDeps, 'db' | 'resume'>,
  { subject, claimedId }: Pick<KnownPerson, 'subject' | 'claimedId'>,
): Promise<readonly Access[]> {
  const tokens = await tokensOfSubject(db, subject)
  const usable = tokens.filter(({ claim, tokenId }) => claim === null || tokenId === claimedId)
  return [...(await newestOf(resume, usable)).values()]
}

/**
 * The tokens of a person who comes from the provider: those of invitations, and the one that a claim gives, unless there is
 * an invitation to the same tenant and scope.
 * @throws RequestError while tokens cannot be looked up; DomainError where the claim cannot give one
 */
export async function accessesNow(
  { db, resume, claimTokens }: AccessDeps,
  { subject, roleValues }: Person,
  requestId: string,
): Promise<{ readonly accesses: readonly Access[]; readonly claimedId: string | undefined }> {
  const tokens = await tokensOfSubject(db, subject)
  const invited = await newestOf(
    resume,
    tokens.filter(({ claim }) => claim === null),
  )
  const secretHash = await claimTokens?.renew({
    subject,
    roleValues,
    tokens,
    requestId,
    isInvitedTo: ({ tenantId, scope }) =>
      invited.has(groupOf(tenantId, scope.level === 'all_tenants')),
  })
  const invitations = [...invited.values()]
  if (secretHash === undefined) return { accesses: invitations, claimedId: undefined }
  const answer = await resume(secretHash)
  if (!answer.ok) throw tokenRefusal(answer)
  const { principal } = answer
  return { accesses: [...invitations, { principal, secretHash }], claimedId: principal.tokenId }
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
