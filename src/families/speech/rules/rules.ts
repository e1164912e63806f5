import { parseAmount } from '../../../kernel/money.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { isAboveCeiling } from '../../../domain/pricing/ceiling.ts'
import type { Quote } from '../../../domain/pricing/settlement.ts'
import type { CallFamilyRules, RatedCall } from '../../../domain/catalog/call-rules.ts'
import type { TaskFamilyRules } from '../../../domain/catalog/task-rules.ts'
import { offeredModels, speechModel, speechModels } from './voices.ts'
import {
  CHARACTERS,
  doubtedCharacters,
  expectedOf,
  quoteSpeech,
  settleCharacters,
  settleSpeech,
  speechPrices,
} from './pricing.ts'

/** Name of the family in channels, events and a principal's models. */
export const SPEECH = 'speech'

/** The facts from which a request for speech is priced. */
export interface PricedSpeech {
  readonly model: string
  readonly facts: TaskFacts
}

/** The received part of an answer: `character` is upstream's count, if it reports one. */
export interface SpeechSeen {
  readonly usage: Usage
}

/** Synchronous speech. */
export const speechCallRules: CallFamilyRules<PricedSpeech, SpeechSeen> = {
  name: SPEECH,
  models: offeredModels,
  isModelName: (name) => offeredModels.includes(name),
  prices: speechPrices,
  // Limits per minute count tokens of text.
  expectedTokens: () => 0,
  price: ({ model, facts }, book) => {
    const quote = quoteSpeech(model, facts, book)
    return {
      priceBookVersion: quote.priceBookVersion,
      currency: quote.currency,
      candidates: quote.candidates,
      holdPico: parseAmount(quote.hold),
      settle: (seen) =>
        seen.usage[CHARACTERS] === undefined ? undefined : rated(quote, facts, seen),
      estimate: (seen) => rated(quote, facts, seen),
    }
  },
}

/**
 * Settled by the reported characters; without a report, or with more than the text can have, by the
 * expected ones.
 */
function rated(quote: Quote, facts: TaskFacts, seen: SpeechSeen | undefined): RatedCall {
  const reported = seen?.usage[CHARACTERS]
  if (reported !== undefined) {
    const settlement = settleCharacters(quote, reported, 'reported')
    if (!isAboveCeiling(quote, settlement, BigInt(expectedOf(facts))))
      return {
        usage: { [CHARACTERS]: reported },
        measurement: 'reported',
        settlement,
        limitedTokens: 0,
      }
  }
  const characters = expectedOf(facts)
  return {
    usage: { [CHARACTERS]: characters },
    measurement: 'estimated',
    settlement: settleCharacters(quote, characters, 'estimated'),
    limitedTokens: 0,
    ...(reported === undefined ? {} : { doubted: doubtedCharacters(reported) }),
  }
}

/** Upstream has no list of tasks: a creation whose outcome is unknown is given up after this. */
const LONGEST_S = 6 * 3_600

/** Speech as a task; upstream reports the characters when it accepts the task. */
export const speechTaskRules: TaskFamilyRules = {
  family: SPEECH,
  idKind: 'speech',
  defaultExpiryS: LONGEST_S,
  longestExpiryS: LONGEST_S,
  models: speechModels,
  resolve: speechModel,
  quote: quoteSpeech,
  settle: ({ quote, usage }) => settleSpeech(quote, usage),
  prices: speechPrices,
}
