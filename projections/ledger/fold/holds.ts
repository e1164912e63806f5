import { invariant } from '../../../src/kernel/assert.ts'
import { parseAmount } from '../../../src/kernel/money.ts'
import type { TaskEventData } from '../../../src/domain/task/events.ts'
import { balanceOf, enter, type Hold, type LedgerChange } from './change.ts'

/** Ends a hold if it is placed; one that is not stays as it is. */
export function closeHold(
  change: LedgerChange,
  sourceId: string,
  state: 'captured' | 'released',
  at: string,
  position: bigint,
): void {
  const held = change.holds.get(sourceId)
  if (held?.state !== 'placed') return
  held.state = state
  held.closedAt = at
  held.position = position
  const { tenantId, currency, amountPico } = held.hold
  balanceOf(change, tenantId, currency, position).held -= amountPico
  enter(change, {
    sourceId,
    tenantId,
    currency,
    position,
    kind: state === 'captured' ? 'hold_captured' : 'hold_released',
    debit: 'available',
    credit: 'held',
    amountPico,
  })
}

/** Places the hold of a quote on the balance. */
export function placeHold(
  change: LedgerChange,
  position: bigint,
  requested: TaskEventData<'TaskRequested'>,
): void {
  const { platformId: sourceId, tenantId, quote, requestedAt } = requested
  invariant(!change.holds.has(sourceId), `${sourceId} requested twice`)
  const amountPico = parseAmount(quote.hold)
  const hold: Hold = { sourceId, tenantId, currency: quote.currency, amountPico }
  change.holds.set(sourceId, {
    hold,
    placedAt: requestedAt,
    state: 'placed',
    closedAt: undefined,
    position,
  })
  balanceOf(change, tenantId, quote.currency, position).held += amountPico
  enter(change, {
    sourceId,
    tenantId,
    currency: quote.currency,
    amountPico,
    position,
    kind: 'hold_placed',
    debit: 'held',
    credit: 'available',
  })
}
