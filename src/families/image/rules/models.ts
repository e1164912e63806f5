import {
  type Pixels,
  parsePixels,
  type ImageSeen,
  IMAGES,
  type MadeImages,
  type NamedSku,
  quotedLine,
} from '../../../domain/catalog/image-rules.ts'
import { type BilledSku, optionalSkus } from '../../../domain/pricing/price-book.ts'
import { type Quote, settlement, type Settlement } from '../../../domain/pricing/settlement.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'

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
export type Tier = (typeof tiers)[number]

const LONGEST_EDGE = 3_840
const EDGE_STEP = 16
const FEWEST_PIXELS = 655_360
/** The largest area, which is assumed of a picture whose size upstream chooses. */
const MOST_PIXELS = 8_294_400
const LONGEST_RATIO = 3

/** Landscape ratios by tier; portrait ones are the same, rotated. */
const LANDSCAPE: Readonly<Record<string, Readonly<Record<Tier, readonly [number, number]>>>> = {
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
export function pixelsOf(tier: Tier, ratio: string): Pixels | undefined {
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

/**
 * Turns a request and its result into SKUs for `image-*`. Rule names:
 *
 * - `image/picture/requested-quality`: `image-2`, each picture, at the requested quality
 * - `image/picture/reported-quality`: the request says `auto`; the quality that upstream reports,
 *   or `low`
 * - `image/tokens/<unit>`: 2.5, `<unit>` being one of `tokenUnits`
 */

/** The units of the 2.5 models; SKUs are `image-2.5-<unit>`. */
const tokenUnits = [
  'text-input',
  'cached-text-input',
  'image-input',
  'cached-image-input',
  'image-output',
] as const
export type ImageTokenUnit = (typeof tokenUnits)[number]

export const IMAGE_CURRENCY = 'USD'

const PRICED_QUALITIES = ['low', 'medium', 'high'] as const
/** The billed quality of a picture whose quality is unknown. */
const CHEAPEST = 'low'
/** The most expensive quality that upstream may choose for a request. */
const DEAREST = 'high'

const pictureSku = (quality: string): string => `image-2-${quality}-image`
const tokenSku = (unit: ImageTokenUnit): string => `image-2.5-${unit}`

/** Output tokens of a picture of 2^20 pixels, for holds only. */
const TOKENS_OF_MEGAPIXEL: Readonly<Record<string, number>> = {
  low: 272,
  medium: 1_056,
  high: 4_160,
  xhigh: 8_320,
  max: 16_640,
  auto: 16_640,
}
const MEGAPIXEL = 1_048_576
/** Input tokens of an input picture, for holds only. */
const TOKENS_OF_INPUT = 1_700

export function imageSkus({ billedBy }: ImageModel, { settings }: TaskFacts): readonly NamedSku[] {
  if (billedBy === 'token')
    return tokenUnits.map((unit) => ({ sku: tokenSku(unit), rule: `image/tokens/${unit}` }))
  const { quality } = settings
  return quality === 'auto'
    ? PRICED_QUALITIES.map((named) => ({
        sku: pictureSku(named),
        rule: 'image/picture/reported-quality',
      }))
    : [{ sku: pictureSku(String(quality)), rule: 'image/picture/requested-quality' }]
}

/** Every SKU by which a result may be billed: each unit of tokens, or a picture of each quality. */
export function imagePrices(model: ImageModel): readonly BilledSku[] {
  const currency = IMAGE_CURRENCY
  if (model.billedBy === 'token')
    return tokenUnits.map((unit) => ({ sku: tokenSku(unit), currency, unit: 'token' }))
  const further = PRICED_QUALITIES.filter(
    (quality) => quality !== model.defaultQuality && model.qualities.includes(quality),
  )
  return [
    { sku: pictureSku(model.defaultQuality), currency, unit: IMAGES },
    ...optionalSkus(further.map(pictureSku), IMAGES, currency),
  ]
}

export function expectedImages(_model: ImageModel, { inputs, settings }: TaskFacts): ImageSeen {
  const count = Number(settings['n'])
  const pixels = parsePixels(String(settings['size']))
  const area = pixels === undefined ? MOST_PIXELS : pixels.width * pixels.height
  const quality = String(settings['quality'])
  const tokens = Math.ceil((area / MEGAPIXEL) * (TOKENS_OF_MEGAPIXEL[quality] ?? 0))
  return {
    usage: {
      [IMAGES]: count,
      'text-input': Number(settings['prompt_characters']),
      'image-input': (inputs['image'] ?? 0) * TOKENS_OF_INPUT,
      'image-output': count * tokens,
    },
    output: { quality: DEAREST },
  }
}

/** Tokens are settled only by upstream's report. */
const isCounted = (usage: Usage): boolean =>
  usage['image-output'] !== undefined && usage['text-input'] !== undefined

export function settleImages(
  { billedBy }: ImageModel,
  quote: Quote,
  { usage, output, facts }: MadeImages,
): Settlement | undefined {
  if (billedBy === 'token')
    return isCounted(usage)
      ? settlement(
          quote,
          tokenUnits.map((unit) => quotedLine(quote, tokenSku(unit), usage[unit] ?? 0)),
        )
      : undefined
  const asked = facts.settings['quality']
  const reported = PRICED_QUALITIES.find((quality) => quality === output['quality'])
  const quality = asked === 'auto' ? (reported ?? CHEAPEST) : String(asked)
  return settlement(quote, [quotedLine(quote, pictureSku(quality), usage[IMAGES] ?? 0)])
}
