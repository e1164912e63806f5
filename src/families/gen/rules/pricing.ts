import { type Quote, settlement, type Settlement } from '../../../domain/pricing/settlement.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import {
  type ImageSeen,
  IMAGES,
  type MadeImages,
  type NamedSku,
  quotedLine,
} from '../../../domain/catalog/image-rules.ts'
import { DEFAULT_TIER, type GenModel, isTier, type Tier } from './models.ts'
import { INFERRED } from './request.ts'

/**
 * How `gen-*` turns a request and its result into SKUs. Rule names:
 *
 * - `gen/picture/requested-size`: the picture, of the size asked for, or of the one that stands for
 *   none
 * - `gen/picture/inferred-size`: the same, of the size that its base picture came to
 * - `gen/input-tokens/no-picture`: no picture came, and upstream counted input all the same
 */

/** Input tokens, as upstream counted them. */
export const INPUT = 'input'

const pictureSku = ({ name }: GenModel, tier: Tier): string => `${name}-${tier.toLowerCase()}-image`
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

/** What every model sells: each of its sizes, and a failure that costs input. */
export function neededGenSkus(model: GenModel): readonly string[] {
  return [pictureSku(model, DEFAULT_TIER), inputSku(model)]
}

/** What its pictures are sold as, of every size it makes. */
export function sizedGenSkus(model: GenModel): readonly string[] {
  return model.tiers.map((tier) => pictureSku(model, tier))
}

/** A picture of the largest size it may be: input alone costs less. */
export function expectedGen({ tiers }: GenModel, { settings }: TaskFacts): ImageSeen {
  const size = settings['size'] === INFERRED ? tiers.at(-1) : settings['size']
  return { usage: { [IMAGES]: 1 }, output: { size: size ?? null } }
}

/** The picture alone, or where none came the input alone: never both. */
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
