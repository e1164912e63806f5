import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { checkCorrection, type Correctable, type AdjustmentTarget } from './adjustments.ts'
import { personKey } from './approvals.ts'
import { checkPosted, type CreditState, limitIn } from './credit.ts'
import type { PriceBook } from '../pricing/price-book.ts'
import type { Corrects } from '../pricing/settlement.ts'
import type { AccountEvent, AccountEventData } from './events.ts'
import { type ApprovalOrigins, requireAnotherUser, requireIndependent } from './independence.ts'
import { countedOf, isPostingEvent, postedBy, postingOf } from './posting-events.ts'
import { type Person, type Posting, postingMembers } from './postings.ts'
import {
  mustWait,
  openChange,
  type Proposal,
  proposalIdOf,
  proposalOf,
  type ProposalState,
  type ProposedKind,
  type RuleState,
  statusAt,
} from './proposal-state.ts'
import {
  changeBy,
  changedBy,
  givesMore,
  isChangeEvent,
  isSettingChange,
  mayGive,
  type SettingChange,
} from './setting-changes.ts'
import {
  type AccountSettings,
  definitionOf,
  settingIn,
  setSetting,
  type SetSetting,
} from './settings.ts'

/**
 * Proposals: postings above what one person may post alone within 24 hours, credit limits that rise
 * by more, all postings of support, lower prices, and more for one person to give. A proposal of a
 * posting holds its id and its `Idempotency-Key`. A proposal gives nothing: what it proposes is made
 * when a second user approves it.
 */

const HOUR_MS = 60 * 60 * 1_000

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
  readonly line?: Extract<AdjustmentTarget, { readonly kind: 'line' }>['line'] | undefined
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

/**
 * Decides a setting, or its proposal where the change gives the tenant more and a second user must
 * approve it. The same change again, while its proposal is open, decides to no event.
 *
 * @throws DomainError `setting_invalid`, `setting_changed`
 */
export function setOrPropose(command: SetSetting, state: RuleState): readonly AccountEvent[] {
  const { tenantId, by, at } = command
  const set = setSetting(command, state.settings)
  const [event] = set
  if (event === undefined || !isChangeEvent(event)) return set
  const change = changeBy(event, state.settings)
  const { limits, lapseHours } = settingIn(state.settings, 'approvals')
  if (!givesMore(change, limits, booksOf(command))) return set
  const atMs = fromTimestamp(at)
  if (openChange(state, change, atMs) !== undefined) return []
  // The number makes it another proposal where an earlier one of the same change has ended.
  const name = `${change.kind} ${change.basis} ${state.proposals.size}`
  const data = {
    tenantId,
    proposalId: proposalIdOf(tenantId, name, 'setting'),
    posting: change,
    ...postingMembers({ by }),
    proposedAt: at,
    expiresAt: toTimestamp(atMs + lapseHours * HOUR_MS),
  }
  return [{ type: 'PostingProposed', data }]
}

const booksOf = ({ wanted }: SetSetting): readonly PriceBook[] =>
  'books' in wanted ? (wanted.books ?? []) : []

/** The open proposal of what a command asks for; undefined where it is set, or was never proposed. */
export function proposalOfSetting(command: SetSetting, state: RuleState): Proposal | undefined {
  if (!mayGive(command.setting)) return undefined
  const [event] = setSetting({ ...command, basis: undefined }, state.settings)
  if (event === undefined || !isChangeEvent(event)) return undefined
  return openChange(state, changeBy(event, state.settings), fromTimestamp(command.at))
}

/**
 * The approval of a proposal together with its posting, which carries the person and the key of the
 * proposer, or with its setting. A repetition by the same user decides to no event.
 *
 * @throws DomainError `proposal_not_found`, `proposal_ended`, `proposal_own`,
 *   `proposal_not_independent`, `proposal_expired`, `amount_invalid`, `adjustment_source_invalid`, `adjustment_out_of_bounds`,
 *   `proposal_outdated`
 */
export function approve(command: ApprovePosting, state: PostingState): readonly AccountEvent[] {
  const { tenantId, proposalId, by, origins, at } = command
  const proposal = knownProposal(state, proposalId)
  const { proposed, end } = proposal
  const { posting } = proposed
  if (end?.type === 'PostingApproved' && personKey(end.data.by) === personKey(by)) return []
  if (end === undefined) requireAnotherUser(proposed, by)
  requireOpen(proposal, at)
  requireIndependent(
    proposed,
    by,
    origins,
    () =>
      !isSettingChange(posting) &&
      !mustWait({ ...posting, by }, state, fromTimestamp(at), proposalId),
  )
  const approved = { tenantId, proposalId, by, approvedAt: at }
  return [{ type: 'PostingApproved', data: approved }, madeBy(command, proposed, state)]
}

/** The event of what was proposed, which is checked again as of now. */
function madeBy(
  command: ApprovePosting,
  proposed: AccountEventData<'PostingProposed'>,
  state: PostingState,
): AccountEvent {
  const { at } = command
  const { posting } = proposed
  if (isSettingChange(posting)) {
    requireStanding(posting, state.settings)
    return changedBy(posting, proposed, at)
  }
  checkAgain(command, posting, state)
  return postedBy(posting, proposed, limitIn(state, posting.currency), at)
}

/** A second person agreed to replace one setting by another: it is not applied to a third one. */
function requireStanding({ kind, basis }: SettingChange, settings: AccountSettings): void {
  const { revision } = settingIn(settings, kind)
  if (revision === basis) return
  const { title } = definitionOf(kind)
  throw new DomainError(
    'proposal_outdated',
    `the ${title} of this tenant were set in the meantime, to revision ${revision}, and the proposal changes revision ${basis}: reject it, and propose again`,
    { revision },
  )
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

function correctionOf(corrects: Corrects, line: ApprovePosting['line']): AdjustmentTarget {
  if (corrects.kind === 'grant') return corrects
  if (line?.lineId === corrects.lineId) return { kind: 'line', line }
  throw new DomainError('adjustment_source_invalid', `there is no line ${corrects.lineId}`, {
    source: corrects.lineId,
  })
}
