import { fromTimestamp } from '../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import type { AccountEvent, AccountEventData } from './events.ts'
import { type CountedAmount, type Posting, postingMembers } from './postings.ts'

/** A posting as an event, and as a proposal holds it. */

export type PostingEvent = Extract<
  AccountEvent,
  { readonly type: 'CreditGranted' | 'AdjustmentPosted' | 'CreditLimitSet' }
>

export function isPostingEvent(event: AccountEvent): event is PostingEvent {
  const { type } = event
  return type === 'CreditGranted' || type === 'AdjustmentPosted' || type === 'CreditLimitSet'
}

/**
 * The amount by which a posting uses up the limit of its person; undefined if it uses nothing. A
 * credit limit uses its increase; older events of limits do not say it, and use nothing.
 */
export function countedOf({ type, data }: PostingEvent): CountedAmount | undefined {
  const { by, currency } = data
  if (type === 'CreditGranted')
    return { by, currency, amount: data.amount, atMs: fromTimestamp(data.grantedAt) }
  if (type === 'AdjustmentPosted')
    return { by, currency, amount: data.amount, atMs: fromTimestamp(data.postedAt) }
  const { limit, before = limit, setAt } = data
  const increasePico = parseAmount(limit) - parseAmount(before)
  if (increasePico <= 0n) return undefined
  return { by, currency, amount: formatAmount(increasePico), atMs: fromTimestamp(setAt) }
}

/** The terms of a posting, out of its event; `amount` is what it counts. */
export function postingOf(event: PostingEvent, amount: string): Posting {
  if (event.type === 'CreditGranted') {
    const { tenantId: _tenantId, keyHash: _keyHash, by: _by, grantedAt: _at, ...terms } = event.data
    return { kind: 'grant', ...terms }
  }
  if (event.type === 'CreditLimitSet') {
    const { limitId = '', currency, limit, before = limit, reason } = event.data
    const terms = { limitId, currency, amount, limit, before, ...postingMembers({ reason }) }
    return { kind: 'limit', ...terms }
  }
  const { tenantId: _tenantId, keyHash: _keyHash, by: _by, postedAt: _at, ...terms } = event.data
  return { kind: 'adjustment', ...terms }
}

/** The event of a proposed posting, made at a time. A limit replaces `limitNow`. */
export function postedBy(
  posting: Posting,
  { tenantId, by, keyHash }: Omit<AccountEventData<'PostingProposed'>, 'posting'>,
  limitNow: string,
  at: string,
): PostingEvent {
  const further = postingMembers({ keyHash, by })
  if (posting.kind === 'grant') {
    const { kind: _kind, ...terms } = posting
    return { type: 'CreditGranted', data: { tenantId, ...terms, ...further, grantedAt: at } }
  }
  if (posting.kind === 'limit') {
    const { kind: _kind, amount: _amount, before: _before, ...terms } = posting
    const data = { tenantId, ...terms, before: limitNow, ...further, setAt: at }
    return { type: 'CreditLimitSet', data }
  }
  const { kind: _kind, ...terms } = posting
  return { type: 'AdjustmentPosted', data: { tenantId, ...terms, ...further, postedAt: at } }
}
