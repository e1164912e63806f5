import { isAboveCeiling } from '../../../domain/pricing/ceiling.ts'
import type { CallTerms, DoubtedReport, RatedCall } from '../../../domain/catalog/call-rules.ts'
import {
  type Measurement,
  type Quote,
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
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { invariant } from '../../../kernel/assert.ts'
import { type Currency, lineAmount } from '../../../kernel/money.ts'
import type { Audition } from './clone-request.ts'
import { speechModels, VOICE_CLONE } from './voices.ts'

/**
 * Prices speech, only by the characters that upstream reports. Rule name:
 * `speech/characters/reported`.
 */

/** The unit of spoken text, as upstream counts it. */
export const CHARACTERS = 'character'
export const SPEECH_CURRENCY: Currency = 'USD'
const RULE = 'speech/characters/reported'

function speechSku(model: string): string {
  return `${model}-character`
}

/** Every SKU by which a model is billed. The SKU of a clone is its name; its audition is speech. */
export function speechPrices(model: string): readonly BilledSku[] {
  if (model !== VOICE_CLONE)
    return [{ sku: speechSku(model), currency: SPEECH_CURRENCY, unit: CHARACTERS }]
  const auditions = speechModels.map(({ name }) => speechSku(name))
  return [
    { sku: VOICE_CLONE, currency: SPEECH_CURRENCY, unit: 'voice' },
    ...optionalSkus(auditions, CHARACTERS, SPEECH_CURRENCY),
  ]
}

/** @throws DomainError `price_not_configured` with `details.sku` */
export function quoteSpeech(model: string, facts: TaskFacts, book: PriceBook): Quote {
  const candidates = [rate(book, speechSku(model), SPEECH_CURRENCY, RULE)]
  const quote = { priceBookVersion: book.version, currency: SPEECH_CURRENCY, candidates }
  const { amount } = settleCharacters({ ...quote, hold: '0' }, expectedOf(facts), 'estimated')
  return { ...quote, hold: amount }
}

/** The expected count for a request with these facts. */
export function expectedOf({ settings }: TaskFacts): number {
  const { characters } = settings
  invariant(typeof characters === 'number', 'a request was read before it is priced')
  return characters
}

/** Undefined: upstream did not report the characters. */
export function settleSpeech(quote: Quote, usage: Usage): Settlement | undefined {
  const characters = usage[CHARACTERS]
  return characters === undefined ? undefined : settleCharacters(quote, characters, 'reported')
}

/** The settlement of this many characters at the quoted price. */
export function settleCharacters(
  quote: Quote,
  characters: number,
  measurement: Measurement,
): Settlement {
  const lines = quote.candidates.map((rated) => settlementLine(rated, characters, measurement))
  return settlement(quote, lines)
}

/**
 * Prices a clone of a voice: a price for the clone, and its audition as speech. Rule names:
 * `speech/clone/made` and `speech/clone/audition`.
 */

/** The facts from which a clone is priced. */
type PricedClone = Pick<Audition, 'model' | 'characters'> | undefined

/** The received part of an answer: the characters of the audition, if it reports them. */
export interface CloneSeen {
  readonly characters: number | undefined
}

/** Whether an audition can have this many characters. */
function isPlausible(
  frozen: Pick<Quote, 'priceBookVersion' | 'currency'>,
  spoken: RatedSku | undefined,
  expected: number,
  reported: number,
): boolean {
  if (spoken === undefined) return true
  const at = (characters: number) =>
    settlement(frozen, [settlementLine(spoken, characters, 'reported')])
  return !isAboveCeiling({ hold: at(expected).amount }, at(reported), BigInt(expected))
}

/** A report of more characters than a text can have. */
export function doubtedCharacters(reported: number): DoubtedReport {
  return { figures: { [CHARACTERS]: reported }, notes: [{ what: 'characters', why: 'ceiling' }] }
}

/**
 * A clone that was made is always settled, because the voice exists: an audition without a count is
 * settled at the expected one.
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
    const reported = audition === undefined ? 0 : seen?.characters
    const isBelieved = reported !== undefined && isPlausible(frozen, spoken, expected, reported)
    const characters = isBelieved ? reported : expected
    const measurement = isBelieved ? 'reported' : 'estimated'
    return {
      ...(isBelieved || reported === undefined ? {} : { doubted: doubtedCharacters(reported) }),
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
  return { ...frozen, candidates, holdPico, settle: rated, estimate: rated }
}
