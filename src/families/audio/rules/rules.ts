import type { CallFamilyRules, CallTerms, RatedCall } from '../../../domain/catalog/call-rules.ts'
import { type BilledSku, type PriceBook, rate } from '../../../domain/pricing/price-book.ts'
import { settlement, settlementLine } from '../../../domain/pricing/settlement.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import { currencies, type Currency, parseAmount } from '../../../kernel/money.ts'

/**
 * Speech of servers that answer audio and report no usage: the characters of the text are counted
 * here. Models are configuration: channels name them, the price book prices them.
 */

/** Name of the family in channels, events and a principal's models. */
export const AUDIO = 'audio'
const CHARACTERS = 'character'
const RULE = 'audio/characters/counted'

const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const SKU = /^(.+)-character$/

/** The facts from which a call is priced, and all that its settlement needs. */
export interface PricedAudio {
  readonly model: string
  readonly characters: number
}

/** The usage of a spoken text, whose characters are code points. */
export function usageOf(text: string): Usage {
  let characters = 0
  for (const _ of text) characters += 1
  return { [CHARACTERS]: characters }
}

const skuOf = (model: string): string => `${model}-character`

/** The currency in which the book prices a model. */
function currencyOf(model: string, book: PriceBook): Currency {
  return currencies.find((one) => book.lookup(skuOf(model), one) !== undefined) ?? 'USD'
}

function pricesOf(model: string, book: PriceBook): readonly BilledSku[] {
  return [{ sku: skuOf(model), currency: currencyOf(model, book), unit: CHARACTERS }]
}

function termsOf({ model, characters }: PricedAudio, book: PriceBook): CallTerms<unknown> {
  const currency = currencyOf(model, book)
  const spoken = rate(book, skuOf(model), currency, RULE)
  const frozen = { priceBookVersion: book.version, currency }
  const rated: RatedCall = {
    usage: { [CHARACTERS]: characters },
    measurement: 'estimated',
    settlement: settlement(frozen, [settlementLine(spoken, characters, 'estimated')]),
    limitedTokens: 0,
  }
  return {
    ...frozen,
    candidates: [spoken],
    holdPico: parseAmount(rated.settlement.amount),
    settle: () => rated,
    estimate: () => rated,
  }
}

export const audioRules: CallFamilyRules<PricedAudio, unknown> = {
  name: AUDIO,
  models: undefined,
  isModelName: (name) => MODEL_NAME.test(name),
  prices: pricesOf,
  freeSkus: {
    of: (model) => [skuOf(model)],
    modelOf: (sku) => SKU.exec(sku)?.[1],
    unitOf: (sku) => (SKU.test(sku) ? CHARACTERS : undefined),
  },
  // Limits per minute count tokens of text.
  expectedTokens: () => 0,
  price: termsOf,
}
