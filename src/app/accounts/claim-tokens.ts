import type { SubjectToken } from '../../../projections/access/query.ts'
import type { ClaimRole } from '../../domain/token/claim-roles.ts'
import type { IssuedToken } from '../../domain/token/decider.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { sha256Hex } from '../../kernel/ids.ts'
import { membersGiven } from '../../kernel/json.ts'
import {
  type AccountCommandDeps,
  addUser,
  changeToken,
  disableToken,
  issueToken,
} from './account-commands.ts'
import { readToken } from './known-token.ts'
import type { ManagementDeps } from './management.ts'

/**
 * Tokens of people whose role a claim of the identity provider gives. A person has one for each role, and a user that no one
 * else has, so that approvals count people, and the actor of an event is the person alone.
 */

/** A person at a sign-in. */
interface ClaimingPerson {
  readonly subject: string
  /** Values of the claim, as the provider says them now. */
  readonly roleValues: readonly string[]
  /** Whether the person has an invitation that comes before this role. */
  readonly isInvitedTo: (role: ClaimRole) => boolean
  /** The tokens of the person that are not disabled. */
  readonly tokens: readonly SubjectToken[]
  readonly requestId: string
}

export interface ClaimTokens {
  /**
   * Ends the tokens that the claim does not give any more, and extends or issues the one that it gives.
   * The answer is the hash of its secret, which no one has; undefined: the claim gives no role.
   * @throws DomainError `tenant_not_found` for a tenant that does not exist, `too_many_users`; errors of the log
   */
  readonly renew: (person: ClaimingPerson) => Promise<string | undefined>
}

interface ClaimTokenDeps extends Pick<ManagementDeps, 'log' | 'db' | 'catalog' | 'clock'> {
  readonly provider: { readonly issuer: string; readonly roles: readonly ClaimRole[] }
  /** A token is valid for this long after a sign-in, as its sessions are. */
  readonly validMs: number
}

/** The user of a person, the same at each sign-in. */
const userOf = (issuer: string, subject: string): string =>
  `person-${sha256Hex(`${issuer} ${subject}`).slice(0, 24)}`

/** Adds the user of a person to the tenant. @throws DomainError */
async function addPerson(
  deps: AccountCommandDeps,
  { tenantId, userId, name }: { tenantId: string; userId: string; name: string },
): Promise<void> {
  try {
    await addUser(deps, { tenantId, userId, name })
  } catch (error) {
    if (isDomainError(error, 'tenant_not_found')) {
      const message = `The tenant ${tenantId} that OIDC_ROLES names does not exist`
      throw new DomainError('tenant_not_found', message, {})
    }
    // The user was renamed since.
    if (!isDomainError(error, 'user_exists')) throw error
  }
}

/** Opens the tokens of people with a role by claim. */
export function createClaimTokens({
  provider: { issuer, roles },
  validMs,
  ...deps
}: ClaimTokenDeps): ClaimTokens {
  return {
    renew: async ({ subject, roleValues, isInvitedTo, tokens, requestId }) => {
      const actor = `${subject} at ${new URL(issuer).host}`
      const by = { ...deps, correlationId: requestId, actor }
      const claimed = roles.find(({ value }) => roleValues.includes(value))
      const isInvited = claimed !== undefined && isInvitedTo(claimed)
      const given = isInvited ? undefined : claimed
      const userId = userOf(issuer, subject)
      const isGiven = (token: IssuedToken): boolean =>
        given !== undefined &&
        token.claim === given.value &&
        token.role === given.role &&
        token.scope?.level === given.scope.level &&
        token.tenantId === given.tenantId &&
        token.userId === userId
      const expiresAt = toTimestamp(deps.clock.nowMs() + validMs)
      let kept: string | undefined
      for (const { tokenId, claim, secretHash } of tokens) {
        if (claim === null) continue
        const token = await readToken(deps.log, tokenId)
        if (token === undefined || token.disabledAt !== undefined) continue
        if (!isGiven(token)) {
          const reason = isInvited ? 'replaced by an invitation' : 'not given by the claim any more'
          await disableToken(by, { tokenId, reason })
        } else if (kept === undefined) {
          await changeToken(by, { tokenId, changes: { expiresAt } })
          kept = secretHash
        }
      }
      if (given === undefined || kept !== undefined) return kept
      const { tenantId, role, scope, value: claim } = given
      await addPerson(by, { tenantId, userId, name: subject })
      const person = { tenantId, userId, name: subject, subject, claim }
      const rights = { kind: 'admin' as const, scope, ...membersGiven({ role }), expiresAt }
      const { secret } = await issueToken(by, { ...person, ...rights })
      return sha256Hex(secret)
    },
  }
}
