import { invariant } from '../../../kernel/assert.ts'
import type { TaskFamilyRules } from '../task-rules.ts'
import { resolveVideoAModel, videoAModels, type VideoAModel } from './models.ts'
import { isSettleableVideoA, quoteVideoA, settleVideoA, videoATokenPrices } from './pricing.ts'

const HOUR_S = 3_600

/** The `/provA` video family. */
export const videoARules: TaskFamilyRules = {
  family: 'video-a',
  idKind: 'video',
  defaultExpiryS: 48 * HOUR_S,
  longestExpiryS: 72 * HOUR_S,
  models: videoAModels,
  resolve: resolveVideoAModel,
  quote: (model, facts, book) => quoteVideoA(known(model), facts, book),
  settle: ({ model, usage, ...success }) =>
    isSettleableVideoA(usage)
      ? settleVideoA({ model: known(model), usage, ...success })
      : undefined,
  prices: (model) => videoATokenPrices(known(model)),
}

function known(name: string): VideoAModel {
  const model = resolveVideoAModel(name)
  invariant(model, `the catalog keeps every model it ever had: ${name}`)
  return model
}
