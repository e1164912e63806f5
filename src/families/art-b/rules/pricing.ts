import {
  type ImageSeen,
  IMAGES,
  type MadeImages,
  type NamedSku,
  quotedLine,
} from '../../../domain/catalog/image-rules.ts'
import { type BilledSku, optionalSkus } from '../../../domain/pricing/price-book.ts'
import { type Quote, settlement, type Settlement } from '../../../domain/pricing/settlement.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import type { ArtBModel } from './models.ts'

/**
 * Turns a request and its result into SKUs for `artB-*`. Rule names:
 *
 * - `art-b/picture`: for each picture, whatever its size
 * - `art-b/web-search`: for each search, if the request offered searching
 */

export const ART_B_CURRENCY = 'CNY'

/** The unit and the SKU of searches. */
export const SEARCHES = 'web-search-call'
/** The expected searches of one request, for holds only. */
const EXPECTED_SEARCHES = 3

const pictureSku = ({ name }: ArtBModel): string => `${name}-image`

export function artBSkus(model: ArtBModel, { tools }: TaskFacts): readonly NamedSku[] {
  const picture = { sku: pictureSku(model), rule: 'art-b/picture' }
  return tools.length === 0 ? [picture] : [picture, { sku: SEARCHES, rule: 'art-b/web-search' }]
}

/** Every SKU by which a result may be billed, whatever the request. */
export function artBPrices(model: ArtBModel): readonly BilledSku[] {
  const picture = { sku: pictureSku(model), currency: ART_B_CURRENCY, unit: IMAGES } as const
  return model.makesGroups
    ? [picture, ...optionalSkus([SEARCHES], 'call', ART_B_CURRENCY)]
    : [picture]
}

export function expectedArtB({ settings, tools }: TaskFacts): ImageSeen {
  const count = Math.max(Number(settings['n']), Number(settings['layers']))
  return {
    usage: { [IMAGES]: count, ...(tools.length === 0 ? {} : { [SEARCHES]: EXPECTED_SEARCHES }) },
    output: {},
  }
}

export function settleArtB(model: ArtBModel, quote: Quote, { usage }: MadeImages): Settlement {
  return settlement(quote, [
    quotedLine(quote, pictureSku(model), usage[IMAGES] ?? 0),
    quotedLine(quote, SEARCHES, usage[SEARCHES] ?? 0),
  ])
}
