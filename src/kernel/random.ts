/** Randomness for spreading work over time; values that must be unguessable come from `ids.ts`. */

/** Uniform in 0 ≤ x < 1. */
export type Random = () => number

export const systemRandom: Random = () => Math.random()

/** A duration scaled by a random factor: at least `least` and less than `most`. */
export function randomlyScaled(
  ms: number,
  least: number,
  most: number,
  random: Random = systemRandom,
): number {
  return ms * (least + (most - least) * random())
}
