import { DomainError } from '../../../kernel/errors.ts'
import { type Currency, lineAmount } from '../../../kernel/money.ts'
import {
  type HeldUses,
  type MeteredTool,
  meteredTools,
  type TextWireRules,
  toolsChargedBy,
} from './wire.ts'
import { type TextUsage, type TokenUnit, tokenUnits, type ToolUnit } from './tokens.ts'
import {
  type Measurement,
  type RatedSku,
  settlement,
  type Settlement,
  settlementLine,
} from '../../../domain/pricing/settlement.ts'
import {
  type BilledSku,
  optionalSkus,
  type PriceBook,
  rate,
} from '../../../domain/pricing/price-book.ts'

/**
 * Turns a text call and its usage into SKUs. The rule names, `<family>` being the wire whose
 * counting rules turned the provider's usage into ours:
 *
 * - `text/<family>/input`, `…/cached-input`, `…/cache-write-5m`, `…/cache-write-1h`, `…/output`:
 *   `<model>-<unit>-token` at the model's own price
 * - `text/<family>/<unit>/at-input-rate`: the price book has no price of this unit for the model;
 *   what is read from or written to a cache was input all the same and costs what input costs
 * - `text/<family>/<tier>/…`: the same of a tier of service: `<model>-<unit>-token-<tier>`
 * - `text/<family>/<tool>-count`: per call (or session) a provider's own tool made
 *
 * Input and output must be priced; nothing falls back to free.
 */

/** The unit of each tool, and the SKU that prices it. */
const TOOL_UNITS: Readonly<Record<MeteredTool, ToolUnit>> = {
  'web-search': 'web-search-call',
  'code-interpreter': 'code-interpreter-session',
  'file-search': 'file-search-call',
}

/** The unit of a token's price. */
export const TOKEN = 'token'
/** The unit that a price of each tool names. */
const PRICED_UNITS: Readonly<Record<MeteredTool, string>> = {
  'web-search': 'call',
  'code-interpreter': 'session',
  'file-search': 'call',
}

/** The SKUs of tools, and the unit of each. */
export const toolSkus: ReadonlyMap<string, string> = new Map(
  meteredTools.map((tool) => [TOOL_UNITS[tool], PRICED_UNITS[tool]]),
)

/** Prices of one call, frozen when it starts. */
export interface TextQuote {
  readonly priceBookVersion: string
  readonly currency: Currency
  readonly tokens: Readonly<Record<TokenUnit, RatedSku>>
  /** The highest price of an input token, cached or not: for holds. */
  readonly dearestInput: RatedSku
  /** The tools that the request offers, each with a price: a hold reserves for them. */
  readonly offered: readonly MeteredTool[]
  /**
   * The uses of the offered tools, and searches that a chat model may make by itself if they have a
   * price; uses of other tools were never quoted and are not billed.
   */
  readonly tools: Readonly<Partial<Record<MeteredTool, RatedSku>>>
  /** Every SKU a call can be settled at, the tokens first. */
  readonly candidates: readonly RatedSku[]
}

/**
 * The prices a call of this model is settled at. The currency is the one the book prices the
 * model's input in; USD where it has both, because one call is never billed in two.
 *
 * @throws DomainError `price_not_configured` with `details.sku`
 */
export function quoteText(
  model: string,
  wire: TextWireRules,
  offered: readonly MeteredTool[],
  book: PriceBook,
  serviceTier?: string,
): TextQuote {
  const currency = currencyOf(model, book)
  if (currency === undefined) throw unpricedInput(model, book)
  const rules = `text/${wire.name}`
  const byTier = serviceTier === undefined ? rules : `${rules}/${serviceTier}`
  const rule = (unit: string) => `${byTier}/${unit}`
  const skuOf = (unit: TokenUnit) => tokenSku(model, unit, serviceTier)
  const required = (unit: TokenUnit) => rate(book, skuOf(unit), currency, rule(unit))
  const input = required('input')
  const orInput = (unit: TokenUnit): RatedSku =>
    book.lookup(skuOf(unit), currency) === undefined
      ? { ...input, rule: rule(`${unit}/at-input-rate`) }
      : required(unit)
  const inputs = {
    input,
    'cached-input': orInput('cached-input'),
    'cache-write-5m': orInput('cache-write-5m'),
    'cache-write-1h': orInput('cache-write-1h'),
  }
  const tokens = { ...inputs, output: required('output') }
  const tools: TextQuote['tools'] = Object.fromEntries(
    [...offered, ...unasked(wire, currency, book)].map((tool) => [
      tool,
      rate(book, TOOL_UNITS[tool], currency, `${rules}/${tool}-count`),
    ]),
  )
  return {
    priceBookVersion: book.version,
    currency,
    tokens,
    dearestInput: dearest(Object.values(inputs), input),
    offered,
    tools,
    candidates: [
      ...tokenUnits.map((unit) => tokens[unit]),
      ...meteredTools.flatMap((tool) => tools[tool] ?? []),
    ],
  }
}

function tokenSku(model: string, unit: TokenUnit, serviceTier?: string): string {
  const sku = `${model}-${unit}-token`
  return serviceTier === undefined ? sku : `${sku}-${serviceTier}`
}

