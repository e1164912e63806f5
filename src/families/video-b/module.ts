import { createTaskProvider } from '../kit/task/client.ts'
import type { FamilyModule } from '../module.ts'
import { videoBRules } from './rules/rules.ts'
import { provBV2, provBV2Surface } from './surface/routes.ts'
import { videoBWire } from './upstream/wire.ts'

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
      region: 'overseas',
      path: '/video-b',
      models: { 'h3-video': 'Sandbox-H3', 'h3-video-max': 'Sandbox-H3-Max' },
    },
  ],
  mounts: [provBV2],
  open: () => {
    const tasks = createTaskProvider(videoBWire)
    return { tasks, surfaces: [provBV2Surface], close: tasks.close }
  },
}
