import { knownModel } from '../../domain/catalog/checks/known-model.ts'
import type { TaskFamilyRules } from '../../domain/catalog/task-rules.ts'
import { createMediaProvider } from '../kit/media/files.ts'
import { createTaskProvider } from '../kit/task/client.ts'
import type { FamilyModule } from '../module.ts'
import { resolveVideoBModel, videoBModels } from './rules/models.ts'
import { quoteVideoB, settleVideoB, videoBPrices } from './rules/pricing.ts'
import { simpleVideoB } from './rules/translate-order.ts'
import { provBV2, provBV2Surface } from './surface/routes.ts'
import { videoBWire } from './upstream/wire.ts'

const HOUR_S = 3_600

const known = knownModel(resolveVideoBModel)

/** The `/provB` video family. */
export const videoBRules: TaskFamilyRules = {
  family: 'video-b',
  idKind: 'video',
  // Upstream documents none. A video takes minutes, and the gateway waits longer while upstream
  // works on it: this bound only ends tasks that upstream does not show and whose outcome cannot be
  // proved.
  defaultExpiryS: HOUR_S,
  longestExpiryS: 72 * HOUR_S,
  models: videoBModels,
  resolve: resolveVideoBModel,
  quote: (model, facts, book) => quoteVideoB(known(model), facts, book),
  settle: ({ facts, quote, usage }) => settleVideoB({ facts, quote, usage }),
  prices: (model) => videoBPrices(known(model)),
  simpleVideo: simpleVideoB,
}

/** The videos of `/provB/v2`. */
export const videoB: FamilyModule = {
  rules: {
    name: 'video-b',
    tasks: videoBRules,
    uploads: { video_generation_input: { maxBytes: 50 * 1024 * 1024 } },
  },
  sandbox: [
    {
      id: 'sandbox-video-b',
      family: 'video-b',
      path: '/video-b',
      models: { 'h3-video': 'Sandbox-H3', 'h3-video-max': 'Sandbox-H3-Max' },
    },
  ],
  mounts: [provBV2],
  open: () => {
    const [tasks, media] = [createTaskProvider(videoBWire), createMediaProvider()]
    return {
      tasks,
      media,
      surfaces: [provBV2Surface],
      close: async () => void (await Promise.all([tasks.close(), media.close()])),
    }
  },
}
