import type { SettlementLine } from '../../domain/pricing/settlement.ts'

/**
 * Quantity × price ÷ per in pico, written a second time on purpose: an auditor that shares the
 * arithmetic it checks would share its faults. @throws RangeError when it is not exact.
 */
export function recomputeLine(line: Pick<SettlementLine, 'quantity' | 'price' | 'per'>): bigint {
  const [whole = '0', fraction = ''] = line.price.split('.')
  const pricePico = BigInt(whole) * 1_000_000_000_000n + BigInt(fraction.padEnd(12, '0'))
  const product = pricePico * BigInt(line.quantity)
  if (product % BigInt(line.per) !== 0n) throw new RangeError(`not exact: ${JSON.stringify(line)}`)
  return product / BigInt(line.per)
}
