import { invariant } from '../../../kernel/assert.ts'
import type { ImageFamily } from '../image-rules.ts'
import { type ImageModel, imageModel, imageModels } from './models.ts'
import { expectedImages, imageSkus, neededImageSkus, settleImages } from './pricing.ts'
import { readImageOrder } from './request.ts'

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

function known(name: string): ImageModel {
  const model = imageModel(name)
  invariant(model, `the catalog keeps every model it ever had: ${name}`)
  return model
}
