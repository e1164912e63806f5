import { knownModel } from '../../../domain/families/checks/known-model.ts'
import type { TaskFamilyRules } from '../../../domain/families/task-rules.ts'
import { resolveVideoCModel, videoCModels } from './models.ts'
import { quoteVideoC, settleVideoC, videoCPrices } from './pricing.ts'
import { simpleVideoC } from './simple.ts'

const HOUR_S = 3_600

const known = knownModel(resolveVideoCModel)

/** The `/provC` video family. */
export const videoCRules: TaskFamilyRules = {
  family: 'video-c',
  idKind: 'video',
  // What waits for a quiet hour upstream is given up there after two days.
  defaultExpiryS: 48 * HOUR_S,
  longestExpiryS: 72 * HOUR_S,
  models: videoCModels,
  resolve: resolveVideoCModel,
  quote: (model, facts, book) => quoteVideoC(known(model), facts, book),
  settle: settleVideoC,
  prices: (model) => videoCPrices(known(model)),
  simpleVideo: simpleVideoC,
}
