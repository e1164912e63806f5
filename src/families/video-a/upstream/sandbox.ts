import type { SandboxAccount } from '../../../app/ports.ts'
import { videoAModels } from '../rules/models.ts'

const SIGNING_REGIONS = { domestic: 'cn-beijing', overseas: 'ap-southeast-1' } as const

/** The sandbox as this family's upstream, one account a region. It knows the versioned names. */
export const videoASandbox: readonly SandboxAccount[] = (['domestic', 'overseas'] as const).map(
  (region) => ({
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
  }),
)
