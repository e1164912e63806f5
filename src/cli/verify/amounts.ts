import { NotVerifiedError, shownText } from './not-verified.ts'

/** Amounts as statements write them, as whole numbers of 10⁻¹² of the unit. */

const DIGITS = 12
const AMOUNT = /^(?!-0$)-?(?:0|[1-9]\d{0,25})(?:\.\d{0,11}[1-9])?$/

/** @throws NotVerifiedError for a text that is not the one form of an amount */
export function readPico(text: unknown): bigint {
  if (typeof text !== 'string' || !AMOUNT.test(text))
    throw new NotVerifiedError(`${shownText(String(text))} is no amount`)
  const dot = text.indexOf('.')
  if (dot < 0) return BigInt(text + '0'.repeat(DIGITS))
  return BigInt(text.slice(0, dot) + text.slice(dot + 1).padEnd(DIGITS, '0'))
}

/** An amount with the other sign. */
export function negated(amount: string): string {
  if (amount === '0') return amount
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

/** Decimals of the minor unit of both currencies (ISO 4217). */
const MINOR_DIGITS = 2
const MINOR_PICO = 10n ** BigInt(DIGITS - MINOR_DIGITS)

/** The largest whole number of minor units that is not above an amount. */
function floorMinor(pico: bigint): bigint {
  const towardsZero = pico / MINOR_PICO
  return towardsZero * MINOR_PICO > pico ? towardsZero - 1n : towardsZero
}

function writeMinor(minor: bigint): string {
  const digits = String(minor < 0n ? -minor : minor).padStart(MINOR_DIGITS + 1, '0')
  const sign = minor < 0n ? '-' : ''
  return `${sign}${digits.slice(0, -MINOR_DIGITS)}.${digits.slice(-MINOR_DIGITS)}`
}

interface ShownMovements {
  readonly opening: string
  readonly closing: string
  readonly movements: readonly string[]
}

/**
 * Amounts with the decimals of the minor unit, such that they add up: balances are floor(x + ½), movements are floored,
 * and as many as are missing raised by one, those with the largest remainders first.
 * @param movements each with a name, which decides where remainders are the same
 */
export function showMovements(
  openingPico: bigint,
  movements: readonly { readonly name: string; readonly pico: bigint }[],
): ShownMovements {
  const closingPico = movements.reduce((sum, { pico }) => sum + pico, openingPico)
  const [opening, closing] = [openingPico, closingPico].map((pico) =>
    floorMinor(pico + MINOR_PICO / 2n),
  ) as [bigint, bigint]
  const minor = movements.map(({ pico }) => floorMinor(pico))
  let missing = minor.reduce((rest, each) => rest - each, closing - opening)
  const order = movements.map(({ name, pico }, index) => ({
    index,
    name,
    rest: pico - (minor[index] ?? 0n) * MINOR_PICO,
  }))
  order.sort((a, b) => {
    if (a.rest !== b.rest) return a.rest > b.rest ? -1 : 1
    return a.name < b.name ? -1 : 1
  })
  for (const { index } of order) {
    if (missing === 0n) break
    minor[index] = (minor[index] ?? 0n) + 1n
    missing -= 1n
  }
  return {
    opening: writeMinor(opening),
    closing: writeMinor(closing),
    movements: minor.map(writeMinor),
  }
}
