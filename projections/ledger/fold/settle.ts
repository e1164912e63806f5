import type { SettlementFacts } from '../../../src/domain/event-facts.ts'
import { invariant } from '../../../src/kernel/assert.ts'
import { fromTimestamp, toTimestamp } from '../../../src/kernel/clock.ts'
import { canonicalPrice, formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { storable } from '../../engine/array-literals.ts'
import type { LedgerLine } from '../line.ts'
import { addToTotal, balanceOf, enter, type LedgerChange } from './change.ts'

/** Tags as a line keeps them: JSON with its keys in order; null without any. */
function tagsText(tags: SettlementFacts['tags'] = {}): string | null {
  const keys = Object.keys(tags).toSorted()
  return keys.length === 0 ? null : JSON.stringify(tags, keys)
}

/** Writes the lines of a settlement and its effect on the balance. */
export function settle(
  change: LedgerChange,
  position: bigint,
  source: { readonly sourceId: string; readonly nativeId: string | null },
  settled: SettlementFacts,
): void {
  const { sourceId } = source
  const { settlement, tenantId, userId, tokenId, surface, model, requestId } = settled
  const { currency, priceBookVersion } = settlement
  // The id is upstream's: the hash is taken of the text that the table can hold.
  const nativeId = source.nativeId === null ? null : storable(source.nativeId)
  const tags = tagsText(settled.tags)
  const endUser = settled.endUser === undefined ? null : storable(settled.endUser)
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
      tags,
      endUser,
    }
    addLine(change, row, amountPico)
  }
  const amountPico = parseAmount(settlement.amount)
  invariant(sum === amountPico, `the lines of ${sourceId} do not sum to its amount`)
  const lines = settlement.lines.length
  change.settlements.push({ sourceId, tenantId, currency, amountPico, lines, position })
  balanceOf(change, tenantId, currency, position).settled += amountPico
  const accounts = { debit: 'receivable', credit: 'revenue' } as const
  const of = { sourceId, tenantId, currency }
  enter(change, { position, kind: 'settled', ...of, ...accounts, amountPico })
}

/** A line counts in the totals of its surface. */
function addLine(change: LedgerChange, line: LedgerLine, amountPico: bigint): void {
  const { currency, surface } = line
  change.lines.push(line)
  addToTotal(change, { kind: 'settled', currency, part: surface }, 1, amountPico)
  if (line.measurement === 'estimated')
    addToTotal(change, { kind: 'estimated', currency, part: surface }, 1, amountPico)
}
