import { invariant } from '../../../src/kernel/assert.ts'
import { fromTimestamp, toTimestamp } from '../../../src/kernel/clock.ts'
import { canonicalPrice, formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { storable } from '../../engine/columns.ts'
import type { LedgerLine } from '../line.ts'
import { addToTotal, balanceOf, enter, type LedgerChange, type PeriodDelta } from './change.ts'
import type { Settled } from './movements.ts'

/** Where the quarter of an hour begins in which a time in UTC lies. */
function quarterOf(time: string): string {
  const minute = Math.floor(Number(time.slice(14, 16)) / 15) * 15
  return `${time.slice(0, 14)}${minute === 0 ? '00' : minute}`
}

function addToPeriod(
  totals: Map<string, PeriodDelta>,
  begins: string,
  line: LedgerLine,
  amountPico: bigint,
): void {
  const { tenantId, currency, sku, unit, model, userId, tokenId, surface } = line
  const key = `${tenantId}\n${begins}\n${currency}\n${sku}\n${unit}\n${model}\n${userId}\n${tokenId}\n${surface}`
  let delta = totals.get(key)
  if (delta === undefined) {
    const facts = { tenantId, begins, currency, sku, unit, model, userId, tokenId, surface }
    delta = { ...facts, lines: 0, quantity: 0n, amountPico: 0n }
    totals.set(key, delta)
  }
  delta.lines += 1
  delta.quantity += BigInt(line.quantity)
  delta.amountPico += amountPico
}

/** Writes the lines of a settlement and what it does to the balance. */
export function settle(
  change: LedgerChange,
  position: bigint,
  source: { readonly sourceId: string; readonly nativeId: string | null },
  settled: Settled,
): void {
  const { sourceId } = source
  const { settlement, tenantId, userId, tokenId, surface, model, requestId } = settled
  const { currency, priceBookVersion } = settlement
  // It is upstream's: hash what the table can hold.
  const nativeId = source.nativeId === null ? null : storable(source.nativeId)
  const settledAt = toTimestamp(fromTimestamp(settled.settledAt))
  let sum = 0n
  for (const [index, line] of settlement.lines.entries()) {
    const amountPico = parseAmount(line.amount)
    sum += amountPico
    // Written out: spreading makes slow objects, and every line of the log passes here.
    const row: LedgerLine = {
      lineId: `${sourceId}:${index + 1}`,
      settledAt,
      tenantId,
      userId,
      tokenId,
      sourceId,
      nativeId,
      surface,
      model,
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
      requestId,
      position,
      accountPrices: line.accountPrice?.revision ?? null,
    }
    change.lines.push(row)
    addToPeriod(change.days, settledAt.slice(0, 10), row, amountPico)
    addToPeriod(change.hours, `${settledAt.slice(0, 14)}00`, row, amountPico)
    addToPeriod(change.quarters, quarterOf(settledAt), row, amountPico)
    addToTotal(change, { kind: 'settled', currency, part: surface }, 1, amountPico)
    if (line.measurement === 'estimated')
      addToTotal(change, { kind: 'estimated', currency, part: surface }, 1, amountPico)
  }
  const amountPico = parseAmount(settlement.amount)
  invariant(sum === amountPico, `the lines of ${sourceId} do not sum to its amount`)
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
