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
import { heldUses, isTextModelName, offeredTools, runsTools, type TextWireRules } from './wire.ts'
import { LONG, longTierIn, tiersIn } from './price-members.ts'
import { billedQuote, candidatesOf, heldQuote, type TierQuotes } from './tier-quotes.ts'
import {
  type ExpectedUse,
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
  /** A prompt of more tokens has other prices. */
  readonly longPromptTokens?: number
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

/** Prices that depend on the tier that serves the call, and on the length of its prompt. */
function quotesOf(request: TextCallRequest, book: PriceBook): TierQuotes {
  const { wire, serviceTier, longPromptTokens, ...rest } = request
  const usual = { wire, ...rest }
  const asked = quoteOf(request, book)
  if (serviceTier !== undefined)
    return wire.billsServedTier === true ? { asked, usual: quoteOf(usual, book) } : { asked }
  if (longPromptTokens === undefined) return { asked }
  const long = { quote: quoteOf({ ...usual, serviceTier: LONG }, book) }
  return { asked, long: { ...long, aboveTokens: longPromptTokens } }
}

function rated(quotes: TierQuotes, request: MostUsed, seen: TextSeen): RatedCall {
  const { usage, estimated, notes } = measureText(request, seen)
  // An estimate of the input is all that is known of the prompt then.
  const { promptTokens: _reported, ...without } = seen
  const quote = billedQuote(quotes, estimated.has('input') ? without : seen, usage)
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
  { wire, body }: TextCallRequest,
  quote: TextQuote,
  expected: ExpectedUse,
): NonNullable<CallTerms<TextSeen>['fitting']> {
  const bounds = boundsAbove(wire, body)
  const answers = answersOf(wire, body)
  return (availablePico) => {
    const each = Math.floor(outputWithin(quote, expected, availablePico) / answers)
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
      textPrices(
        model,
        wire,
        [...new Set(settings.flatMap((one) => [...tiersIn(one), ...longTierIn(one, model)]))],
        book,
      ),
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
  const quotes = quotesOf(request, book)
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
  const expected: ExpectedUse = {
    inputTokens: heldInputTokens(inputSize),
    outputTokens: largestOutputTokens,
    uses: heldUses(wire, body),
  }
  const held = heldQuote(quotes, expected)
  return {
    priceBookVersion: held.priceBookVersion,
    currency: held.currency,
    candidates: candidatesOf(quotes),
    holdPico: holdText(held, expected),
    fitting: fittingBound(request, held, expected),
    settle: (seen) => rated(quotes, most, seen),
    estimate: (seen) => rated(quotes, most, seen ?? nothingSeen),
  }
}
