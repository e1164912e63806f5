import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { AccountEventData } from './events.ts'
import { personKey } from './approvals.ts'
import type { Person } from './postings.ts'

/** Who could have used a token, and since when: an approval by it is judged by that. */
export interface TokenOrigin {
  /**
   * The users of the token, of the tokens that issued it or gave it a secret, and of those that
   * issued these, up to a shell.
   */
  readonly users: readonly Pick<Person, 'tenantId' | 'userId'>[]
  /** When its secret was made, RFC 3339. */
  readonly secretMadeAt: string
}

/** The tokens of an approval. The proposer has none where a shell proposed. */
export interface ApprovalOrigins {
  readonly approver: TokenOrigin
  readonly proposer?: TokenOrigin | undefined
}

type Proposed = Pick<AccountEventData<'PostingProposed'>, 'proposalId' | 'by' | 'proposedAt'>

/**
 * Refuses an approval that one person could give alone: by another token of the proposer's user, by
 * one that the proposer issued, or by one that was made after the proposal. Where two persons must
 * consent, no user may have issued both tokens either.
 *
 * @throws DomainError `proposal_own`, `proposal_not_independent`
 */
export function requireIndependent(
  { proposalId, by: proposedBy, proposedAt }: Proposed,
  by: Person,
  { approver, proposer }: ApprovalOrigins,
  mayPostAlone: () => boolean,
): void {
  requireAnotherUser({ proposalId, by: proposedBy }, by)
  const refuse = (why: string): never => {
    throw new DomainError(
      'proposal_not_independent',
      `${why}; the approver must be an operator whose token is older than the proposal and was issued by neither person`,
      { proposalId },
    )
  }
  if (fromTimestamp(approver.secretMadeAt) > fromTimestamp(proposedAt))
    refuse(`this token got its secret at ${approver.secretMadeAt}, after the proposal`)
  const behind = new Set(approver.users.map(personKey))
  if (proposedBy !== undefined && behind.has(personKey(proposedBy)))
    refuse('the proposer issued this token, or one that issued it, or gave it a secret')
  if (mayPostAlone()) return
  const both = proposer?.users.find((user) => behind.has(personKey(user)))
  if (both !== undefined)
    refuse(`${both.userId} of ${both.tenantId} is behind this token and that of the proposer`)
}

/** @throws DomainError `proposal_own` */
export function requireAnotherUser(
  {
    proposalId,
    by: proposedBy,
  }: Pick<Proposed, 'proposalId'> & { readonly by?: Person | undefined },
  by: Person,
): void {
  if (personKey(proposedBy) !== personKey(by)) return
  throw new DomainError(
    'proposal_own',
    'a proposal is approved by a user other than its proposer',
    {
      proposalId,
    },
  )
}
