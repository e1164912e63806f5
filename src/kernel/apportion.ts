/**
 * Money as people read it. Amounts are exact in pico; a statement shows minor units (ISO 4217), such as cents, and what
 * it shows must add up: opening + movements = closing.
 */

/** A movement under a key that is unique in its list. */
interface KeyedMovement {
  readonly key: string
  readonly amountPico: bigint
}

/** Amounts in minor units. */
interface ShownAmounts {
  readonly opening: bigint
  readonly closing: bigint
  /** Movements in the order given. */
  readonly movements: readonly bigint[]
}

function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

/**
 * Rounds to minor units by floor(x + ½). Of the usual modes this one alone gives for x + 1 the result for x, plus 1;
 * with half-even and half-away some lists could not be shown so that they add up.
 */
export function toMinor(amountPico: bigint, minorPico: bigint): bigint {
  return floorDivide(2n * amountPico + minorPico, 2n * minorPico)
}

/**
 * Rounds balances and the movements between them so that they add up. Each movement is rounded down, and those with
 * the largest remainders get the units that are then missing, ties by key: each is shown within one unit of its
 * amount, and an amount of whole units is shown as it is.
 */
export function apportion(
  openingPico: bigint,
  movements: readonly KeyedMovement[],
  minorPico: bigint,
): ShownAmounts {
  const sumPico = movements.reduce((sum, { amountPico }) => sum + amountPico, 0n)
  const opening = toMinor(openingPico, minorPico)
  const closing = toMinor(openingPico + sumPico, minorPico)
  const parts = movements.map(({ key, amountPico }, index) => {
    const floor = floorDivide(amountPico, minorPico)
    return { key, index, floor, restPico: amountPico - floor * minorPico }
  })
  const missing = closing - opening - parts.reduce((sum, { floor }) => sum + floor, 0n)
  const raised = new Set(
    parts
      .toSorted((a, b) => compare(b.restPico, a.restPico) || compare(a.key, b.key))
      .slice(0, Number(missing))
      .map(({ index }) => index),
  )
  return {
    opening,
    closing,
    movements: parts.map(({ floor, index }) => (raised.has(index) ? floor + 1n : floor)),
  }
}

function compare<T extends bigint | string>(a: T, b: T): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
