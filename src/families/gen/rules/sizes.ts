import type { Pixels } from '../../../domain/families/checks/pixels.ts'

/** The sizes of `gen-*` pictures, and which of them pixels come to. */

export const tiers = ['512', '1K', '2K', '4K'] as const
export type Tier = (typeof tiers)[number]

/** Whether a word is the name of a tier. */
export function isTier(word: unknown): word is Tier {
  return tiers.some((tier) => tier === word)
}

/** A tier has the pixels of a square of this edge, whatever its aspect ratio. */
const EDGES: Readonly<Record<Tier, number>> = { '512': 512, '1K': 1_024, '2K': 2_048, '4K': 4_096 }
/** The real pixels of a tier are a little more or less, by its aspect ratio. */
const ROOM = 1.15
/** No tier is of less than half the pixels of the smallest, or more than twice those of the largest. */
const FURTHEST = 2
/** Pixels are of an aspect ratio that is at most a tenth longer or shorter. */
const FURTHEST_RATIO = 1.1

/** How many times one figure is the other, whichever is larger. */
const times = (a: number, b: number): number => (a > b ? a / b : b / a)

const areaOf = (tier: Tier): number => EDGES[tier] ** 2

/** The smallest tier that is not smaller than a picture, else the largest there is. */
export function tierHolding({ width, height }: Pixels, offered: readonly Tier[]): Tier | undefined {
  return offered.find((tier) => width * height <= areaOf(tier) * ROOM) ?? offered.at(-1)
}

/** The tier that pixels are of, by the same rule; undefined when they are of none. */
export function tierOfPixels(sides: Pixels, offered: readonly Tier[]): Tier | undefined {
  const area = sides.width * sides.height
  const [smallest, largest] = [offered[0], offered.at(-1)]
  if (smallest === undefined || largest === undefined) return undefined
  const isNear = area * FURTHEST >= areaOf(smallest) && area <= areaOf(largest) * FURTHEST
  return isNear ? tierHolding(sides, offered) : undefined
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
  const [ratio] = offered.toSorted((a, b) => away(a) - away(b))
  return ratio !== undefined && away(ratio) <= FURTHEST_RATIO ? ratio : undefined
}
