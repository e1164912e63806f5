import type { SandboxAccount } from '../../app/ports.ts'
import { videoAModels } from '../../domain/families/video-a/models.ts'

/** The sandbox as this family's upstream, one account a region. It knows the versioned names. */
export const videoASandbox: readonly SandboxAccount[] = (['domestic', 'overseas'] as const).map(
  (region) => ({
    id: `sandbox-video-a-${region}`,
    family: 'video-a',
    region,
    path: '/api/v3',
    models: Object.fromEntries(
      videoAModels
        .filter((model) => model.region === region)
        .map(({ name, aliases }) => [name, aliases[0] ?? name]),
    ),
  }),
)
