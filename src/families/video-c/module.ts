import { createTaskProvider } from '../kit/task/client.ts'
import type { FamilyModule } from '../module.ts'
import { videoCModels } from './rules/models.ts'
import { videoCRules } from './rules/rules.ts'
import { provC, provCSurface } from './surface/routes.ts'
import { videoCWire } from './upstream/wire.ts'

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
      region: 'overseas',
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
