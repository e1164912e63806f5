import type { TObject } from 'typebox'
import { invariant } from '../../kernel/assert.ts'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import type { JsonObject } from '../../kernel/json.ts'
import {
  type Quote,
  type Settlement,
  settlementLine,
  type SettlementLine,
} from '../pricing/settlement.ts'
import { type BilledSku, type PriceBook, rate } from '../pricing/price-book.ts'
import type { Usage } from '../pricing/usage.ts'
import type { TaskFacts } from '../task/events.ts'
import { unitsHeld } from '../pricing/ceiling.ts'
import { settleBelieved } from './believed.ts'
import type { CallFamilyRules, RatedCall, ReportNote } from './call-rules.ts'
import type { TaskFamilyRules, TaskModel } from './task-rules.ts'

/** The sides of a picture. */
export interface Pixels {
  readonly width: number
  readonly height: number
}

/** Reads `<width>x<height>`; undefined for any other text. */
export function parsePixels(size: string): Pixels | undefined {
  const [, width, height] = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(size) ?? []
  return width === undefined || height === undefined
    ? undefined
    : { width: Number(width), height: Number(height) }
}

/**
 * Common parts of the families of images: calls and tasks have the same requests, prices and
 * settlements.
 */

export const imageKinds = ['generation', 'edit'] as const

export type ImageKind = (typeof imageKinds)[number]

/** A picture sent along, as the caller sent it. */
export type ImageInput =
  | { readonly from: 'upload'; readonly bytes: Uint8Array; readonly mediaType: ImageMediaType }
  /** A web URL that upstream fetches by itself, or a `data:` URI. */
  | { readonly from: 'url'; readonly url: string; readonly param: string }
  /** A web URL whose picture the gateway fetches, because upstream does not. */
  | {
      readonly from: 'remote'
      readonly url: string
      readonly param: string
      readonly underBytes: number
    }
  /** The id of a file of the same tenant. */
  | {
      readonly from: 'file'
      readonly fileId: string
      readonly param: string
      /** Absent: of any size. */
      readonly underBytes?: number
    }

export type ImageMediaType = 'image/png' | 'image/jpeg' | 'image/webp'

/** A part of a form that holds a file. */
export interface ImageUpload {
  /** Name of the part, e.g. `image`, `image[]`, `mask`. */
  readonly name: string
  readonly bytes: Uint8Array
}

/** An order of images by a caller, for any family. */
export interface ImageOrder {
  readonly kind: ImageKind
  /** Numbers and flags of a form are parsed; its parts with files are `uploads`. */
  readonly form: 'json' | 'multipart'
  /** External name. */
  readonly model: string
  /** Members as sent, without `model`. */
  readonly fields: JsonObject
  readonly uploads: readonly ImageUpload[]
}

export type ImageDelivery = 'url' | 'b64_json'

/**
 * An order that its family has read: the request to upstream, and the facts on which its price
 * depends.
 */
export interface ImageRequest {
  readonly kind: ImageKind
  /** External name. */
  readonly model: string
  /** The family's own words to upstream, without the model and the pictures. */
  readonly body: JsonObject
  /** The base picture first. */
  readonly inputs: readonly ImageInput[]
  readonly mask: ImageInput | undefined
  readonly delivery: ImageDelivery
  readonly streamed: boolean
  /** The largest number of pictures that the order may produce. */
  readonly count: number
  readonly facts: TaskFacts
}

/** Observed result of an answer. */
export interface ImageSeen {
  /** `image` counts the pictures that arrived; the other counts are upstream's. */
  readonly usage: Usage
  /** Actual settings of the result, by wire name: `quality`, `size`. */
  readonly output: Readonly<Record<string, string | number | boolean | null>>
}

/** The unit of delivered pictures. */
export const IMAGES = 'image'
/**
 * Counts pictures that upstream made and charges, and that did not reach the caller: they are never
 * billed.
 */
export const UNDELIVERED = 'undelivered-image'

/** A result to settle, with its request. */
export interface MadeImages extends ImageSeen {
  readonly model: string
  readonly facts: TaskFacts
}

/** Rules of a family of images. Pure. */
export interface ImageFamilyRules {
  /** Name of the family in channels and events. */
  readonly name: string
  /** The schemas of its request bodies: see `readBody`. */
  readonly bodies: Readonly<Partial<Record<ImageKind, TObject>>>
  /** External names. */
  readonly models: readonly string[]
  /** External names by alias. */
  readonly aliases?: ReadonlyMap<string, string>
  readonly currency: Currency
  /** Most pictures of one request that an account makes, unless its channel says otherwise. */
  readonly usualCount: (model: string) => number
  /**
   * Whether each picture of an answer is delivered and settled separately. If not, one picture that
   * cannot be delivered refuses the whole answer.
   */
  readonly settlesEach?: boolean
  /** @throws DomainError `invalid_request`, `n_not_supported`, `image_too_large`, `invalid_image_url`, naming the field */
  readonly read: (order: ImageOrder) => ImageRequest
  /**
   * Completes a request with the size of its base picture, which must be read first; undefined:
   * this request does not need it.
   */
  readonly fitBase?: (request: ImageRequest) => ((base: Pixels) => ImageRequest) | undefined
  /** Every SKU the settlement of a request can use, with the rule that chooses it. */
  readonly skus: (model: string, facts: TaskFacts) => readonly NamedSku[]
  /** The most expensive result that a request may have: its price is held. */
  readonly expected: (model: string, facts: TaskFacts) => ImageSeen
  /** Undefined: the observed result is not enough to settle. */
  readonly settle: (quote: Quote, made: MadeImages) => Settlement | undefined
  /** Every SKU by which a result of a model may be billed, whatever the request. */
  readonly prices: (model: string) => readonly BilledSku[]
}

