import type { Currency } from '../../kernel/money.ts'
import type { PriceBook } from '../pricing/price-book.ts'
import type { Measurement, RatedSku, Settlement } from '../pricing/settlement.ts'
import type { Usage } from '../pricing/usage.ts'

/** What a call used and what that comes to at the prices it was admitted at. */
export interface RatedCall {
  readonly usage: Usage
  readonly measurement: Measurement
  readonly settlement: Settlement
  /** Of the usage, what counts towards a limit of tokens a minute; 0 where none does. */
  readonly limitedTokens: number
  /** Set where it was answered otherwise than it was asked for. */
  readonly answeredOtherwise?: AnswerDifferences
}

/** What upstream says it answered with, as far as it is not what it was asked for; in its own words. */
export interface AnswerDifferences {
  readonly model?: string
  readonly serviceTier?: string
}

/**
 * One call's prices, frozen when it is admitted, and how its end is rated by them.
 *
 * @typeParam Seen what was seen of an answer
 */
export interface CallTerms<Seen> {
  readonly priceBookVersion: string
  readonly currency: Currency
  /** Every SKU it can be settled at. */
  readonly candidates: readonly RatedSku[]
  /** The most it is expected to cost: held while it runs. */
  readonly holdPico: bigint
  /**
   * What a caller could reduce so that the hold is no more than this, in words; undefined where
   * nothing is enough. Absent where there is nothing to make smaller.
   */
  readonly fitting?: (availablePico: bigint) => string | undefined
  /**
   * What a result is settled at; undefined where what was seen says too little to settle on. Such a
   * result is never delivered.
   */
  readonly settle: (seen: Seen) => RatedCall | undefined
  /**
   * What a call that failed probably cost us, as it would have cost its caller; `undefined` is seen
   * of an answer that never came.
   */
  readonly absorbed: (seen: Seen | undefined) => RatedCall
}

/**
 * What the domain knows of a family of synchronous calls.
 *
 * @typeParam Request what a call is priced by; not kept while the call runs
 * @typeParam Seen what was seen of an answer
 */
export interface CallFamilyRules<Request, Seen> {
  /** As operators call it, e.g. `text`. */
  readonly name: string
  /** Its external names, where they are fixed; undefined where channels choose them. */
  readonly models: readonly string[] | undefined
  /** External names by the further names that its models are taken by; no other family's model may have one. */
  readonly aliases?: ReadonlyMap<string, string>
  /** Whether a channel may offer a model under this external name. */
  readonly isModelName: (name: string) => boolean
  /**
   * SKUs a book has no price for although every call of the model needs one. SKUs that only some
   * requests need are not checked: without a price they alone are refused.
   */
  readonly unpricedSkus: (model: string, book: PriceBook) => readonly string[]
  /** SKUs that no model of tasks has, and that only some requests need. */
  readonly furtherSkus?: readonly string[]
  /** Where channels choose the names of models: the SKUs of one, and which it is by a SKU's form. */
  readonly freeSkus?: {
    readonly of: (model: string) => readonly string[]
    readonly modelOf: (sku: string) => string | undefined
  }
  /** Tokens a call counts towards its token's limit a minute until it ends. */
  readonly expectedTokens: (request: Request) => number
  /** @throws DomainError `price_not_configured` with `details.sku` */
  readonly price: (request: Request, book: PriceBook) => CallTerms<Seen>
}
