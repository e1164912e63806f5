import type { Currency } from '../../kernel/money.ts'
import type { PriceBook } from '../pricing/price-book.ts'
import type { Measurement, RatedSku, Settlement } from '../pricing/settlement.ts'
import type { Usage } from '../pricing/usage.ts'

/** What a call used and what that comes to at the prices it was admitted at. */
export interface RatedCall {
  readonly usage: Usage
  readonly measurement: Measurement
  readonly settlement: Settlement
  /** The part of the usage that counts towards a limit of tokens a minute; 0 if none does. */
  readonly limitedTokens: number
  /** Present if the answer differs from the request, for example in its model. */
  readonly answeredOtherwise?: AnswerDifferences
  /** What upstream reported, where that is not simply what is settled. */
  readonly doubted?: DoubtedReport
}

/** A report that was not taken as it is. */
export interface DoubtedReport {
  /** Its figures, under the names they came with. */
  readonly figures: Usage
  readonly notes: readonly ReportNote[]
}

/** What is special about a report of usage. */
export interface ReportNote {
  /** What it concerns, such as `input`; few words, because metrics have them. */
  readonly what: string
  /**
   * - `missing`: there is no such figure, or it is no count
   * - `parts`: a part is more than its whole, or no count
   * - `ceiling`: it is more than the request can have used
   * - `undone`: a later report of a stream took a figure back, which it keeps
   * - `elsewhere`: it was read from another member than usual
   *
   * The first three lead to an estimate.
   */
  readonly why: 'missing' | 'parts' | 'ceiling' | 'undone' | 'elsewhere'
}

/**
 * What upstream reports that it answered with, in upstream's words, where that differs from the
 * request.
 */
export interface AnswerDifferences {
  readonly model?: string
  readonly serviceTier?: string
}

/**
 * One call's prices, frozen when it is admitted, and how they rate its result.
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
   * What a caller could reduce so that the hold is no more than this, in words; undefined if no
   * reduction is enough. Absent if nothing can be reduced.
   */
  readonly fitting?: (availablePico: bigint) => string | undefined
  /**
   * The settlement of a result; undefined if what was seen is not enough to settle. Such a result
   * is never delivered.
   */
  readonly settle: (seen: Seen) => RatedCall | undefined
  /**
   * What a call used as far as it is known: by figures if they came, otherwise an estimate that is
   * never above what the request allows. It settles a stream that the gateway or its caller ended,
   * and says what a failed call probably cost the operator. `seen` is undefined if no answer came.
   */
  readonly estimate: (seen: Seen | undefined) => RatedCall
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
  /** Its external names, if they are fixed; undefined if channels choose them. */
  readonly models: readonly string[] | undefined
  /** External names by alias; no model of another family may have one of these. */
  readonly aliases?: ReadonlyMap<string, string>
  /** Whether a channel may offer a model under this external name. */
  readonly isModelName: (name: string) => boolean
  /**
   * SKUs that every call of the model needs and the book has no price for. SKUs that only some
   * requests need are not checked: without a price, only these requests are refused.
   */
  readonly unpricedSkus: (model: string, book: PriceBook) => readonly string[]
  /** SKUs that no model of tasks has, and that only some requests need. */
  readonly furtherSkus?: readonly string[]
  /**
   * Present if channels choose the names of models: the SKUs of a model, and the model of a SKU.
   */
  readonly freeSkus?: {
    readonly of: (model: string) => readonly string[]
    readonly modelOf: (sku: string) => string | undefined
  }
  /** Tokens that a call counts towards its token's limit a minute until it ends. */
  readonly expectedTokens: (request: Request) => number
  /** @throws DomainError `price_not_configured` with `details.sku` */
  readonly price: (request: Request, book: PriceBook) => CallTerms<Seen>
}
