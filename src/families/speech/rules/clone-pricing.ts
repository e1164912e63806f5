import { lineAmount } from '../../../kernel/money.ts'
import { settlement, settlementLine } from '../../../domain/pricing/lines.ts'
import { type PriceBook, rate } from '../../../domain/pricing/price-book.ts'
import type { CallTerms, RatedCall } from '../../../domain/families/call-rules.ts'
import type { Audition } from './clone-request.ts'
import { VOICE_CLONE } from './models.ts'
import { CHARACTERS, SPEECH_CURRENCY, speechSku } from './pricing.ts'

/**
 * How a clone of a voice is rated: by the piece, and what it says at once as speech. Rule names:
 * `speech/clone/made` and `speech/clone/audition`.
 */

/** What a clone is priced by. */
export type PricedClone = Pick<Audition, 'model' | 'characters'> | undefined

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
