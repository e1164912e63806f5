import type { AccountEvent } from './events.ts'
import {
  countedOf,
  isPostingEvent,
  type PostingEvent,
  postingIdOf,
  postingOf,
} from './posting-events.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { personKey } from './approvals.ts'
import {
  mustWait,
  noProposals,
  proposalOf,
  recentAfter,
  type RuleState,
  statusAt,
  withEnd,
  withProposal,
} from './proposals.ts'
import { evolveSettings, isSettingEvent } from './settings.ts'

/** The rule of approvals over the events of one account, for its decisions and for the audit. */

export const noRule: RuleState = { ...noProposals, settings: {} }

/** The parts of an account that the rule needs, after an event. */
export function ruleAfter(state: RuleState, event: AccountEvent): RuleState {
  const { proposals, recent, settings } = state
  const now = { proposals, recent, settings }
  if (isSettingEvent(event)) return { ...now, settings: evolveSettings(settings, event) }
  if (isPostingEvent(event)) return { ...now, recent: recentAfter(state, event) }
  if (event.type === 'PostingProposed') return { ...now, ...withProposal(state, event.data) }
  if (event.type === 'PostingApproved' || event.type === 'PostingRejected')
    return { ...now, ...withEnd(state, event) }
  return now
}

/**
 * Why an event breaks the rule that was in force before it; undefined if it does not. That a role
 * may only propose is not in the log.
 */
export function ruleFault(state: RuleState, event: AccountEvent): string | undefined {
  if (isPostingEvent(event)) return postingFault(state, event)
  if (event.type !== 'PostingApproved') return undefined
  const { proposalId, by, approvedAt } = event.data
  const proposal = state.proposals.get(proposalId)
  if (proposal === undefined) return `${proposalId} is approved and was never proposed`
  if (personKey(proposal.proposed.by) === personKey(by))
    return `${proposalId} is approved by the user who proposed it`
  const status = statusAt(proposal, fromTimestamp(approvedAt))
  return status === 'proposed' ? undefined : `${proposalId} is approved although it is ${status}`
}

function postingFault(state: RuleState, event: PostingEvent): string | undefined {
  const { tenantId } = event.data
  const counted = countedOf(event)
  const posted = postingOf(event, counted?.amount ?? '0')
  const id = postingIdOf(posted)
  const kind = posted.kind === 'limit' ? 'limit' : 'posting'
  const proposal = proposalOf(state, tenantId, id, kind)
  if (proposal === undefined) {
    if (counted === undefined || !mustWait(counted, state, counted.atMs)) return undefined
    return `${counted.amount} ${counted.currency} of ${id} is more than its person might give alone`
  }
  if (proposal.end?.type !== 'PostingApproved') return `the proposal of ${id} was not approved`
  const { posting } = proposal.proposed
  const isSame =
    posted.currency === posting.currency &&
    (posted.kind === 'limit' && posting.kind === 'limit'
      ? posted.limit === posting.limit
      : posted.amount === posting.amount)
  return isSame ? undefined : `${id} is not what was approved`
}
