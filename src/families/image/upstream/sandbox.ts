import type { SandboxAccount } from '../../../app/ports.ts'

/** The sandbox as this wire's upstream; answers name no version. */
export const imageSandbox: SandboxAccount = {
  id: 'sandbox-image',
  family: 'image',
  region: 'overseas',
  path: '/images/v1',
  models: {
    'image-2': 'picture-2-2026-04-21',
    'image-2-low': 'picture-2-2026-04-21',
    'image-2-medium': 'picture-2-2026-04-21',
    'image-2-high': 'picture-2-2026-04-21',
    'image-2.5-sunburst': 'picture-2.5-sunburst-2026-09-08',
    'image-2.5-flare': 'picture-2.5-flare-2026-09-08',
  },
  largestImageCounts: { 'image-2.5-sunburst': 4 },
}
