import type { Currency } from '../../kernel/money.ts'
import type { BilledSku, PriceBook } from '../pricing/price-book.ts'
import type { Measurement, RatedSku, Settlement } from '../pricing/settlement.ts'
import type { Usage } from '../pricing/usage.ts'

/** The usage of a call, and its cost at the prices at which it was admitted. */
export interface RatedCall {
  readonly usage: Usage
  readonly measurement: Measurement
  readonly settlement: Settlement
  /** The part of the usage that counts towards a limit of tokens a minute; 0 if none does. */
  readonly limitedTokens: number
  /** Present if the answer differs from the request, for example in its model. */
  readonly answeredOtherwise?: AnswerDifferences
  /** Upstream's report, if the settlement does not use it directly. */
  readonly doubted?: DoubtedReport
}

/** A report of usage that was not used unchanged. */
export interface DoubtedReport {
  /** The figures of the report, under upstream's names. */
  readonly figures: Usage
  readonly notes: readonly ReportNote[]
}

/**
 * Every irregularity that a report of usage can have, by the figure and the reason. Both are labels of a metric.
 *
 * - `missing`: there is no such figure, or it is no count
 * - `parts`: a part is more than its whole, or no count
 * - `ceiling`: it is more than the request can have used
 * - `floor`: it is less than what came can be
 * - `undone`: a later report of a stream took a figure back, which it keeps
 * - `elsewhere`: it was read from another member than usual
 *
 * The first four lead to an estimate.
 */
export const reportNotes = [
  { what: 'input', why: 'missing' },
  { what: 'input', why: 'parts' },
  { what: 'input', why: 'ceiling' },
  { what: 'input', why: 'elsewhere' },
  { what: 'cached-input', why: 'elsewhere' },
  { what: 'output', why: 'missing' },
  { what: 'output', why: 'ceiling' },
  { what: 'output', why: 'floor' },
  { what: 'output', why: 'elsewhere' },
  { what: 'tools', why: 'ceiling' },
  { what: 'report', why: 'undone' },
  { what: 'characters', why: 'ceiling' },
  { what: 'images', why: 'ceiling' },
] as const

/** An irregularity in a report of usage. */
export type ReportNote = (typeof reportNotes)[number]

/**
 * Model and service tier that upstream reports, in upstream's words, if they differ from the
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
   * Names what a caller could reduce to lower the hold to this amount; undefined if no reduction is
   * enough. Absent if nothing can be reduced.
   */
  readonly fitting?: (availablePico: bigint) => string | undefined
  /**
   * The settlement of a result; undefined if what was seen is not enough to settle. Such a result
   * is never delivered.
   */
  readonly settle: (seen: Seen) => RatedCall | undefined
  /**
   * The usage of a call as far as it is known: from figures if they arrived, otherwise an estimate
   * that never exceeds what the request allows. It settles a stream that the gateway or its caller
   * ended, and estimates what a failed call cost the operator. `seen` is undefined if no answer
   * arrived.
   */
  readonly estimate: (seen: Seen | undefined) => RatedCall
}

/**
 * The rules of a family of synchronous calls.
 *
 * @typeParam Request what a call is priced by; not kept while the call runs
 * @typeParam Seen what was seen of an answer
 */
export interface CallFamilyRules<Request, Seen> {
  /** Name of the family for operators, e.g. `text`. */
  readonly name: string
  /** External names, if they are fixed; undefined if channels choose them. */
  readonly models: readonly string[] | undefined
  /** External names by alias; no model of another family may have one of these. */
  readonly aliases?: ReadonlyMap<string, string>
  /** Whether a channel may offer a model under this external name. */
  readonly isModelName: (name: string) => boolean
  /**
   * Every SKU by which a call of the model may be billed, in the currency of the book's prices.
   * `settings` are the family's own, of each channel that serves the model.
   */
  readonly prices: (
    model: string,
    book: PriceBook,
    settings: readonly unknown[],
  ) => readonly BilledSku[]
  /** SKUs of its calls that belong to no model, such as those of tools, and the unit of each. */
  readonly furtherSkus?: ReadonlyMap<string, string>
  /**
   * Present if channels choose the names of models: the SKUs of a model, the model of a SKU, and
   * the unit of a SKU of any model.
   */
  readonly freeSkus?: {
    readonly of: (model: string) => readonly string[]
    readonly modelOf: (sku: string) => string | undefined
    readonly unitOf: (sku: string) => string | undefined
  }
  /** Tokens that a call counts towards its token's limit a minute until it ends. */
  readonly expectedTokens: (request: Request) => number
  /** @throws DomainError `price_not_configured` with `details.sku` */
  readonly price: (request: Request, book: PriceBook) => CallTerms<Seen>
}
