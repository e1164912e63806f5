import type { SettlementLine } from '../../domain/pricing/settlement.ts'

/**
 * Quantity × price ÷ per in pico, computed a second time on purpose. @throws RangeError when it is
 * not exact.
 */
export function recomputeLine(line: Pick<SettlementLine, 'quantity' | 'price' | 'per'>): bigint {
  const [whole = '0', fraction = ''] = line.price.split('.')
  const pricePico = BigInt(whole) * 1_000_000_000_000n + BigInt(fraction.padEnd(12, '0'))
  const product = pricePico * BigInt(line.quantity)
  if (product % BigInt(line.per) !== 0n) throw new RangeError(`not exact: ${JSON.stringify(line)}`)
  return product / BigInt(line.per)
}

const MICRO = 1_000_000n

/**
 * A price times a multiplier, rounded half away from zero to 6 decimals, as decimal text; computed
 * a second time on purpose.
 */
export function recomputeMultiplied(price: string, multiplier: string): string {
  const product = microOf(price) * microOf(multiplier)
  const rest = product % MICRO
  const micro = product / MICRO + (rest * 2n >= MICRO ? 1n : 0n)
  const fraction = (micro % MICRO)
    .toString()
    .padStart(6, '0')
    .replace(/(?<!0)0+$/, '')
  return `${micro / MICRO}${fraction === '' ? '' : `.${fraction}`}`
}

function microOf(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return BigInt(whole) * MICRO + BigInt(fraction.padEnd(6, '0'))
}
