import type { HoldEnded, HoldPlaced } from '../../../src/domain/event-facts.ts'
import { parseAmount } from '../../../src/kernel/money.ts'
import { expectInOrder } from '../../engine/passed-over.ts'
import { addToTotal, balanceOf, enter, type Hold, type LedgerChange } from './change.ts'

/** Ends a hold if it is placed; otherwise does nothing. */
export function endHold(
  change: LedgerChange,
  position: bigint,
  { sourceId, state, endedAt }: HoldEnded,
): void {
  const held = change.holds.get(sourceId)
  if (held?.state !== 'placed') return
  held.state = state
  held.closedAt = endedAt
  held.position = position
  const { tenantId, currency, amountPico } = held.hold
  balanceOf(change, tenantId, currency, position).held -= amountPico
  addToTotal(change, { kind: 'held', currency, part: '' }, -1, -amountPico)
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

/** Places the hold of a request on the balance. */
export function placeHold(change: LedgerChange, position: bigint, placed: HoldPlaced): void {
  const { sourceId, tenantId, currency, placedAt } = placed
  expectInOrder(!change.holds.has(sourceId), `${sourceId} requested twice`)
  const amountPico = parseAmount(placed.amount)
  const hold: Hold = { sourceId, tenantId, currency, amountPico }
  change.holds.set(sourceId, {
    hold,
    placedAt,
    state: 'placed',
    closedAt: undefined,
    position,
  })
  balanceOf(change, tenantId, currency, position).held += amountPico
  addToTotal(change, { kind: 'held', currency, part: '' }, 1, amountPico)
  enter(change, {
    sourceId,
    tenantId,
    currency,
    amountPico,
    position,
    kind: 'hold_placed',
    debit: 'held',
    credit: 'available',
  })
}
