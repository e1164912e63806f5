import { knownModel } from '../../domain/catalog/checks/known-model.ts'
import type { ImageFamilyRules } from '../../domain/catalog/image-rules.ts'
import { imageChannel } from '../../app/channels/settings.ts'
import { createImageProvider } from '../kit/image/client.ts'
import type { FamilyModule } from '../module.ts'
import { genModel, genModels } from './rules/models.ts'
import { expectedGen, GEN_CURRENCY, genPrices, genSkus, settleGen } from './rules/pricing.ts'
import { fitGenBase, genBodies, readGenOrder } from './rules/request.ts'
import { genWire } from './upstream/wire.ts'

const known = knownModel(genModel)

/** The `gen-*` family. */
export const genFamily: ImageFamilyRules = {
  name: 'gen',
  bodies: genBodies,
  models: genModels.map(({ name }) => name),
  currency: GEN_CURRENCY,
  usualCount: () => 1,
  read: readGenOrder,
  fitBase: fitGenBase,
  skus: (model, facts) => genSkus(known(model), facts),
  expected: (model, facts) => expectedGen(known(model), facts),
  settle: (quote, made) => settleGen(known(made.model), quote, made),
  prices: (model) => genPrices(known(model)),
}

/** The `gen-*` models. */
export const gen: FamilyModule = {
  rules: { name: 'gen', images: genFamily },
  channel: imageChannel(genFamily),
  sandbox: [
    {
      id: 'sandbox-gen',
      family: 'gen',
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
