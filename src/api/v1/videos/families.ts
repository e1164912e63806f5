import type { Catalog, VideoFamily } from '../../../domain/catalog/catalog.ts'
import type { SimpleVideoRules } from '../../../domain/catalog/simple-video.ts'
import { invariant } from '../../../kernel/assert.ts'
import { DomainError } from '../../../kernel/errors.ts'

type Videos = Pick<Catalog, 'videoFamilies'>

/** Names of the families whose videos `/v1/videos` can make. */
export function videoFamilyNames({ videoFamilies }: Videos): readonly string[] {
  return videoFamilies.map(({ family }) => family)
}

/** How one of them is spoken to. */
export function videoRules({ videoFamilies }: Videos, family: string): SimpleVideoRules {
  const found = videoFamilies.find((rules) => rules.family === family)
  invariant(found, `a family that makes videos: ${family}`)
  return found.simpleVideo
}

/** The one a model is of. @throws DomainError `unknown_model` */
export function videoFamilyOf({ videoFamilies }: Videos, model: string): VideoFamily {
  const found = videoFamilies.find(({ resolve }) => resolve(model) !== undefined)
  if (found !== undefined) return found
  throw new DomainError('unknown_model', `the model ${model} makes no videos here`, { model })
}
