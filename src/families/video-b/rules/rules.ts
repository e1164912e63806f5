import { knownModel } from '../../../domain/families/checks/known-model.ts'
import type { TaskFamilyRules } from '../../../domain/families/task-rules.ts'
import { resolveVideoBModel, videoBModels } from './models.ts'
import { simpleVideoB } from './simple.ts'
import { quoteVideoB, settleVideoB, videoBPrices } from './pricing.ts'

const HOUR_S = 3_600

const known = knownModel(resolveVideoBModel)

/** The `/provB` video family. */
export const videoBRules: TaskFamilyRules = {
  family: 'video-b',
  idKind: 'video',
  // Upstream names none. A video takes minutes, and what it still works on is waited for longer: this
  // only ends what it does not show, of which nothing can be proved.
  defaultExpiryS: HOUR_S,
  longestExpiryS: 72 * HOUR_S,
  models: videoBModels,
  resolve: resolveVideoBModel,
  quote: (model, facts, book) => quoteVideoB(known(model), facts, book),
  settle: ({ facts, quote, usage }) => settleVideoB({ facts, quote, usage }),
  prices: (model) => videoBPrices(known(model)),
  simpleVideo: simpleVideoB,
}
