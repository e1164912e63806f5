import { type Quote, settlement, type Settlement } from '../../../domain/pricing/settlement.ts'
import { type BilledSku, optionalSkus } from '../../../domain/pricing/price-book.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import {
  type ImageSeen,
  IMAGES,
  type MadeImages,
  type NamedSku,
  quotedLine,
} from '../../../domain/catalog/image-rules.ts'
import { DEFAULT_TIER, type GenModel, isTier, type GenTier } from './models.ts'
import { INFERRED } from './request.ts'

/**
 * Turns a request and its result into SKUs for `gen-*`. Rule names:
 *
 * - `gen/picture/requested-size`: the picture, of the requested or the default size
 * - `gen/picture/inferred-size`: the same, of the size of its base picture
 * - `gen/input-tokens/no-picture`: no picture was made, but upstream counted input
 */

export const GEN_CURRENCY = 'USD'

/** Input tokens, as upstream counted them. */
export const INPUT = 'input'

const pictureSku = ({ name }: GenModel, tier: GenTier): string =>
  `${name}-${tier.toLowerCase()}-image`
const inputSku = ({ name }: GenModel): string => `${name}-input-token`

export function genSkus(model: GenModel, { settings }: TaskFacts): readonly NamedSku[] {
  const { size } = settings
  const pictures = isTier(size)
    ? [{ sku: pictureSku(model, size), rule: 'gen/picture/requested-size' }]
    : model.tiers.map((tier) => ({
        sku: pictureSku(model, tier),
        rule: 'gen/picture/inferred-size',
      }))
  return [...pictures, { sku: inputSku(model), rule: 'gen/input-tokens/no-picture' }]
}

/** Every SKU by which a result may be billed: a picture of each size, or the input of a failure. */
export function genPrices(model: GenModel): readonly BilledSku[] {
  const further = model.tiers.filter((tier) => tier !== DEFAULT_TIER)
  return [
    { sku: pictureSku(model, DEFAULT_TIER), currency: GEN_CURRENCY, unit: IMAGES },
    { sku: inputSku(model), currency: GEN_CURRENCY, unit: 'token' },
    ...optionalSkus(
      further.map((tier) => pictureSku(model, tier)),
      IMAGES,
      GEN_CURRENCY,
    ),
  ]
}

/** A picture of the largest possible size; input alone costs less. */
export function expectedGen({ tiers }: GenModel, { settings }: TaskFacts): ImageSeen {
  const size = settings['size'] === INFERRED ? tiers.at(-1) : settings['size']
  return { usage: { [IMAGES]: 1 }, output: { size: size ?? null } }
}

/** Bills either the picture or, if there is none, the input: never both. */
export function settleGen(
  model: GenModel,
  quote: Quote,
  { usage, output, facts }: MadeImages,
): Settlement | undefined {
  const pictures = usage[IMAGES] ?? 0
  if (pictures === 0)
    return settlement(quote, [quotedLine(quote, inputSku(model), usage[INPUT] ?? 0)])
  const { size: asked } = facts.settings
  const size = asked === INFERRED ? output['size'] : asked
  if (!isTier(size)) return undefined
  return settlement(quote, [quotedLine(quote, pictureSku(model, size), pictures)])
}
