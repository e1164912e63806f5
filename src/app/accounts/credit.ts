import type { ProposalRow } from '../../../projections/proposals/query.ts'
import type { AdjustmentTarget } from '../../domain/account/adjustments.ts'
import type { AccountCommand } from '../../domain/account/decider.ts'
import { newPostingId } from '../../domain/account/posting-ids.ts'
import type { CreditKind, Person, ReasonCode } from '../../domain/account/postings.ts'
import { type Proposal, proposalOf, statusAt } from '../../domain/account/proposal-state.ts'
import type { ApprovePosting, RejectPosting } from '../../domain/account/proposals.ts'
import { invariant } from '../../kernel/assert.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import type { Currency } from '../../kernel/money.ts'
import { type AccountCommandDeps, type Changed, decideOnAccount } from './account-commands.ts'

/** Commands that move a tenant's money: each has an id, and moves money once under one id. */

export interface GrantInput {
  readonly tenantId: string
  /** A repeated id grants nothing; without an id every request grants. */
  readonly grantId?: string
  readonly currency: Currency
  /** Positive decimal string. */
  readonly amount: string
  readonly reason: string
  /** Absent: paid. */
  readonly credit?: CreditKind | undefined
  /** The invoice or payment outside that it stands for. */
  readonly reference?: string | undefined
  readonly by?: Person
  /** Whether the posting waits for a second user, whatever its amount. */
  readonly proposesOnly?: boolean
  readonly keyHash?: string
}

/** The outcome of a grant, an adjustment or a credit limit. */
export interface PostingOutcome extends Changed {
  /** Set where it is only proposed, and nothing is posted. */
  readonly proposal: ProposalRow | undefined
}

/**
 * Grants credit, or proposes it; a repeated grant id with the same figures changes nothing.
 * @throws DomainError of the account decider; `posting_outcome_unknown`
 */
export async function grantCredit(
  deps: AccountCommandDeps,
  input: GrantInput,
): Promise<PostingOutcome & { readonly grantId: string }> {
  const grantId = input.grantId ?? newPostingId('grant', deps.clock.nowMs())
  const command = { kind: 'grant', ...input, grantId, at: now(deps) } as const
  return { grantId, ...(await postOrPropose(deps, command, grantId, 'grant_id')) }
}

export interface CreditLimitInput {
  readonly tenantId: string
  /** A repeated id sets nothing, even after a later change. */
  readonly limitId: string
  readonly currency: Currency
  /** Decimal string, not negative. */
  readonly limit: string
  readonly reason?: string | undefined
  readonly by?: Person
  readonly keyHash?: string
}

/**
 * Sets how far below zero a balance may go, or proposes it.
 * @throws DomainError of the account decider; `posting_outcome_unknown`
 */
export function setCreditLimit(
  deps: AccountCommandDeps,
  input: CreditLimitInput,
): Promise<PostingOutcome> {
  const command = { kind: 'set-limit', ...input, at: now(deps) } as const
  return postOrPropose(deps, command, input.limitId, 'limit_id')
}

export interface AdjustmentInput {
  readonly tenantId: string
  /** A repeated id posts nothing. */
  readonly adjustmentId: string
  readonly currency: Currency
  /** Signed decimal string: positive credits the tenant. */
  readonly amount: string
  readonly correction: AdjustmentTarget
  readonly reason: string
  readonly code?: ReasonCode | undefined
  readonly by?: Person
  readonly proposesOnly?: boolean
  readonly keyHash?: string
}

/**
 * Corrects a settled line or a grant by a signed amount, or proposes it.
 * @throws DomainError of the account decider; `posting_outcome_unknown`
 */
export function postAdjustment(
  deps: AccountCommandDeps,
  input: AdjustmentInput,
): Promise<PostingOutcome> {
  const command = { kind: 'post-adjustment', ...input, at: now(deps) } as const
  return postOrPropose(deps, command, input.adjustmentId, 'adjustment_id')
}

/** A proposal after a decision about it. */
export interface DecidedProposal extends Changed {
  readonly proposal: ProposalRow
}

/**
 * Approves or rejects a proposal; the same decision again changes nothing.
 * @throws DomainError of the account decider; `posting_outcome_unknown`
 */
export async function decideProposal(
  deps: AccountCommandDeps,
  decision: Omit<ApprovePosting, 'at'> | Omit<RejectPosting, 'at'>,
): Promise<DecidedProposal> {
  const { proposalId } = decision
  const { events, position, state } = await confirmed(proposalId, 'proposal_id', () =>
    decideOnAccount(deps, { ...decision, at: now(deps) }),
  )
  const proposal = state.proposals.get(proposalId)
  invariant(proposal, `${proposalId} was decided and is not there`)
  return {
    changed: events.length > 0,
    position,
    proposal: toProposalRow(proposal, deps.clock.nowMs()),
  }
}

async function postOrPropose(
  deps: AccountCommandDeps,
  command: Extract<AccountCommand, { readonly kind: 'grant' | 'post-adjustment' | 'set-limit' }>,
  id: string,
  param: string,
): Promise<PostingOutcome> {
  const decided = await confirmed(id, param, () => decideOnAccount(deps, command))
  const kind = command.kind === 'set-limit' ? 'limit' : 'posting'
  const known = proposalOf(decided.state, command.tenantId, id, kind)
  // One that was approved is posted.
  const isOpen = known !== undefined && known.end === undefined
  return {
    changed: decided.events.length > 0,
    position: decided.position,
    proposal: isOpen ? toProposalRow(known, deps.clock.nowMs()) : undefined,
  }
}

/** A proposal of the log, as the read model shows it at a time. */
export function toProposalRow({ proposed, end }: Proposal, nowMs: number): ProposalRow {
  const { tenantId, proposalId, posting, by = null, proposedAt, expiresAt } = proposed
  const isRejected = end?.type === 'PostingRejected'
  const endedAt = isRejected ? end.data.rejectedAt : end?.data.approvedAt
  return {
    tenantId,
    proposalId,
    posting,
    by,
    state: statusAt({ proposed, ...(end && { end }) }, nowMs),
    proposedAtMs: fromTimestamp(proposedAt),
    expiresAtMs: fromTimestamp(expiresAt),
    endedAtMs: endedAt === undefined ? null : fromTimestamp(endedAt),
    endedBy: end?.data.by ?? null,
    reason: isRejected ? end.data.reason : null,
  }
}

/** On an unknown outcome, the error names the id for the retry. */
async function confirmed<Done>(
  id: string,
  param: string,
  change: () => Promise<Done>,
): Promise<Done> {
  try {
    return await change()
  } catch (error) {
    if (!isDomainError(error, 'log_outcome_unknown')) throw error
    throw new DomainError(
      'posting_outcome_unknown',
      `the event log did not confirm it in time and may have recorded it: send it again as ${id}, and it counts once`,
      { param },
    )
  }
}

function now({ clock }: AccountCommandDeps): string {
  return toTimestamp(clock.nowMs())
}
