import type { CallTerms, RatedCall } from '../../../domain/catalog/call-rules.ts'
import {
  type Measurement,
  type Quote,
  settlement,
  type Settlement,
  settlementLine,
} from '../../../domain/pricing/settlement.ts'
import { type PriceBook, rate } from '../../../domain/pricing/price-book.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { invariant } from '../../../kernel/assert.ts'
import { type Currency, lineAmount } from '../../../kernel/money.ts'
import type { Audition } from './clone-request.ts'
import { VOICE_CLONE } from './voices.ts'

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

/**
 * How a clone of a voice is rated: by the piece, and what it says at once as speech. Rule names:
 * `speech/clone/made` and `speech/clone/audition`.
 */

/** What a clone is priced by. */
type PricedClone = Pick<Audition, 'model' | 'characters'> | undefined

/** What was seen of an answer: characters of the audition, where it says how many. */
export interface CloneSeen {
  readonly characters: number | undefined
}

/**
 * A clone that was made is always settled: an audition without figures at what was expected of it,
 * because the voice is there.
 *
 * @throws DomainError `price_not_configured` with `details.sku`
 */
export function priceClone(audition: PricedClone, book: PriceBook): CallTerms<CloneSeen> {
  const clone = rate(book, VOICE_CLONE, SPEECH_CURRENCY, 'speech/clone/made')
  const spoken =
    audition && rate(book, speechSku(audition.model), SPEECH_CURRENCY, 'speech/clone/audition')
  const expected = audition?.characters ?? 0
  const frozen = { priceBookVersion: book.version, currency: SPEECH_CURRENCY }
  const rated = (seen: CloneSeen | undefined): RatedCall => {
    const characters = audition === undefined ? 0 : (seen?.characters ?? expected)
    const measurement =
      audition === undefined || seen?.characters !== undefined ? 'reported' : 'estimated'
    return {
      usage: { [clone.unit]: 1, [CHARACTERS]: characters },
      measurement,
      settlement: settlement(frozen, [
        settlementLine(clone, 1, 'reported'),
        spoken && settlementLine(spoken, characters, measurement),
      ]),
      limitedTokens: 0,
    }
  }
  const holdPico =
    lineAmount(1, clone.price, clone.per) +
    (spoken === undefined ? 0n : lineAmount(expected, spoken.price, spoken.per))
  const candidates = spoken === undefined ? [clone] : [clone, spoken]
  return { ...frozen, candidates, holdPico, settle: rated, absorbed: rated }
}
