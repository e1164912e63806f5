import { isDomainError } from '../../../kernel/errors.ts'
import type { PriceBook } from '../../../domain/pricing/price-book.ts'
import type { Measurement } from '../../../domain/pricing/settlement.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type {
  AnswerDifferences,
  CallFamilyRules,
  CallTerms,
  RatedCall,
} from '../../../domain/catalog/call-rules.ts'
import {
  estimateInputTokens,
  estimateText,
  heldInputTokens,
  type InputSize,
  type TextUsage,
  tokenUnits,
  toolUnits,
  totalTokens,
} from './tokens.ts'
import { answersOf, boundsAbove, expectedOutput, largestOutput } from './expected.ts'
import { isTextModelName, offeredTools, type TextWireRules } from './wire.ts'
import { holdText, outputWithin, quoteText, settleText, type TextQuote } from './pricing.ts'

/** What a text call is priced by. */
export interface TextCallRequest {
  readonly wire: TextWireRules
  /** External name. */
  readonly model: string
  readonly body: JsonObject
  readonly inputSize: InputSize
  /** The largest output of the model, over all channels that may take the call. */
  readonly largestOutputTokens: number
  /** The tier of service it is priced by; absent is the usual one. */
  readonly serviceTier?: string
}

/** What was seen of a text answer. */
export interface TextSeen {
  /** The reported usage; undefined if upstream reported none, or invalid figures. */
  readonly usage: TextUsage | undefined
  /** UTF-8 bytes of text, reasoning, tool names and arguments; not counted if there is usage. */
  readonly outputBytes: number
  /** Upstream reported that the result is complete. */
  readonly finished: boolean
  /** Present if upstream answered with another model or service tier than requested. */
  readonly answeredOtherwise?: AnswerDifferences
}

/** Of an answer that never came. */
const nothingSeen: TextSeen = { usage: undefined, outputBytes: 0, finished: false }

/** Quotes by book and what they depend on; a new book begins with none. */
const quotes = new WeakMap<PriceBook, Map<string, TextQuote>>()
/** Models times wires times sets of tools: far more than there are. */
const MAX_QUOTES = 10_000

function quoteOf({ wire, model, body, serviceTier }: TextCallRequest, book: PriceBook): TextQuote {
  const tools = offeredTools(wire, body)
  const key = `${wire.name} ${model} ${tools.join()} ${serviceTier ?? ''}`
  const ofBook = quotes.get(book) ?? new Map<string, TextQuote>()
  quotes.set(book, ofBook)
  const known = ofBook.get(key)
  if (known !== undefined) return known
  const made = quoteText(model, wire, tools, book, serviceTier)
  if (ofBook.size < MAX_QUOTES) ofBook.set(key, made)
  return made
}

/**
 * What a call used. The figures of a whole result count, also of one that failed; figures that came
 * with only part of a result say at least that much; without figures the bytes seen are counted, up
 * to the most that the request allows. An explicit zero is a figure.
 */
function usageOf(
  { usage, finished, outputBytes }: TextSeen,
  { inputSize, largestOutputTokens }: Estimated,
): { readonly usage: TextUsage; readonly measurement: Measurement } {
  if (usage !== undefined && finished) return { usage, measurement: 'reported' }
  const estimate = estimateText(inputSize, outputBytes)
  const output = Math.min(Math.max(usage?.output ?? 0, estimate.output), largestOutputTokens)
  return { usage: { ...(usage ?? estimate), output }, measurement: 'estimated' }
}

/** What an estimate is made of, besides what was seen. */
interface Estimated {
  readonly inputSize: InputSize
  /** Output tokens that the request and the model allow, of all alternatives. */
  readonly largestOutputTokens: number
}

function rated(quote: TextQuote, request: Estimated, seen: TextSeen): RatedCall {
  const { usage, measurement } = usageOf(seen, request)
  const settlement = settleText(quote, usage, measurement)
  const { answeredOtherwise } = seen
  return {
    usage,
    measurement,
    settlement,
    limitedTokens: totalTokens(usage),
    ...(answeredOtherwise === undefined ? {} : { answeredOtherwise }),
  }
}

/**
 * Names the largest output bound that the available amount covers; keeps no reference to the
 * request.
 */
function fittingBound(
  { wire, body, inputSize }: TextCallRequest,
  quote: TextQuote,
): NonNullable<CallTerms<TextSeen>['fitting']> {
  const bounds = boundsAbove(wire, body)
  const answers = answersOf(wire, body)
  const inputTokens = heldInputTokens(inputSize)
  return (availablePico) => {
    const each = Math.floor(outputWithin(quote, inputTokens, availablePico) / answers)
    return each === 0 ? undefined : `${bounds(each)} of at most ${each}`
  }
}

const TOKEN_SKU = new RegExp(`^(.+)-(?:${tokenUnits.join('|')})-token$`)

/** Text on one of its wires. A result without usage is settled at an estimate. */
export function textRules(wire: TextWireRules): CallFamilyRules<TextCallRequest, TextSeen> {
  return {
    name: 'text',
    models: undefined,
    isModelName: isTextModelName,
    unpricedSkus: (model, book) => {
      try {
        quoteText(model, wire, [], book)
        return []
      } catch (error) {
        if (isDomainError(error, 'price_not_configured')) return [String(error.details['sku'])]
        throw error
      }
    },
    furtherSkus: toolUnits,
    freeSkus: {
      of: (model) => tokenUnits.map((unit) => `${model}-${unit}-token`),
      modelOf: (sku) => TOKEN_SKU.exec(sku)?.[1],
    },
    expectedTokens: ({ body, inputSize }) =>
      estimateInputTokens(inputSize) + expectedOutput(wire, body),
    price: priceText,
  }
}

function priceText(request: TextCallRequest, book: PriceBook): CallTerms<TextSeen> {
  const quote = quoteOf(request, book)
  const { wire, body, inputSize } = request
  const largestOutputTokens = largestOutput(wire, body, request.largestOutputTokens)
  // Keeps no reference to the request, which may be large.
  const estimated = { inputSize, largestOutputTokens }
  return {
    priceBookVersion: quote.priceBookVersion,
    currency: quote.currency,
    candidates: quote.candidates,
    holdPico: holdText(quote, {
      inputTokens: heldInputTokens(inputSize),
      outputTokens: largestOutputTokens,
    }),
    fitting: fittingBound(request, quote),
    settle: (seen) => rated(quote, estimated, seen),
    estimate: (seen) => rated(quote, estimated, seen ?? nothingSeen),
  }
}