const REQUIRED: ReadonlySet<TokenUnit> = new Set(['input', 'output'])

/**
 * Every SKU by which a call of the model may be billed on this wire. Without a price of its input
 * the model has no currency, and its input alone is named.
 */
export function textPrices(
  model: string,
  wire: TextWireRules,
  tiers: readonly string[],
  book: PriceBook,
): readonly BilledSku[] {
  const currency = currencyOf(model, book)
  if (currency === undefined)
    return [{ sku: tokenSku(model, 'input'), currency: 'USD', unit: TOKEN }]
  return [
    ...tokenUnits.map((unit): BilledSku => {
      const billed = { sku: tokenSku(model, unit), currency, unit: TOKEN }
      return REQUIRED.has(unit) ? billed : { ...billed, optional: true }
    }),
    ...optionalSkus(
      tiers.flatMap((tier) => tokenUnits.map((unit) => tokenSku(model, unit, tier))),
      TOKEN,
      currency,
    ),
    ...toolsChargedBy(wire).flatMap((tool) =>
      optionalSkus([TOOL_UNITS[tool]], PRICED_UNITS[tool], currency),
    ),
  ]
}

function unasked(
  { searchesUnasked }: TextWireRules,
  currency: Currency,
  book: PriceBook,
): readonly MeteredTool[] {
  const priced = book.lookup(TOOL_UNITS['web-search'], currency) !== undefined
  return searchesUnasked === true && priced ? ['web-search'] : []
}

/**
 * The settlement of a call from its frozen prices. An explicit zero is a settlement without lines.
 *
 * @throws RangeError when a count is not a non-negative safe integer
 */
export function settleText(
  quote: TextQuote,
  usage: TextUsage,
  measurementOf: (unit: TokenUnit | ToolUnit) => Measurement,
): Settlement {
  const { tokens, tools } = quote
  const line = (rated: RatedSku | undefined, unit: TokenUnit | ToolUnit) =>
    rated === undefined || usage[unit] === 0
      ? undefined
      : settlementLine(rated, usage[unit], measurementOf(unit))
  return settlement(quote, [
    ...tokenUnits.map((unit) => line(tokens[unit], unit)),
    ...meteredTools.map((tool) => line(tools[tool], TOOL_UNITS[tool])),
  ])
}

const MAX_QUANTITY = BigInt(Number.MAX_SAFE_INTEGER)
/** Calls of each offered tool a hold reserves for, where no bound of them is known. */
const ASSUMED_TOOL_CALLS = 3

/** The most that a call is expected to use. */
export interface ExpectedUse {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly uses?: HeldUses
}

/**
 * Maximum cost of a call, in pico: its input at the highest input price, and the output it may
 * produce. An estimate for admission only; the settlement follows the usage.
 */
export function holdText(quote: TextQuote, expected: ExpectedUse): bigint {
  const { output } = quote.tokens
  const { dearestInput } = quote
  let holdPico =
    lineAmount(expected.outputTokens, output.price, output.per) +
    lineAmount(expected.inputTokens, dearestInput.price, dearestInput.per)
  for (const tool of quote.offered) {
    const rated = quote.tools[tool]
    const uses = expected.uses?.[tool] ?? ASSUMED_TOOL_CALLS
    if (rated !== undefined) holdPico += lineAmount(uses, rated.price, rated.per)
  }
  return holdPico
}

/**
 * The largest output that this amount can hold, in addition to the input and the tools; 0 for none.
 */
export function outputWithin(
  quote: TextQuote,
  others: Omit<ExpectedUse, 'outputTokens'>,
  availablePico: bigint,
): number {
  const leftPico = availablePico - holdText(quote, { ...others, outputTokens: 0 })
  const { price, per } = quote.tokens.output
  const ofMillionPico = lineAmount(1_000_000, price, per)
  if (leftPico <= 0n || ofMillionPico === 0n) return 0
  const tokens = (leftPico * 1_000_000n) / ofMillionPico
  return Number(tokens > MAX_QUANTITY ? MAX_QUANTITY : tokens)
}

/** Prices may be per one, a thousand or a million; they are compared per million. */
function dearest(rated: readonly RatedSku[], first: RatedSku): RatedSku {
  const ofMillion = ({ price, per }: RatedSku) => lineAmount(1_000_000, price, per)
  return rated.reduce((most, one) => (ofMillion(one) > ofMillion(most) ? one : most), first)
}

/** If a book has both, the first of them is used. */
const CURRENCY_ORDER: readonly Currency[] = ['USD', 'CNY']

function currencyOf(model: string, book: PriceBook): Currency | undefined {
  const sku = tokenSku(model, 'input')
  return CURRENCY_ORDER.find((currency) => book.lookup(sku, currency))
}

function unpricedInput(model: string, book: PriceBook): DomainError {
  const sku = tokenSku(model, 'input')
  return new DomainError(
    'price_not_configured',
    `the price book ${book.version} has no price for ${sku}`,
    { sku, priceBookVersion: book.version },
  )
}
