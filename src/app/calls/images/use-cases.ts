import { DomainError } from '../../../kernel/errors.ts'
import type { RunningCalls } from '../running.ts'
import { completeCall } from '../whole.ts'
import type { ImageDeps } from './deps.ts'
import { createImageFamily } from './family.ts'
import { sentPictures } from './inputs.ts'
import type { ImageUseCases } from './types.ts'

/** The synchronous image use cases. */
export function createImageUseCases(deps: ImageDeps, running: RunningCalls): ImageUseCases {
  const family = createImageFamily(deps)
  return {
    make: (input) =>
      running.run(input.family, async (stopped) => {
        if (input.request.delivery === 'url' && deps.keepImage === undefined)
          throw new DomainError('image_url_not_available', 'There is no place for images', {})
        const pictures = await sentPictures(deps, input)
        return completeCall(deps, family, { ...input, pictures }, stopped)
      }),
  }
}
