import { invariant } from '../../src/kernel/assert.ts'
import { fromTimestamp, toTimestamp } from '../../src/kernel/clock.ts'
import { canonicalPrice, formatAmount, parseAmount } from '../../src/kernel/money.ts'
import type { Settlement } from '../../src/domain/pricing/settlement.ts'
import { storable } from '../engine/columns.ts'
import type { LedgerLine } from './chain.ts'
import { balanceOf, enter, type LedgerChange } from './change.ts'

/** What a settlement says of itself, whatever it settles. */
export interface Settled {
  readonly sourceId: string
  readonly nativeId: string | null
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly requestId: string
  readonly surface: string
  readonly model: string
  readonly settledAt: string
  readonly settlement: Settlement
}

function addToDay(change: LedgerChange, line: LedgerLine, amountPico: bigint): void {
  const { tenantId, currency, sku, unit, model, userId } = line
  const day = line.settledAt.slice(0, 10)
  const key = JSON.stringify([tenantId, day, currency, sku, unit, model, userId])
  let delta = change.days.get(key)
  if (delta === undefined) {
    const facts = { tenantId, day, currency, sku, unit, model, userId }
    delta = { ...facts, lines: 0, quantity: 0n, amountPico: 0n }
    change.days.set(key, delta)
  }
  delta.lines += 1
  delta.quantity += BigInt(line.quantity)
  delta.amountPico += amountPico
}

/** Writes the lines of a settlement and what it does to the balance. */
export function settle(change: LedgerChange, position: bigint, settled: Settled): void {
  const { settlement, ...facts } = settled
  const { currency, priceBookVersion } = settlement
  const settledAt = toTimestamp(fromTimestamp(settled.settledAt))
  let sum = 0n
  for (const [index, line] of settlement.lines.entries()) {
    const amountPico = parseAmount(line.amount)
    sum += amountPico
    const row: LedgerLine = {
      ...facts,
      // It is upstream's: hash what the table can hold.
      nativeId: facts.nativeId === null ? null : storable(facts.nativeId),
      settledAt,
      lineId: `${settled.sourceId}:${index + 1}`,
      sku: line.sku,
      rule: line.rule,
      quantity: line.quantity,
      unit: line.unit,
      price: canonicalPrice(line.price),
      per: line.per,
      currency,
      amount: formatAmount(amountPico),
      priceBookVersion,
      measurement: line.measurement,
      position,
    }
    change.lines.push(row)
    addToDay(change, row, amountPico)
  }
  const amountPico = parseAmount(settlement.amount)
  invariant(sum === amountPico, `the lines of ${settled.sourceId} do not sum to its amount`)
  const { sourceId, tenantId } = settled
  const lines = settlement.lines.length
  change.settlements.push({ sourceId, tenantId, currency, amountPico, lines, position })
  balanceOf(change, tenantId, currency, position).settled += amountPico
  enter(change, {
    position,
    kind: 'settled',
    sourceId,
    tenantId,
    currency,
    debit: 'receivable',
    credit: 'revenue',
    amountPico,
  })
}
