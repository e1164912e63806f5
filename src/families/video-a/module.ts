import { createTaskProvider } from '../kit/task/client.ts'
import type { FamilyModule } from '../module.ts'
import { createAssetProvider } from './library/client.ts'
import { realPersonSurface } from './library/person-page.ts'
import { library, librarySurface } from './library/routes.ts'
import { videoAModels } from './rules/models.ts'
import { videoARules } from './rules/rules.ts'
import { provA, provASurface } from './surface/routes.ts'
import { videoAWire } from './upstream/wire.ts'

const SIGNING_REGIONS = { domestic: 'cn-beijing', overseas: 'ap-southeast-1' } as const

/** The videos of `/provA`, and the library of assets they may use. */
export const videoA: FamilyModule = {
  rules: { name: 'video-a', tasks: videoARules },
  // One account a region. It knows the versioned names.
  sandbox: (['domestic', 'overseas'] as const).map((region) => ({
    id: `sandbox-video-a-${region}`,
    family: 'video-a',
    region,
    path: '/api/v3',
    library: { path: '/open', signingRegion: SIGNING_REGIONS[region], verifiesPersons: true },
    models: Object.fromEntries(
      videoAModels
        .filter((model) => model.region === region)
        .map(({ name, aliases }) => [name, aliases[0] ?? name]),
    ),
  })),
  mounts: [provA, library],
  open: ({ clock }) => {
    const tasks = createTaskProvider(videoAWire)
    const assets = createAssetProvider(clock)
    return {
      tasks,
      library: assets,
      surfaces: [provASurface, librarySurface, realPersonSurface],
      close: async () => void (await Promise.all([tasks.close(), assets.close()])),
    }
  },
}
