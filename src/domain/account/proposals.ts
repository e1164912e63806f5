import { List, Map as ManyEntries } from 'immutable'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { sha256Hex } from '../../kernel/ids.ts'
import { checkCorrection, type Correctable, type Correction } from './adjustments.ts'
import { isAboveLimit, personKey, type RecentAmount, withRecent } from './approvals.ts'
import { checkPosted, type CreditState, limitIn } from './credit.ts'
import type { Corrects } from '../pricing/settlement.ts'
import type { AccountEvent, AccountEventData } from './events.ts'
import { type ApprovalOrigins, requireAnotherUser, requireIndependent } from './independence.ts'
import {
  countedOf,
  isPostingEvent,
  postedBy,
  type PostingEvent,
  postingOf,
} from './posting-events.ts'
import { type Person, type Posting, postingMembers } from './postings.ts'
import { type AccountSettings, settingIn } from './settings.ts'

/**
 * Proposals: postings above what one person may post alone within 24 hours, credit limits that rise
 * by more, and all postings of support. A proposal holds the id
 * and the `Idempotency-Key` of its posting and moves no money; the posting is made when a second
 * user approves it.
 */

const HOUR_MS = 60 * 60 * 1_000
/** Hex digits of the id of a proposal: 128 bits. */
const ID_LENGTH = 32

/** A proposal, and the event that ended it, if one did. */
export interface Proposal {
  readonly proposed: AccountEventData<'PostingProposed'>
  readonly end?: Extract<AccountEvent, { readonly type: 'PostingApproved' | 'PostingRejected' }>
}

/** How a proposal is at a time; it has lapsed from the time on that its event names. */
export type ProposalStatus = 'proposed' | 'approved' | 'rejected' | 'lapsed'

export interface ProposalState {
  /** Proposals by id, also those that have ended. */
  readonly proposals: ManyEntries<string, Proposal>
  /** Amounts that were posted and proposed in the last 24 hours, in the order of the stream. */
  readonly recent: List<RecentAmount>
}

export const noProposals: ProposalState = { proposals: ManyEntries(), recent: List() }

/** The parts of an account that say whether a posting needs a second user. */
export interface RuleState extends ProposalState {
  readonly settings: AccountSettings
}

/** The parts of an account that decide about postings. */
export interface PostingState extends CreditState, RuleState {
  readonly correctable: Correctable
}

/** Makes the posting of a proposal. `at` is RFC 3339. */
export interface ApprovePosting {
  readonly kind: 'approve'
  readonly tenantId: string
  readonly proposalId: string
  /** Always a user by a token: a shell approves nothing. */
  readonly by: Person
  /** Who is behind its token and that of the proposer. */
  readonly origins: ApprovalOrigins
  /** The settled line that the posting corrects, if it corrects one. */
  readonly line?: Extract<Correction, { readonly kind: 'line' }>['line'] | undefined
  readonly at: string
}

/** Ends a proposal without its posting. `at` is RFC 3339. */
export interface RejectPosting {
  readonly kind: 'reject'
  readonly tenantId: string
  readonly proposalId: string
  readonly by?: Person | undefined
  readonly reason: string
  readonly at: string
}

/** Postings and credit limits may have the same ids. */
export type ProposedKind = 'posting' | 'limit'

/** One posting id is one proposal, so that a repeated request is the same proposal. */
export function proposalIdOf(
  tenantId: string,
  postingId: string,
  kind: ProposedKind = 'posting',
): string {
  const name = kind === 'limit' ? 'limit proposal' : 'proposal'
  const hash = sha256Hex(JSON.stringify([name, tenantId, postingId]))
  return `proposal_${hash.slice(0, ID_LENGTH)}`
}

/** How a proposal is at a time. */
export function statusAt({ proposed, end }: Proposal, atMs: number): ProposalStatus {
  if (end !== undefined) return end.type === 'PostingApproved' ? 'approved' : 'rejected'
  return atMs < fromTimestamp(proposed.expiresAt) ? 'proposed' : 'lapsed'
}

