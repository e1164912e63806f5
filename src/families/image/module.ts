import { knownModel } from '../../domain/catalog/checks/known-model.ts'
import type { ImageFamilyRules } from '../../domain/catalog/image-rules.ts'
import { imageChannel } from '../../app/channels/settings.ts'
import { createImageProvider } from '../kit/image/client.ts'
import type { FamilyModule } from '../module.ts'
import { imageModel, imageModels } from './rules/models.ts'
import {
  expectedImages,
  IMAGE_CURRENCY,
  imagePrices,
  imageSkus,
  settleImages,
} from './rules/pricing.ts'
import { imageBodies, readImageOrder } from './rules/request.ts'
import { imageWire } from './upstream/wire.ts'

const known = knownModel(imageModel)

/** The `image-*` family. */
export const imageFamily: ImageFamilyRules = {
  name: 'image',
  bodies: imageBodies,
  models: imageModels.map(({ name }) => name),
  currency: IMAGE_CURRENCY,
  usualCount: (model) => known(model).usualCount,
  read: readImageOrder,
  skus: (model, facts) => imageSkus(known(model), facts),
  expected: (model, facts) => expectedImages(known(model), facts),
  settle: (quote, made) => settleImages(known(made.model), quote, made),
  prices: (model) => imagePrices(known(model)),
}

/** The `image-*` models. */
export const image: FamilyModule = {
  rules: { name: 'image', images: imageFamily },
  channel: { ...imageChannel(imageFamily), mayLackCredential: true },
  sandbox: [
    {
      id: 'sandbox-image',
      family: 'image',
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
