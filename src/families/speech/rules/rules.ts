import { parseAmount } from '../../../kernel/money.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import type { CallFamilyRules } from '../../../domain/catalog/call-rules.ts'
import type { TaskFamilyRules } from '../../../domain/catalog/task-rules.ts'
import { offeredModels, speechModel, speechModels, VOICE_CLONE } from './voices.ts'
import {
  CHARACTERS,
  expectedOf,
  quoteSpeech,
  settleCharacters,
  settleSpeech,
  SPEECH_CURRENCY,
  speechSku,
} from './pricing.ts'

/** Its name in channels, events and a principal's models. */
export const SPEECH = 'speech'

/** What a request for speech is priced by. */
export interface PricedSpeech {
  readonly model: string
  readonly facts: TaskFacts
}

/** What was received of an answer: `character` is upstream's count, if it reports one. */
export interface SpeechSeen {
  readonly usage: Usage
}

/** Speech that is answered at once. */
export const speechCallRules: CallFamilyRules<PricedSpeech, SpeechSeen> = {
  name: SPEECH,
  furtherSkus: [VOICE_CLONE],
  models: offeredModels,
  isModelName: (name) => offeredModels.includes(name),
  unpricedSkus: (model, book) =>
    [speechSku(model)].filter((sku) => book.lookup(sku, SPEECH_CURRENCY) === undefined),
  // Limits per minute count tokens of text.
  expectedTokens: () => 0,
  price: ({ model, facts }, book) => {
    const quote = quoteSpeech(model, facts, book)
    return {
      priceBookVersion: quote.priceBookVersion,
      currency: quote.currency,
      candidates: quote.candidates,
      holdPico: parseAmount(quote.hold),
      settle: ({ usage }) => {
        const settled = settleSpeech(quote, usage)
        return settled && { usage, measurement: 'reported', settlement: settled, limitedTokens: 0 }
      },
      estimate: (seen) => {
        const reported = seen?.usage[CHARACTERS]
        const measurement = reported === undefined ? 'estimated' : 'reported'
        const characters = reported ?? expectedOf(facts)
        return {
          usage: { [CHARACTERS]: characters },
          measurement,
          settlement: settleCharacters(quote, characters, measurement),
          limitedTokens: 0,
        }
      },
    }
  },
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
  prices: (model) => [{ sku: speechSku(model), currency: SPEECH_CURRENCY }],
}
