import {
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
import { type ImageModel, MOST_PIXELS } from './models.ts'

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
