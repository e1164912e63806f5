import { artBFamily } from './art-b/rules.ts'
import { type ImageFamily } from './image-rules.ts'
import { genFamily } from './gen/rules.ts'
import { imageFamily } from './image/rules.ts'

/** Every family of images: a further one is a folder and a line here. */
export const imageFamilies: readonly ImageFamily[] = [imageFamily, genFamily, artBFamily]

const byModel: ReadonlyMap<string, ImageFamily> = new Map(
  imageFamilies.flatMap((family) =>
    [...family.models, ...(family.aliases?.keys() ?? [])].map((model) => [model, family] as const),
  ),
)

/** The family a name of a model belongs to; undefined when it names no images. */
export function imageFamilyOf(model: string): ImageFamily | undefined {
  return byModel.get(model)
}
