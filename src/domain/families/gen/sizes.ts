import type { Pixels } from '../checks/pixels.ts'

/** The sizes of `gen-*` pictures, and which of them pixels come to. */

export const tiers = ['512', '1K', '2K', '4K'] as const
export type Tier = (typeof tiers)[number]

/** Whether a word is the name of a tier. */
export function isTier(word: unknown): word is Tier {
  return tiers.some((tier) => tier === word)
}

/** A tier has the pixels of a square of this edge, whatever its aspect ratio. */
const EDGES: Readonly<Record<Tier, number>> = { '512': 512, '1K': 1_024, '2K': 2_048, '4K': 4_096 }
/** Pixels are of a tier with from half to twice as many: tiers are four times apart, so none is between. */
const FURTHEST_AREA = 2
/** Pixels are of an aspect ratio that is at most a tenth longer or shorter. */
const FURTHEST_RATIO = 1.1

/** How many times one figure is the other, whichever is larger. */
const times = (a: number, b: number): number => (a > b ? a / b : b / a)

function nearest<Option>(
  options: readonly Option[],
  distance: (option: Option) => number,
): Option | undefined {
  return options.toSorted((a, b) => distance(a) - distance(b))[0]
}

const areaTimes = ({ width, height }: Pixels, tier: Tier): number =>
  times(width * height, EDGES[tier] ** 2)

/** The tier nearest to so many pixels. */
export function nearestTier(sides: Pixels, offered: readonly Tier[]): Tier | undefined {
  return nearest(offered, (tier) => areaTimes(sides, tier))
}

/** The tier that pixels are of; undefined when they are of none. */
export function tierOfPixels(sides: Pixels, offered: readonly Tier[]): Tier | undefined {
  const tier = nearestTier(sides, offered)
  return tier !== undefined && areaTimes(sides, tier) <= FURTHEST_AREA ? tier : undefined
}

/** The aspect ratio that pixels are of; undefined when they are of none. */
export function ratioOfPixels(
  { width, height }: Pixels,
  offered: readonly string[],
): string | undefined {
  const away = (ratio: string): number => {
    const [long = 1, short = 1] = ratio.split(':').map(Number)
    return times(width / height, long / short)
  }
  const ratio = nearest(offered, away)
  return ratio !== undefined && away(ratio) <= FURTHEST_RATIO ? ratio : undefined
}
