import { type Quote, settlement, type Settlement } from '../../../domain/pricing/settlement.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import {
  parsePixels,
  type ImageSeen,
  IMAGES,
  type MadeImages,
  type NamedSku,
  quotedLine,
} from '../../../domain/catalog/image-rules.ts'
import type { ImageModel } from './models.ts'

/**
 * How `image-*` turns a request and its result into SKUs. Rule names:
 *
 * - `image/picture/requested-quality`: `image-2`, by the picture, at the quality asked for
 * - `image/picture/reported-quality`: asked for `auto`; the quality upstream reports, else `low`
 * - `image/tokens/<unit>`: 2.5, `<unit>` being one of `tokenUnits`
 */

/** What the 2.5 models are counted in; SKUs are `image-2.5-<unit>`. */
export const tokenUnits = [
  'text-input',
  'cached-text-input',
  'image-input',
  'cached-image-input',
  'image-output',
] as const
export type ImageTokenUnit = (typeof tokenUnits)[number]

const PRICED_QUALITIES = ['low', 'medium', 'high'] as const
/** What a picture of unknown quality is billed as. */
const CHEAPEST = 'low'
/** What a request that leaves it to upstream may come to. */
const DEAREST = 'high'

const pictureSku = (quality: string): string => `image-2-${quality}-image`
const tokenSku = (unit: ImageTokenUnit): string => `image-2.5-${unit}`

/** Output tokens of a picture of 2^20 pixels, for holds alone. */
const TOKENS_OF_MEGAPIXEL: Readonly<Record<string, number>> = {
  low: 272,
  medium: 1_056,
  high: 4_160,
  xhigh: 8_320,
  max: 16_640,
  auto: 16_640,
}
const MEGAPIXEL = 1_048_576
/** Of the largest picture there is: for a size left to upstream. */
const MOST_PIXELS = 8_294_400
/** Input tokens of a picture sent along, for holds alone. */
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

export function neededImageSkus({ billedBy, defaultQuality }: ImageModel): readonly string[] {
  return billedBy === 'token' ? tokenUnits.map(tokenSku) : [pictureSku(defaultQuality)]
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

/** Tokens settle only on what upstream reported of them. */
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
