import {
  type Quote,
  type RatedSku,
  settlement,
  type Settlement,
  settlementLine,
} from '../../../domain/pricing/settlement.ts'
import { type BilledSku, type PriceBook, rate } from '../../../domain/pricing/price-book.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { invariant } from '../../../kernel/assert.ts'
import { type Currency, formatAmount, lineAmount, type Quantity } from '../../../kernel/money.ts'
import { defaultVideoBResolution, type VideoBModel } from './models.ts'

/** The units of `/provB` video, by the wire's names. */
const INPUT_SECONDS = 'input_seconds'
const OUTPUT_SECONDS = 'output_seconds'
const TOTAL_SECONDS = 'total_seconds'
const INPUT_IMAGES = 'input_image_count'

export const videoBUnits = [INPUT_SECONDS, OUTPUT_SECONDS, TOTAL_SECONDS, INPUT_IMAGES] as const

/**
 * Turns a request for `/provB` video and its usage into SKUs. Rule names:
 *
 * - `video-b/requested-resolution`: the seconds that upstream reports as billed, or else as
 *   rendered, at the requested resolution
 * - `video-b/extra-input-images`: input images beyond the free ones
 */
const SECOND_RULE = 'video-b/requested-resolution'
const IMAGE_RULE = 'video-b/extra-input-images'

const CURRENCY: Currency = 'USD'
const FREE_INPUT_IMAGES = 5
/**
 * A reference video counts as billed seconds; the gateway does not know its length. For holds only.
 */
const ASSUMED_REFERENCE_VIDEO_S = 15

/**
 * The price of a second and, for a request with more images than are free, of a further one. The
 * hold is an estimate: the requested seconds and those of its reference videos.
 *
 * @throws DomainError `price_not_configured` with `details.sku`
 */
export function quoteVideoB(model: VideoBModel, facts: TaskFacts, book: PriceBook): Quote {
  const { inputs, settings } = facts
  const second = rate(book, secondSku(model, settings['resolution']), CURRENCY, SECOND_RULE)
  const extra = Math.max(0, (inputs['image'] ?? 0) - FREE_INPUT_IMAGES)
  const image = extra === 0 ? undefined : rate(book, imageSku(model), CURRENCY, IMAGE_RULE)
  const { duration } = settings
  const outputS = typeof duration === 'number' ? duration : model.durationS.max
  const seconds = outputS + (inputs['video'] ?? 0) * ASSUMED_REFERENCE_VIDEO_S
  const holdPico = amountOf(second, seconds) + (image === undefined ? 0n : amountOf(image, extra))
  return {
    priceBookVersion: book.version,
    currency: CURRENCY,
    candidates: [second, ...(image === undefined ? [] : [image])],
    hold: formatAmount(holdPico),
  }
}

/**
 * The settlement of a success from the frozen quote; undefined without reported seconds, which are
 * never guessed (P4, P5). If upstream did not count the images, those of the request count.
 */
export function settleVideoB(input: {
  readonly facts: TaskFacts
  readonly quote: Quote
  readonly usage: Usage
}): Settlement | undefined {
  const { facts, quote, usage } = input
  const seconds = usage[TOTAL_SECONDS] ?? usage[OUTPUT_SECONDS]
  if (seconds === undefined) return undefined
  const second = quote.candidates.find(({ rule }) => rule === SECOND_RULE)
  invariant(second, 'a quote has the price of a second')
  const image = quote.candidates.find(({ rule }) => rule === IMAGE_RULE)
  const reported = usage[INPUT_IMAGES]
  const images = reported ?? facts.inputs['image'] ?? 0
  return settlement(quote, [
    settlementLine(second, seconds, 'reported'),
    image &&
      settlementLine(
        image,
        Math.max(0, images - FREE_INPUT_IMAGES),
        reported === undefined ? 'estimated' : 'reported',
      ),
  ])
}

/** Every SKU by which a result of this model may be billed, whatever the request. */
export function videoBPrices(model: VideoBModel): readonly BilledSku[] {
  const seconds = model.resolutions.map((resolution) => secondSku(model, resolution))
  const billed = seconds.map((sku) => ({ sku, currency: CURRENCY, unit: 'second' }))
  return model.takesReferences
    ? [...billed, { sku: imageSku(model), currency: CURRENCY, unit: 'image' }]
    : billed
}

function secondSku({ skuBase }: VideoBModel, resolution: unknown): string {
  const named = typeof resolution === 'string' ? resolution : defaultVideoBResolution
  return `${skuBase}-${named.toLowerCase()}-second`
}

function imageSku({ skuBase }: VideoBModel): string {
  return `${skuBase}-extra-input-image`
}

function amountOf(rated: RatedSku, quantity: Quantity): bigint {
  return lineAmount(quantity, rated.price, rated.per)
}
