import type { PriceBook } from '../../../domain/pricing/price-book.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { CallFamilyRules, CallTerms, RatedCall } from '../../../domain/catalog/call-rules.ts'
import {
  estimateInputTokens,
  heldInputTokens,
  type InputSize,
  tokenUnits,
  totalTokens,
} from './tokens.ts'
import { answersOf, boundsAbove, expectedOutput, largestOutput } from './expected.ts'
import { measureText, type MostUsed, reportedFigures, sideOf, type TextSeen } from './measure.ts'
import { isTextModelName, offeredTools, runsTools, type TextWireRules } from './wire.ts'
import { tiersIn } from './price-members.ts'
import {
  holdText,
  outputWithin,
  quoteText,
  settleText,
  textPrices,
  type TextQuote,
  TOKEN,
  toolSkus,
} from './pricing.ts'

/** The facts from which a text call is priced. */
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

const nothing = { bytes: 0, characters: 0, answers: 0 }
/** The received part of an answer that never arrived. */
const nothingSeen: TextSeen = { usage: undefined, output: () => nothing, finished: false }

/** Quotes by book and by the facts on which they depend; a new book begins without quotes. */
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

function rated(quote: TextQuote, request: MostUsed, seen: TextSeen): RatedCall {
  const { usage, estimated, notes } = measureText(request, seen)
  const settlement = settleText(quote, usage, (unit) =>
    estimated.has(sideOf(unit)) ? 'estimated' : 'reported',
  )
  const { answeredOtherwise, report } = seen
  return {
    usage,
    measurement: estimated.size > 0 ? 'estimated' : 'reported',
    settlement,
    limitedTokens: totalTokens(usage),
    ...(answeredOtherwise === undefined ? {} : { answeredOtherwise }),
    ...(notes.length === 0 || report === undefined
      ? {}
      : { doubted: { figures: reportedFigures(report), notes } }),
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
/** Matches a token SKU of the usual tier or of another one. */
const ANY_TOKEN_SKU = new RegExp(`-(?:${tokenUnits.join('|')})-token(?:-[^-]+)?$`)

/** Text on one of its wires. A result without usage is settled at an estimate. */
export function textRules(wire: TextWireRules): CallFamilyRules<TextCallRequest, TextSeen> {
  return {
    name: 'text',
    models: undefined,
    isModelName: isTextModelName,
    prices: (model, book, settings) =>
      textPrices(model, wire, [...new Set(settings.flatMap(tiersIn))], book),
    furtherSkus: toolSkus,
    freeSkus: {
      of: (model) => tokenUnits.map((unit) => `${model}-${unit}-token`),
      modelOf: (sku) => TOKEN_SKU.exec(sku)?.[1],
      unitOf: (sku) => (ANY_TOKEN_SKU.test(sku) ? TOKEN : undefined),
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
  const most: MostUsed = {
    inputSize,
    largestOutputTokens,
    unboundedOutputTokens: request.largestOutputTokens * answersOf(wire, body),
    answers: answersOf(wire, body),
    runsTools: runsTools(wire, body),
  }
  return {
    priceBookVersion: quote.priceBookVersion,
    currency: quote.currency,
    candidates: quote.candidates,
    holdPico: holdText(quote, {
      inputTokens: heldInputTokens(inputSize),
      outputTokens: largestOutputTokens,
    }),
    fitting: fittingBound(request, quote),
    settle: (seen) => rated(quote, most, seen),
    estimate: (seen) => rated(quote, most, seen ?? nothingSeen),
  }
}