/** The proposal under the id of a posting. */
export function proposalOf(
  { proposals }: Pick<ProposalState, 'proposals'>,
  tenantId: string,
  postingId: string,
  kind?: ProposedKind,
): Proposal | undefined {
  return proposals.isEmpty() ? undefined : proposals.get(proposalIdOf(tenantId, postingId, kind))
}

interface Posted {
  readonly tenantId: string
  readonly postingId: string
  readonly proposedKind?: ProposedKind
  readonly proposesOnly?: boolean | undefined
  readonly at: string
}

/**
 * Decides a posting, or its proposal where it is above what its person may post alone, or may only
 * be proposed. `post` decides the posting by all other rules.
 *
 * @throws DomainError `proposal_ended` where the id is that of a proposal without a posting, and
 *   those of `post`
 */
export function postOrPropose(
  { tenantId, postingId, proposedKind, proposesOnly = false, at }: Posted,
  state: PostingState,
  post: () => readonly AccountEvent[],
): readonly AccountEvent[] {
  const known = proposalOf(state, tenantId, postingId, proposedKind)
  const status = known && statusAt(known, fromTimestamp(at))
  if (status === 'rejected' || status === 'lapsed')
    throw new DomainError(
      'proposal_ended',
      `this posting was proposed and has ${status === 'lapsed' ? 'lapsed' : 'been rejected'}: propose it again under a new id`,
      { id: postingId },
    )
  const posted = post()
  const [event] = posted
  const counted = event && isPostingEvent(event) ? countedOf(event) : undefined
  if (event === undefined || !isPostingEvent(event) || counted === undefined) return posted
  if (!proposesOnly && !mustWait(counted, state, counted.atMs)) return posted
  const { by, keyHash } = event.data
  const { lapseHours } = settingIn(state.settings, 'approvals')
  const data = {
    tenantId,
    proposalId: proposalIdOf(tenantId, postingId, proposedKind),
    posting: postingOf(event, counted.amount),
    ...postingMembers({ by, keyHash }),
    proposedAt: at,
    expiresAt: toTimestamp(fromTimestamp(at) + lapseHours * HOUR_MS),
  }
  return [{ type: 'PostingProposed', data }]
}

/** Whether an amount is more than a person may post alone at a time, by the limits in force. */
export function mustWait(
  amount: Pick<Posting, 'currency' | 'amount'> & { readonly by?: Person | undefined },
  state: RuleState,
  atMs: number,
): boolean {
  const approvals = settingIn(state.settings, 'approvals')
  return isAboveLimit(approvals, { ...amount, atMs }, () => countedAt(state, atMs))
}

/**
 * The approval of a proposal together with its posting, which carries the person and the key of the
 * proposer. A repetition by the same user decides to no event.
 *
 * @throws DomainError `proposal_not_found`, `proposal_ended`, `proposal_own`,
 *   `proposal_not_independent`, `proposal_expired`, `amount_invalid`, `adjustment_source_invalid`, `adjustment_out_of_bounds`
 */
export function approve(command: ApprovePosting, state: PostingState): readonly AccountEvent[] {
  const { tenantId, proposalId, by, origins, at } = command
  const proposal = knownProposal(state, proposalId)
  const { proposed, end } = proposal
  if (end?.type === 'PostingApproved' && personKey(end.data.by) === personKey(by)) return []
  if (end === undefined) requireAnotherUser(proposed, by)
  requireOpen(proposal, at)
  requireIndependent(
    proposed,
    by,
    origins,
    () => !mustWait({ ...proposed.posting, by }, state, fromTimestamp(at)),
  )
  checkAgain(command, proposed.posting, state)
  return [
    { type: 'PostingApproved', data: { tenantId, proposalId, by, approvedAt: at } },
    postedBy(proposed, limitIn(state, proposed.posting.currency), at),
  ]
}

/**
 * A repetition by the same person with the same reason decides to no event.
 *
 * @throws DomainError `proposal_not_found`, `proposal_ended`, `proposal_expired`
 */
