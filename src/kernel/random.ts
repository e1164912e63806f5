/**
 * Randomness that only spreads things in time; values that must not be guessed come from `ids.ts`.
 */

/** Uniform in 0 ≤ x < 1. */
export type Random = () => number

export const systemRandom: Random = () => Math.random()

/** A time made shorter or longer at random: at least `least` and less than `most` times itself. */
export function randomlyScaled(
  ms: number,
  least: number,
  most: number,
  random: Random = systemRandom,
): number {
  return ms * (least + (most - least) * random())
}
