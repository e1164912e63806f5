import { createImageProvider } from '../kit/image/client.ts'
import type { FamilyModule } from '../module.ts'
import { genFamily } from './rules/rules.ts'
import { genWire } from './upstream/wire.ts'

/** The `gen-*` models. */
export const gen: FamilyModule = {
  rules: { name: 'gen', images: genFamily },
  sandbox: [
    {
      id: 'sandbox-gen',
      family: 'gen',
      region: 'overseas',
      path: '/gen/v1beta',
      models: {
        'gen-2.5-flash-image': 'painter-2.5-flash-image',
        'gen-3-pro-image-preview': 'painter-3-pro-image-preview',
        'gen-3.1-flash-image': 'painter-3.1-flash-image-preview',
      },
    },
  ],
  open: () => {
    const images = createImageProvider(genWire)
    return { images, close: images.close }
  },
}
