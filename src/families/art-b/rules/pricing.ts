import { type Quote, settlement, type Settlement } from '../../../domain/pricing/settlement.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import {
  type ImageSeen,
  IMAGES,
  type MadeImages,
  type NamedSku,
  quotedLine,
} from '../../../domain/catalog/image-rules.ts'
import type { ArtBModel } from './models.ts'

/**
 * How `artB-*` turns a request and its result into SKUs. Rule names:
 *
 * - `art-b/picture`: by the picture that was made, whatever its size
 * - `art-b/web-search`: by the search that was made, where searching was offered
 */

/** As the usage of a call counts searches, and as they are sold. */
export const SEARCHES = 'web-search-call'
/** Searches of one request that are expected, for holds alone. */
const EXPECTED_SEARCHES = 3

const pictureSku = ({ name }: ArtBModel): string => `${name}-image`

export function artBSkus(model: ArtBModel, { tools }: TaskFacts): readonly NamedSku[] {
  const picture = { sku: pictureSku(model), rule: 'art-b/picture' }
  return tools.length === 0 ? [picture] : [picture, { sku: SEARCHES, rule: 'art-b/web-search' }]
}

export function neededArtBSkus(model: ArtBModel): readonly string[] {
  return [pictureSku(model)]
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
