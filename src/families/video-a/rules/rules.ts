import { knownModel } from '../../../domain/families/checks/known-model.ts'
import type { TaskFamilyRules } from '../../../domain/families/task-rules.ts'
import { resolveVideoAModel, videoAModels } from './models.ts'
import { EXPIRES_AFTER_S } from './request.ts'
import { simpleVideoA } from './simple.ts'
import {
  isSettleableVideoA,
  quoteVideoA,
  searchSkus,
  settleVideoA,
  videoATokenPrices,
} from './pricing.ts'

const HOUR_S = 3_600

const known = knownModel(resolveVideoAModel)

/** The `/provA` video family. */
export const videoARules: TaskFamilyRules = {
  family: 'video-a',
  idKind: 'video',
  defaultExpiryS: 48 * HOUR_S,
  longestExpiryS: 72 * HOUR_S,
  shortestExpiryS: EXPIRES_AFTER_S.min,
  models: videoAModels,
  resolve: resolveVideoAModel,
  quote: (model, facts, book) => quoteVideoA(known(model), facts, book),
  settle: ({ model, usage, ...success }) =>
    isSettleableVideoA(usage)
      ? settleVideoA({ model: known(model), usage, ...success })
      : undefined,
  prices: (model) => videoATokenPrices(known(model)),
  furtherSkus: (model) => searchSkus(known(model)),
  simpleVideo: simpleVideoA,
  takesAssets: true,
}
