import { lineAmount, type Per } from '../../kernel/money.ts'

/** A price per so many units. */
interface PricePer {
  readonly price: string
  readonly per: Per
}

/** Prices may be per one, a thousand or a million; they are compared per million. */
const COMPARED_UNITS = 1_000_000

/** Increase from one price to another, in per cent; see `percentOf`. */
export function priceChangePercent(before: PricePer, after: PricePer): string | undefined {
  return percentOf(
    lineAmount(COMPARED_UNITS, before.price, before.per),
    lineAmount(COMPARED_UNITS, after.price, after.per),
  )
}

/**
 * Increase from one amount to another in per cent, with a sign and two decimals rounded half away
 * from zero; undefined for a change from zero, which has no percentage.
 */
export function percentOf(before: bigint, after: bigint): string | undefined {
  if (before === after) return '0.00'
  if (before === 0n) return undefined
  const change = (after - before) * (before < 0n ? -1n : 1n)
  const size = before < 0n ? -before : before
  const magnitude = change < 0n ? -change : change
  // In hundredths of a per cent.
  const hundredths = (magnitude * 20_000n + size) / (size * 2n)
  const digits = hundredths.toString().padStart(3, '0')
  const sign = hundredths === 0n ? '' : change < 0n ? '-' : '+'
  return `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
