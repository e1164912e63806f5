import { knownModel } from '../../domain/catalog/checks/known-model.ts'
import type { TaskFamilyRules } from '../../domain/catalog/task-rules.ts'
import { createTaskProvider } from '../kit/task/client.ts'
import type { FamilyModule } from '../module.ts'
import { resolveVideoCModel, videoCModels } from './rules/models.ts'
import { quoteVideoC, settleVideoC, videoCPrices } from './rules/pricing.ts'
import { simpleVideoC } from './rules/translate-order.ts'
import { provC, provCSurface } from './surface/routes.ts'
import { videoCWire } from './upstream/wire.ts'

const HOUR_S = 3_600

const known = knownModel(resolveVideoCModel)

/** The `/provC` video family. */
export const videoCRules: TaskFamilyRules = {
  family: 'video-c',
  idKind: 'video',
  // Upstream gives up an off-peak task that has waited for two days.
  defaultExpiryS: 48 * HOUR_S,
  longestExpiryS: 72 * HOUR_S,
  models: videoCModels,
  resolve: resolveVideoCModel,
  quote: (model, facts, book) => quoteVideoC(known(model), facts, book),
  settle: settleVideoC,
  prices: (model) => videoCPrices(known(model)),
  simpleVideo: simpleVideoC,
}

/** The videos of `/provC`. */
export const videoC: FamilyModule = {
  rules: {
    name: 'video-c',
    tasks: videoCRules,
  },
  sandbox: [
    {
      id: 'sandbox-video-c',
      family: 'video-c',
      path: '',
      models: Object.fromEntries(
        videoCModels.map(({ name }) => [name, name.replace(/^clip/, 'reel')]),
      ),
    },
  ],
  mounts: [provC],
  open: () => {
    const tasks = createTaskProvider(videoCWire)
    return { tasks, surfaces: [provCSurface], close: tasks.close }
  },
}
