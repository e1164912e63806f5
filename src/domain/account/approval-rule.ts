import type { AccountEvent } from './events.ts'
import { countedOf, isPostingEvent, type PostingEvent, postingOf } from './posting-events.ts'
import { postingIdOf } from './postings.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import type { PriceBook } from '../pricing/price-book.ts'
import { personKey, personKeys } from './approvals.ts'
import {
  mustWait,
  noProposals,
  proposalOf,
  recentAfter,
  type RuleState,
  statusAt,
  withEnd,
  withProposal,
} from './proposal-state.ts'
import {
  changeBy,
  type ChangeEvent,
  givesMore,
  isChangeEvent,
  isSameChange,
  isSettingChange,
} from './setting-changes.ts'
import { evolveSettings, isSettingEvent, settingIn } from './settings.ts'

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
 * may only propose is not in the log. `bookOf` returns a published price book, empty if there is none.
 */
export function ruleFault(
  state: RuleState,
  event: AccountEvent,
  bookOf: (version: string) => PriceBook,
): string | undefined {
  if (isPostingEvent(event)) return postingFault(state, event)
  if (isChangeEvent(event)) return changeFault(state, event, bookOf)
  if (event.type !== 'PostingApproved') return undefined
  const { proposalId, by, approvedAt } = event.data
  const proposal = state.proposals.get(proposalId)
  if (proposal === undefined) return `${proposalId} is approved and was never proposed`
  const { proposed } = proposal
  const atMs = fromTimestamp(approvedAt)
  if (personKey(proposed.by) === personKey(by))
    return `${proposalId} is approved by the user who proposed it`
  if (personKeys(by).includes(personKey(proposed.by)))
    return `${proposalId} is approved by a token that the proposer could have used`
  const isShared = personKeys(proposed.by).some((key) => personKeys(by).includes(key))
  const { posting } = proposed
  const needsTwo = isSettingChange(posting) || mustWait({ ...posting, by }, state, atMs, proposalId)
  if (isShared && needsTwo)
    return `${proposalId} is approved by a token that one person could have used with the proposer's`
  const status = statusAt(proposal, atMs)
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
    !isSettingChange(posting) &&
    posted.currency === posting.currency &&
    (posted.kind === 'limit' && posting.kind === 'limit'
      ? posted.limit === posting.limit
      : posted.amount === posting.amount)
  return isSame ? undefined : `${id} is not what was approved`
}

/** An event that does not name the person was written before such changes needed a second one. */
function changeFault(
  state: RuleState,
  event: ChangeEvent,
  bookOf: (version: string) => PriceBook,
): string | undefined {
  if (event.data.by === undefined) return undefined
  const change = changeBy(event, state.settings)
  const { limits } = settingIn(state.settings, 'approvals')
  const versions = change.kind === 'prices' ? (change.after.comparedWith ?? []) : []
  if (!givesMore(change, limits, versions.map(bookOf))) return undefined
  const isApproved = state.proposals.some(
    ({ proposed, end }) =>
      end?.type === 'PostingApproved' &&
      isSettingChange(proposed.posting) &&
      isSameChange(proposed.posting, change),
  )
  if (isApproved) return undefined
  return `${change.kind} of revision ${event.data.revision} give more than one person might alone`
}
