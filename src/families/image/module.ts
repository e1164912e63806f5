import { createImageProvider } from '../kit/image/client.ts'
import type { FamilyModule } from '../module.ts'
import { imageFamily } from './rules/rules.ts'
import { imageWire } from './upstream/wire.ts'

/** The `image-*` models. */
export const image: FamilyModule = {
  rules: { name: 'image', images: imageFamily },
  sandbox: [
    {
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
    },
  ],
  open: () => {
    const images = createImageProvider(imageWire)
    return { images, close: images.close }
  },
}
