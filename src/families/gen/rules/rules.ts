import { knownModel } from '../../../domain/families/checks/known-model.ts'
import type { ImageFamily } from '../../../domain/families/image-rules.ts'
import { genModel, genModels } from './models.ts'
import { expectedGen, genSkus, neededGenSkus, settleGen, sizedGenSkus } from './pricing.ts'
import { fitGenBase, readGenOrder } from './request.ts'

const known = knownModel(genModel)

/** The `gen-*` family. */
export const genFamily: ImageFamily = {
  name: 'gen',
  kinds: ['generation', 'edit'],
  models: genModels.map(({ name }) => name),
  currency: 'USD',
  usualCount: () => 1,
  read: readGenOrder,
  fitBase: fitGenBase,
  skus: (model, facts) => genSkus(known(model), facts),
  expected: (model, facts) => expectedGen(known(model), facts),
  settle: (quote, made) => settleGen(known(made.model), quote, made),
  neededSkus: (model) => neededGenSkus(known(model)),
  furtherSkus: (model) => sizedGenSkus(known(model)),
}
