import { knownModel } from '../../../domain/families/checks/known-model.ts'
import type { ImageFamily } from '../../../domain/families/image-rules.ts'
import { artBModel, artBModels, MAX_GROUP } from './models.ts'
import { artBSkus, expectedArtB, neededArtBSkus, settleArtB } from './pricing.ts'
import { readArtBOrder } from './request.ts'

const known = knownModel(artBModel)

/** The `artB-*` family. */
export const artBFamily: ImageFamily = {
  name: 'art-b',
  kinds: ['generation'],
  models: artBModels.map(({ name }) => name),
  aliases: new Map(artBModels.map(({ name, version }) => [version, name])),
  currency: 'CNY',
  usualCount: (model) => (known(model).makesGroups ? MAX_GROUP : 1),
  settlesEach: true,
  read: readArtBOrder,
  skus: (model, facts) => artBSkus(known(model), facts),
  expected: (_model, facts) => expectedArtB(facts),
  settle: (quote, made) => settleArtB(known(made.model), quote, made),
  neededSkus: (model) => neededArtBSkus(known(model)),
}
