import { checkImageCount } from '../../calls/images/deliver.ts'
import { quoteTask } from '../create-task.ts'
import { createCreateImageTask } from './create.ts'
import type { ImageTaskDeps } from './deps.ts'
import { createGetImageTask } from './get.ts'
import type { ImageTaskUseCases } from './types.ts'

/** The use cases of asynchronous images. */
export function createImageTaskUseCases(deps: ImageTaskDeps): ImageTaskUseCases {
  const { channels } = deps
  return {
    create: createCreateImageTask(deps),
    get: createGetImageTask(deps),
    quote: async ({ principal, family, model, request }) => {
      checkImageCount(model, request.count, channels.serving({ family, model }))
      return quoteTask(deps, { principal, family, model, facts: request.facts })
    },
  }
}