export function reject(command: RejectPosting, state: ProposalState): readonly AccountEvent[] {
  const { tenantId, proposalId, by, reason, at } = command
  const proposal = knownProposal(state, proposalId)
  const { end } = proposal
  const isRepeated =
    end?.type === 'PostingRejected' &&
    end.data.reason === reason &&
    personKey(end.data.by) === personKey(by)
  if (isRepeated) return []
  requireOpen(proposal, at)
  const data = { tenantId, proposalId, ...postingMembers({ by }), reason, rejectedAt: at }
  return [{ type: 'PostingRejected', data }]
}

/** The amounts that count after a posting. */
export function recentAfter(
  { recent }: Pick<ProposalState, 'recent'>,
  event: PostingEvent,
): ProposalState['recent'] {
  const counted = countedOf(event)
  return counted === undefined ? recent : withRecent(recent, counted)
}

/** The state after a proposal was made. Its posting's id and key are held by the caller. */
export function withProposal(
  state: ProposalState,
  proposed: AccountEventData<'PostingProposed'>,
): ProposalState {
  const { proposalId, posting, by, proposedAt } = proposed
  const { currency, amount } = posting
  const atMs = fromTimestamp(proposedAt)
  return {
    proposals: state.proposals.set(proposalId, { proposed }),
    recent: withRecent(state.recent, { by, currency, amount, atMs, proposalId }),
  }
}

/** The state after a proposal was ended. */
export function withEnd(
  { proposals }: ProposalState,
  end: NonNullable<Proposal['end']>,
): Pick<ProposalState, 'proposals'> {
  const { proposalId } = end.data
  const proposal = proposals.get(proposalId)
  return { proposals: proposal ? proposals.set(proposalId, { ...proposal, end }) : proposals }
}

function knownProposal({ proposals }: ProposalState, proposalId: string): Proposal {
  const proposal = proposals.get(proposalId)
  if (proposal !== undefined) return proposal
  throw new DomainError('proposal_not_found', 'the tenant has no such proposal', { proposalId })
}

/** @throws DomainError `proposal_ended`, `proposal_expired` */
function requireOpen(proposal: Proposal, at: string): void {
  const { proposalId, expiresAt } = proposal.proposed
  const status = statusAt(proposal, fromTimestamp(at))
  if (status === 'lapsed')
    throw new DomainError('proposal_expired', `the proposal lapsed at ${expiresAt}`, {
      proposalId,
    })
  if (status !== 'proposed')
    throw new DomainError('proposal_ended', `the proposal has already been ${status}`, {
      proposalId,
    })
}

/** Other postings may have been made since the proposal: its bounds are checked as of now. */
function checkAgain(
  { tenantId, line }: ApprovePosting,
  posting: Posting,
  state: PostingState,
): void {
  const { currency, amount } = posting
  if (posting.kind === 'limit') return
  if (posting.kind === 'adjustment') {
    const correction = correctionOf(posting.corrects, line)
    checkCorrection({ tenantId, currency, amount, correction }, state.correctable)
  }
  checkPosted(state, currency, amount)
}

function correctionOf(corrects: Corrects, line: ApprovePosting['line']): Correction {
  if (corrects.kind === 'grant') return corrects
  if (line?.lineId === corrects.lineId) return { kind: 'line', line }
  throw new DomainError('adjustment_source_invalid', `there is no line ${corrects.lineId}`, {
    source: corrects.lineId,
  })
}

/** The amounts that count towards a person's sum: what was posted, and what is proposed at a time. */
function countedAt({ recent, proposals }: ProposalState, atMs: number): readonly RecentAmount[] {
  const isOpen = (proposalId: string): boolean => {
    const proposal = proposals.get(proposalId)
    return proposal !== undefined && statusAt(proposal, atMs) === 'proposed'
  }
  return [...recent].filter(({ proposalId }) => proposalId === undefined || isOpen(proposalId))
}
