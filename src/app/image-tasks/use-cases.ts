import { createCreateImageTask } from './create.ts'
import type { ImageTaskDeps } from './deps.ts'
import { createGetImageTask } from './get.ts'
import type { ImageTaskUseCases } from './types.ts'

/** The use cases of asynchronous images. */
export function createImageTaskUseCases(deps: ImageTaskDeps): ImageTaskUseCases {
  return { create: createCreateImageTask(deps), get: createGetImageTask(deps) }
}
