import { invariant } from '../../../kernel/assert.ts'
import type { Currency } from '../../../kernel/money.ts'
import { settlement, settlementLine } from '../../../domain/pricing/lines.ts'
import { type PriceBook, rate } from '../../../domain/pricing/price-book.ts'
import type { Measurement, Quote, Settlement } from '../../../domain/pricing/settlement.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { VOICE_CLONE } from './models.ts'

/**
 * How speech is rated: by the characters upstream reports, and by nothing else. Rule name:
 * `speech/characters/reported`.
 */

/** The unit of what was spoken, as upstream counts it. */
export const CHARACTERS = 'character'
export const SPEECH_CURRENCY: Currency = 'USD'
const RULE = 'speech/characters/reported'

/** What the characters of a model are sold as; a clone is sold as what it is called. */
export function speechSku(model: string): string {
  return model === VOICE_CLONE ? VOICE_CLONE : `${model}-character`
}

/** @throws DomainError `price_not_configured` with `details.sku` */
export function quoteSpeech(model: string, facts: TaskFacts, book: PriceBook): Quote {
  const candidates = [rate(book, speechSku(model), SPEECH_CURRENCY, RULE)]
  const quote = { priceBookVersion: book.version, currency: SPEECH_CURRENCY, candidates }
  const { amount } = settleCharacters({ ...quote, hold: '0' }, expectedOf(facts), 'estimated')
  return { ...quote, hold: amount }
}

/** What a request of these facts is expected to be counted as. */
export function expectedOf({ settings }: TaskFacts): number {
  const { characters } = settings
  invariant(typeof characters === 'number', 'a request was read before it is priced')
  return characters
}

/** Undefined: upstream did not say how many characters it was. */
export function settleSpeech(quote: Quote, usage: Usage): Settlement | undefined {
  const characters = usage[CHARACTERS]
  return characters === undefined ? undefined : settleCharacters(quote, characters, 'reported')
}

/** So many characters at the quoted price. */
export function settleCharacters(
  quote: Quote,
  characters: number,
  measurement: Measurement,
): Settlement {
  const lines = quote.candidates.map((rated) => settlementLine(rated, characters, measurement))
  return settlement(quote, lines)
}
