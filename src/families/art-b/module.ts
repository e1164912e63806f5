import { knownModel } from '../../domain/catalog/checks/known-model.ts'
import type { ImageFamilyRules } from '../../domain/catalog/image-rules.ts'
import { imageChannel } from '../../app/channels/settings.ts'
import { createImageProvider } from '../kit/image/client.ts'
import type { FamilyModule } from '../module.ts'
import { artBModel, artBModels, MAX_GROUP } from './rules/models.ts'
import { ART_B_CURRENCY, artBPrices, artBSkus, expectedArtB, settleArtB } from './rules/pricing.ts'
import { artBBody, readArtBOrder } from './rules/request.ts'
import { artBWire } from './upstream/wire.ts'

const known = knownModel(artBModel)

/** The `artB-*` family. */
export const artBFamily: ImageFamilyRules = {
  name: 'art-b',
  bodies: { generation: artBBody },
  models: artBModels.map(({ name }) => name),
  aliases: new Map(artBModels.map(({ name, version }) => [version, name])),
  currency: ART_B_CURRENCY,
  usualCount: (model) => (known(model).makesGroups ? MAX_GROUP : 1),
  settlesEach: true,
  read: readArtBOrder,
  skus: (model, facts) => artBSkus(known(model), facts),
  expected: (_model, facts) => expectedArtB(facts),
  settle: (quote, made) => settleArtB(known(made.model), quote, made),
  prices: (model) => artBPrices(known(model)),
}

/** The `artB-*` models. */
export const artB: FamilyModule = {
  rules: { name: 'art-b', images: artBFamily },
  channel: imageChannel(artBFamily),
  sandbox: [
    {
      id: 'sandbox-art-b',
      family: 'art-b',
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