export interface NamedSku {
  readonly sku: string
  readonly rule: string
}

/**
 * Every SKU a request can be settled at, with prices frozen, and the hold.
 * @throws DomainError `price_not_configured` with `details.sku`
 */
export function quoteImages(
  family: ImageFamilyRules,
  { model, facts }: PricedImages,
  book: PriceBook,
): Quote {
  const { currency } = family
  const candidates = family
    .skus(model, facts)
    .map(({ sku, rule }) => rate(book, sku, currency, rule))
  const quote = { priceBookVersion: book.version, currency, candidates, hold: '0' }
  const dearest = family.settle(quote, { model, facts, ...family.expected(model, facts) })
  invariant(dearest, `what is expected of ${model} can be settled`)
  return { ...quote, hold: dearest.amount }
}

function unitsHeldOf(family: ImageFamilyRules, priced: PricedImages): bigint {
  return unitsHeld((book) => quoteImages(family, priced, book))
}

/** One line of a settlement, at the quoted price of the SKU; none without a quantity. */
export function quotedLine(
  quote: Quote,
  sku: string,
  quantity: number,
): SettlementLine | undefined {
  const rated = quote.candidates.find((candidate) => candidate.sku === sku)
  // The gateway bills only quoted SKUs.
  return rated && settlementLine(rated, quantity, 'reported')
}

/** The facts from which an image call is priced. */
type PricedImages = Pick<ImageRequest, 'model' | 'facts'>

const ABOVE_CEILING: ReportNote = { what: 'images', why: 'ceiling' }

/** The record of a family of images as one of synchronous calls. */
export function imageCallRules(family: ImageFamilyRules): CallFamilyRules<PricedImages, ImageSeen> {
  const { name, models, currency } = family
  return {
    name,
    models,
    isModelName: (model) => models.includes(model),
    ...(family.aliases === undefined ? {} : { aliases: family.aliases }),
    prices: family.prices,
    // Only text tokens count towards limits a minute.
    expectedTokens: () => 0,
    price: (priced, book) => {
      const quote = quoteImages(family, priced, book)
      const heldUnits = unitsHeldOf(family, priced)
      const rated = (
        seen: ImageSeen,
        measurement: RatedCall['measurement'],
      ): RatedCall | undefined => {
        const settled = settleBelieved(family, IMAGES, { quote, ...priced, ...seen }, heldUnits)
        if (settled === undefined) return undefined
        const { settlement, usage } = settled
        if (usage === seen.usage) return { usage, measurement, settlement, limitedTokens: 0 }
        const doubted = { figures: seen.usage, notes: [ABOVE_CEILING] }
        return { usage, measurement: 'estimated', settlement, limitedTokens: 0, doubted }
      }
      const dearest = rated(family.expected(priced.model, priced.facts), 'estimated')
      invariant(dearest, 'a quote was made of what is expected')
      return {
        priceBookVersion: quote.priceBookVersion,
        currency,
        candidates: quote.candidates,
        holdPico: parseAmount(quote.hold),
        settle: (seen) => rated(seen, 'reported'),
        // Previews are no picture yet: without any figure it may have been the dearest one.
        estimate: (seen) =>
          (seen && IMAGES in seen.usage ? rated(asMade(seen), 'reported') : undefined) ?? dearest,
      }
    },
  }
}

/** Usage and output as made by upstream, including pictures that did not reach the caller. */
function asMade({ usage, output }: ImageSeen): ImageSeen {
  const { [UNDELIVERED]: lost = 0, ...others } = usage
  return lost === 0
    ? { usage, output }
    : { usage: { ...others, [IMAGES]: (usage[IMAGES] ?? 0) + lost }, output }
}

/** A task that has not begun after this time fails. */
const LONGEST_WAIT_S = 6 * 3_600
/**
 * A channel answers within ten minutes or not at all; the rest of the time is for storing the
 * result.
 */
const LONGEST_MAKING_S = 15 * 60

/** The record of a family of images as one of asynchronous tasks. */
export function imageTaskRules(family: ImageFamilyRules): TaskFamilyRules {
  const models = family.models.map((name): TaskModel => ({ name, aliases: [] }))
  return {
    family: family.name,
    idKind: 'image',
    defaultExpiryS: LONGEST_WAIT_S,
    longestExpiryS: LONGEST_WAIT_S,
    localExecution: { longestS: LONGEST_MAKING_S },
    models,
    resolve: (name) => models.find((model) => model.name === name),
    quote: (model, facts, book) => quoteImages(family, { model, facts }, book),
    settle: ({ quote, model, facts, usage, output }) =>
      settleBelieved(
        family,
        IMAGES,
        { quote, model, facts, usage, output },
        unitsHeldOf(family, { model, facts }),
      )?.settlement,
    prices: family.prices,
  }
}
