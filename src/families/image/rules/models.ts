import type { Pixels } from '../../../domain/catalog/image-rules.ts'

/** The `image-*` models: one row per external name. */

type ImageQuality = 'low' | 'medium' | 'high' | 'xhigh' | 'max' | 'auto'

export interface ImageModel {
  readonly name: string
  /** `image-2` is billed by picture, the 2.5 models by tokens. */
  readonly billedBy: 'picture' | 'token'
  readonly qualities: readonly ImageQuality[]
  /** The quality of a request without one; upstream would otherwise choose. */
  readonly defaultQuality: ImageQuality
  /** Accepts tiers and aspect ratios as well as exact pixels. */
  readonly hasTiers: boolean
  /** Most pictures of one request, unless a channel says otherwise. */
  readonly usualCount: number
  /** Whether upstream has events of it; if not, the gateway makes the last event of a whole answer. */
  readonly hasUpstreamEvents: boolean
}

const BASIC: readonly ImageQuality[] = ['low', 'medium', 'high', 'auto']

const second = (name: string, qualities: readonly ImageQuality[], quality: ImageQuality) =>
  ({
    name,
    billedBy: 'picture',
    qualities,
    defaultQuality: quality,
    hasTiers: false,
    usualCount: 10,
    hasUpstreamEvents: false,
  }) as const satisfies ImageModel

const half = (name: string) =>
  ({
    name,
    billedBy: 'token',
    qualities: ['low', 'medium', 'high', 'xhigh', 'max', 'auto'],
    defaultQuality: 'low',
    hasTiers: true,
    usualCount: 1,
    hasUpstreamEvents: true,
  }) as const satisfies ImageModel

/** A per-picture channel is `image-2` at one quality and at that quality's price. */
export const imageModels: readonly ImageModel[] = [
  second('image-2', BASIC, 'low'),
  second('image-2-low', ['low'], 'low'),
  second('image-2-medium', ['medium'], 'medium'),
  second('image-2-high', ['high'], 'high'),
  half('image-2.5-sunburst'),
  half('image-2.5-flare'),
]

const byName = new Map(imageModels.map((model) => [model.name, model]))

/** Models by external name. */
export function imageModel(name: string): ImageModel | undefined {
  return byName.get(name)
}

/** The pixels that an `image-*` model makes, and the pixels of a tier with an aspect ratio. */

export const tiers = ['1K', '2K', '4K'] as const
export type ImageTier = (typeof tiers)[number]

const LONGEST_EDGE = 3_840
const EDGE_STEP = 16
const FEWEST_PIXELS = 655_360
/** The largest area, which is assumed of a picture whose size upstream chooses. */
export const MOST_PIXELS = 8_294_400
const LONGEST_RATIO = 3

/** Landscape ratios by tier; portrait ones are the same, rotated. */
const LANDSCAPE: Readonly<Record<string, Readonly<Record<ImageTier, readonly [number, number]>>>> =
  {
    '1:1': { '1K': [1024, 1024], '2K': [2048, 2048], '4K': [2880, 2880] },
    '3:2': { '1K': [1248, 832], '2K': [2496, 1664], '4K': [3520, 2352] },
    '4:3': { '1K': [1168, 880], '2K': [2352, 1760], '4K': [3312, 2480] },
    '5:4': { '1K': [1136, 912], '2K': [2288, 1824], '4K': [3216, 2576] },
    '16:9': { '1K': [1360, 768], '2K': [2720, 1536], '4K': [3840, 2160] },
    '21:9': { '1K': [1552, 672], '2K': [3120, 1344], '4K': [3840, 1648] },
    '3:1': { '1K': [1760, 592], '2K': [3536, 1184], '4K': [3840, 1280] },
  }

const turned = (ratio: string): string => ratio.split(':').toReversed().join(':')

/** Every aspect ratio a tier can be had in. */
export const aspectRatios: readonly string[] = [
  ...new Set(Object.keys(LANDSCAPE).flatMap((ratio) => [ratio, turned(ratio)])),
]

/** The pixels of a tier in one of `aspectRatios`. */
export function pixelsOf(tier: ImageTier, ratio: string): Pixels | undefined {
  const landscape = LANDSCAPE[ratio]
  if (landscape !== undefined) return { width: landscape[tier][0], height: landscape[tier][1] }
  const portrait = LANDSCAPE[turned(ratio)]
  return portrait && { width: portrait[tier][1], height: portrait[tier][0] }
}

export function formatPixels({ width, height }: Pixels): string {
  return `${width}x${height}`
}

/**
 * The rule that the pixels violate, as the end of a message that begins with the field's name;
 * undefined: none.
 */
export function pixelFault({ width, height }: Pixels): string | undefined {
  const pixels = width * height
  if (Math.max(width, height) > LONGEST_EDGE)
    return `has an edge longer than ${LONGEST_EDGE} pixels`
  if (width % EDGE_STEP !== 0 || height % EDGE_STEP !== 0)
    return `must have edges that are multiples of ${EDGE_STEP}`
  if (Math.max(width, height) > LONGEST_RATIO * Math.min(width, height))
    return `must not be longer than ${LONGEST_RATIO}:1`
  if (pixels < FEWEST_PIXELS || pixels > MOST_PIXELS)
    return `must have from ${FEWEST_PIXELS} to ${MOST_PIXELS} pixels, not ${pixels}`
  return undefined
}
