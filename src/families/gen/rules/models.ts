import type { Pixels } from '../../../domain/catalog/image-rules.ts'

/** The `gen-*` models: one row per external name. */

export interface GenModel {
  readonly name: string
  /** Sizes it makes, the smallest first. */
  readonly tiers: readonly GenTier[]
  /**
   * Whether the upstream request has the size: the model with a single size refuses the member.
   */
  readonly sendsSize: boolean
  readonly aspectRatios: readonly string[]
  /** An edit without a size gets the size of its base picture, not `DEFAULT_TIER`. */
  readonly infersSize: boolean
}

/**
 * The size of a request without one: upstream's default, sent explicitly so that the gateway knows
 * it.
 */
export const DEFAULT_TIER: GenTier = '1K'

const RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const
const EXTREME_RATIOS = ['1:4', '4:1', '1:8', '8:1', '9:21'] as const

export const genModels: readonly GenModel[] = [
  {
    name: 'gen-2.5-flash-image',
    tiers: ['1K'],
    sendsSize: false,
    aspectRatios: RATIOS,
    infersSize: false,
  },
  {
    name: 'gen-3-pro-image-preview',
    tiers: ['1K', '2K', '4K'],
    sendsSize: true,
    aspectRatios: RATIOS,
    infersSize: true,
  },
  {
    name: 'gen-3.1-flash-image',
    tiers: ['512', '1K', '2K', '4K'],
    sendsSize: true,
    aspectRatios: [...RATIOS, ...EXTREME_RATIOS],
    infersSize: false,
  },
]

const byName = new Map(genModels.map((model) => [model.name, model]))

/** Models by external name. */
export function genModel(name: string): GenModel | undefined {
  return byName.get(name)
}

/** The sizes of `gen-*` pictures, and the size of given pixels. */

const tiers = ['512', '1K', '2K', '4K'] as const
export type GenTier = (typeof tiers)[number]

/** Whether a text is the name of a tier. */
export function isTier(word: unknown): word is GenTier {
  return tiers.some((tier) => tier === word)
}

/** A tier has the pixels of a square of this edge, whatever its aspect ratio. */
const EDGES: Readonly<Record<GenTier, number>> = {
  '512': 512,
  '1K': 1_024,
  '2K': 2_048,
  '4K': 4_096,
}
/** The real pixels of a tier are a little more or less, by its aspect ratio. */
const ROOM = 1.15
/** Pixels below half of the smallest tier or above twice the largest belong to no tier. */
const FURTHEST = 2
/** Pixels have an aspect ratio if it is at most a tenth longer or shorter. */
const FURTHEST_RATIO = 1.1

/** Ratio of the larger of two figures to the smaller. */
const times = (a: number, b: number): number => (a > b ? a / b : b / a)

const areaOf = (tier: GenTier): number => EDGES[tier] ** 2

/** The smallest tier that is not smaller than a picture, or the largest tier. */
export function tierHolding(
  { width, height }: Pixels,
  offered: readonly GenTier[],
): GenTier | undefined {
  return offered.find((tier) => width * height <= areaOf(tier) * ROOM) ?? offered.at(-1)
}

/** The tier of pixels, by the same rule; undefined if they belong to none. */
export function tierOfPixels(sides: Pixels, offered: readonly GenTier[]): GenTier | undefined {
  const area = sides.width * sides.height
  const [smallest, largest] = [offered[0], offered.at(-1)]
  if (smallest === undefined || largest === undefined) return undefined
  const isNear = area * FURTHEST >= areaOf(smallest) && area <= areaOf(largest) * FURTHEST
  return isNear ? tierHolding(sides, offered) : undefined
}

/** The aspect ratio of pixels; undefined if they have none of the known ones. */
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
