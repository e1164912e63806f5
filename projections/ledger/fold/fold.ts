import { invariant } from '../../../src/kernel/assert.ts'
import { parseAmount } from '../../../src/kernel/money.ts'
import { moneyEffectsOf } from '../../../src/domain/any-event.ts'
import type { MoneyEffect } from '../../../src/domain/event-facts.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { balanceOf, emptyChange, enter, type Hold, type LedgerChange } from './change.ts'
import { endHold, placeHold } from './holds.ts'
import { settle } from './settle.ts'

/** Grants credit to a tenant, or takes back the credit of an adjustment. */
function giveCredit(
  change: LedgerChange,
  position: bigint,
  given: Extract<MoneyEffect, { kind: 'granted' | 'adjusted' }>,
): void {
  const { kind, sourceId, tenantId, currency } = given
  const amountPico = parseAmount(given.amount)
  balanceOf(change, tenantId, currency, position)[kind] += amountPico
  const account = kind === 'granted' ? 'credit' : 'adjustment'
  // Taking back is the same movement the other way round: entries are positive.
  const taken = amountPico < 0n
  enter(change, {
    position,
    kind,
    sourceId,
    tenantId,
    currency,
    debit: taken ? 'receivable' : account,
    credit: taken ? account : 'receivable',
    amountPico: taken ? -amountPico : amountPico,
  })
}

function apply(change: LedgerChange, event: RecordedEvent, movement: MoneyEffect): void {
  const { position, metadata } = event
  switch (movement.kind) {
    case 'hold_placed':
      placeHold(change, position, movement)
      break
    case 'hold_ended':
      endHold(change, position, movement)
      break
    case 'settled':
      settle(change, position, movement, movement.settled)
      break
    case 'granted': {
      giveCredit(change, position, movement)
      const { sourceId: grantId, tenantId, currency, reason, grantedAt } = movement
      const { credit, reference } = movement
      const amountPico = parseAmount(movement.amount)
      const { actor } = metadata
      const of = { grantId, tenantId, currency }
      const why = { credit, reference, reason, actor }
      change.grants.push({ ...of, position, amountPico, ...why, grantedAt })
      break
    }
    case 'adjusted': {
      giveCredit(change, position, movement)
      const { sourceId: adjustmentId, tenantId, currency, corrects, postedAt } = movement
      const { code, reason } = movement
      const amountPico = parseAmount(movement.amount)
      const { actor } = metadata
      const of = { adjustmentId, tenantId, currency, corrects }
      const why = { code, reason, actor }
      change.adjustments.push({ ...of, position, amountPico, ...why, postedAt })
      if (corrects.kind === 'line')
        balanceOf(change, tenantId, currency, position).refunded += amountPico
      break
    }
    case 'limit_set':
      balanceOf(change, movement.tenantId, movement.currency, position).limit = parseAmount(
        movement.limit,
      )
      break
  }
}

/** Tasks whose hold a batch may close without having placed it. */
export function closingSources(batch: readonly RecordedEvent[]): readonly string[] {
  const placed = new Set<string>()
  const closing = new Set<string>()
  for (const event of batch)
    for (const movement of moneyEffectsOf(event))
      if (movement.kind === 'hold_placed') placed.add(movement.sourceId)
      else if (movement.kind === 'hold_ended' && !placed.has(movement.sourceId))
        closing.add(movement.sourceId)
  return [...closing]
}

function isSettling(movement: MoneyEffect): movement is Extract<MoneyEffect, { kind: 'settled' }> {
  return movement.kind === 'settled'
}

/** The source that an event settles, if it settles one. */
export function settledSourceOf(event: RecordedEvent): string | undefined {
  return moneyEffectsOf(event).find(isSettling)?.sourceId
}

/**
 * The change of the ledger by a batch, given the placed holds of `closingSources` and the sources
 * that are already settled: the first settlement of a source counts, and another moves no money.
 */
export function foldLedger(
  batch: readonly RecordedEvent[],
  holds: readonly Hold[],
  settledBefore: ReadonlySet<string> = new Set(),
): LedgerChange {
  const change = emptyChange(holds)
  for (const event of batch)
    for (const movement of moneyEffectsOf(event))
      if (movement.kind !== 'settled' || !settledBefore.has(movement.sourceId))
        apply(change, event, movement)
  return change
}

/** Debits equal credits: per currency, the sum of the settlements is the sum of the entries. */
export function checkZeroSum(change: LedgerChange): void {
  const sums = new Map<string, bigint>()
  const add = (key: string, pico: bigint): void => {
    sums.set(key, (sums.get(key) ?? 0n) + pico)
  }
  for (const { currency, kind, debit, amountPico } of change.entries) {
    if (kind === 'settled') add(`${currency} settled`, amountPico)
    if (debit === 'held') add(`${currency} held`, amountPico)
    if (debit === 'available') add(`${currency} held`, -amountPico)
  }
  for (const { currency, settled, held } of change.balances.values()) {
    add(`${currency} settled`, -settled)
    add(`${currency} held`, -held)
  }
  for (const [key, sum] of sums) invariant(sum === 0n, `${key} does not sum to zero`)
}
