import type { SimpleVideoRules } from '../../../domain/families/simple-video.ts'
import { taskFamilies, taskFamily } from '../../../domain/families/tasks.ts'
import { invariant } from '../../../kernel/assert.ts'
import { DomainError } from '../../../kernel/errors.ts'

/** Every family whose tasks are videos that can be asked for alike. */
export const videoFamilies: readonly string[] = [...taskFamilies.values()]
  .filter(({ simpleVideo }) => simpleVideo !== undefined)
  .map(({ family }) => family)

/** How one of them is spoken to. */
export function videoRules(family: string): SimpleVideoRules {
  const { simpleVideo } = taskFamily(family)
  invariant(simpleVideo, `a family that makes videos: ${family}`)
  return simpleVideo
}

/** The one a model is of. @throws DomainError `unknown_model` */
export function videoFamilyOf(model: string): string {
  const family = videoFamilies.find((name) => taskFamily(name).resolve(model) !== undefined)
  if (family !== undefined) return family
  throw new DomainError('unknown_model', `the model ${model} makes no videos here`, { model })
}
