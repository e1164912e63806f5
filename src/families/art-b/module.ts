import { createImageProvider } from '../kit/image/client.ts'
import type { FamilyModule } from '../module.ts'
import { artBModels } from './rules/models.ts'
import { artBFamily } from './rules/rules.ts'
import { artBWire } from './upstream/wire.ts'

/** The `artB-*` models. */
export const artB: FamilyModule = {
  rules: { name: 'art-b', images: artBFamily },
  sandbox: [
    {
      id: 'sandbox-art-b',
      family: 'art-b',
      region: 'domestic',
      path: '/api/v3',
      models: Object.fromEntries(
        artBModels.map(({ name, version }) => [name, version.replace(/^artB/, 'drawing')]),
      ),
    },
  ],
  open: () => {
    const images = createImageProvider(artBWire)
    return { images, close: images.close }
  },
}
