import { type Tier } from './sizes.ts'

/** The `gen-*` models: one row per external name. */

export interface GenModel {
  readonly name: string
  /** Sizes it makes, the smallest first. */
  readonly tiers: readonly Tier[]
  /** Whether upstream is told the size: the one that makes a single one refuses the word. */
  readonly tellsSize: boolean
  readonly aspectRatios: readonly string[]
  /** An edit that names no size is made in that of its base picture, not in `DEFAULT_TIER`. */
  readonly infersSize: boolean
}

/** What a request that names no size is made in: upstream's own choice, said so that it is known. */
export const DEFAULT_TIER: Tier = '1K'

const RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const
const EXTREME_RATIOS = ['1:4', '4:1', '1:8', '8:1', '9:21'] as const

export const genModels: readonly GenModel[] = [
  {
    name: 'gen-2.5-flash-image',
    tiers: ['1K'],
    tellsSize: false,
    aspectRatios: RATIOS,
    infersSize: false,
  },
  {
    name: 'gen-3-pro-image-preview',
    tiers: ['1K', '2K', '4K'],
    tellsSize: true,
    aspectRatios: RATIOS,
    infersSize: true,
  },
  {
    name: 'gen-3.1-flash-image',
    tiers: ['512', '1K', '2K', '4K'],
    tellsSize: true,
    aspectRatios: [...RATIOS, ...EXTREME_RATIOS],
    infersSize: false,
  },
]

const byName = new Map(genModels.map((model) => [model.name, model]))

/** By external name. */
export function genModel(name: string): GenModel | undefined {
  return byName.get(name)
}
