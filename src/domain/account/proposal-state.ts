import { List, Map as ManyEntries } from 'immutable'
import { fromTimestamp } from '../../kernel/clock.ts'
import { derivedId } from '../../kernel/ids.ts'
import { isAboveLimit, type RecentAmount, withRecent } from './approvals.ts'
import type { AccountEvent, AccountEventData } from './events.ts'
import { countedOf, type PostingEvent } from './posting-events.ts'
import type { Person, Posting } from './postings.ts'
import { isSameChange, isSettingChange, type SettingChange } from './setting-changes.ts'
import { type AccountSettings, settingIn } from './settings.ts'

/** The proposals of an account, and what counts towards the sum of a person. */

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

/** Postings, credit limits and settings may have the same ids. */
export type ProposedKind = 'posting' | 'limit' | 'setting'

/** One posting id is one proposal, so that a repeated request is the same proposal. */
export function proposalIdOf(
  tenantId: string,
  postingId: string,
  kind: ProposedKind = 'posting',
): string {
  const name = kind === 'posting' ? 'proposal' : `${kind} proposal`
  return derivedId('proposal', [name, tenantId, postingId])
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

/** The open proposal of a change by an earlier request; undefined if there is none. */
export function openChange(
  { proposals }: Pick<ProposalState, 'proposals'>,
  change: SettingChange,
  atMs: number,
): Proposal | undefined {
  return proposals
    .valueSeq()
    .find(
      (proposal) =>
        isSettingChange(proposal.proposed.posting) &&
        isSameChange(proposal.proposed.posting, change) &&
        statusAt(proposal, atMs) === 'proposed',
    )
}

/**
 * Whether an amount is more than a person may post alone at a time, by the limits in force.
 * `except` is a proposal that does not count, because the amount is its own.
 */
export function mustWait(
  amount: Pick<Posting, 'currency' | 'amount'> & { readonly by?: Person | undefined },
  state: RuleState,
  atMs: number,
  except?: string,
): boolean {
  const approvals = settingIn(state.settings, 'approvals')
  return isAboveLimit(approvals, { ...amount, atMs }, () =>
    countedAt(state, atMs).filter(
      ({ proposalId }) => proposalId === undefined || proposalId !== except,
    ),
  )
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
  const proposals = state.proposals.set(proposalId, { proposed })
  if (isSettingChange(posting)) return { proposals, recent: state.recent }
  const { currency, amount } = posting
  const atMs = fromTimestamp(proposedAt)
  return {
    proposals,
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

/** The amounts that count towards a person's sum: what was posted, and what is proposed at a time. */
function countedAt({ recent, proposals }: ProposalState, atMs: number): readonly RecentAmount[] {
  const isOpen = (proposalId: string): boolean => {
    const proposal = proposals.get(proposalId)
    return proposal !== undefined && statusAt(proposal, atMs) === 'proposed'
  }
  return [...recent].filter(({ proposalId }) => proposalId === undefined || isOpen(proposalId))
}
