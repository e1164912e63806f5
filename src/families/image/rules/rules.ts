import { knownModel } from '../../../domain/families/checks/known-model.ts'
import type { ImageFamily } from '../../../domain/families/image-rules.ts'
import { imageModel, imageModels } from './models.ts'
import { expectedImages, imageSkus, neededImageSkus, settleImages } from './pricing.ts'
import { readImageOrder } from './request.ts'

const known = knownModel(imageModel)

/** The `image-*` family. */
export const imageFamily: ImageFamily = {
  name: 'image',
  kinds: ['generation', 'edit'],
  models: imageModels.map(({ name }) => name),
  currency: 'USD',
  usualCount: (model) => known(model).usualCount,
  read: readImageOrder,
  skus: (model, facts) => imageSkus(known(model), facts),
  expected: (model, facts) => expectedImages(known(model), facts),
  settle: (quote, made) => settleImages(known(made.model), quote, made),
  neededSkus: (model) => neededImageSkus(known(model)),
}
