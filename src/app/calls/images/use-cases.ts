import { DomainError } from '../../../kernel/errors.ts'
import type { RunningCalls } from '../running.ts'
import { completeCall } from '../whole.ts'
import type { ImageDeps } from './deps.ts'
import { createImageFamily } from './family.ts'
import { createFetchRooms } from './fetch-room.ts'
import { readyImages, type ReadyImages } from './inputs.ts'
import type { ImageUseCases } from './types.ts'

/** The synchronous image use cases. */
export function createImageUseCases(deps: ImageDeps, running: RunningCalls): ImageUseCases {
  const family = createImageFamily(deps)
  const rooms = createFetchRooms()
  return {
    make: (input) =>
      running.run(input.family, async (stopped) => {
        if (input.request.delivery === 'url' && deps.keepImage === undefined)
          throw new DomainError('image_url_not_available', 'There is no place for images', {})
        const room = rooms.enter()
        let images: Promise<ReadyImages> | undefined
        const ready = (signal: AbortSignal) => (images ??= readyImages(deps, input, room, signal))
        try {
          return await completeCall(deps, family, { ...input, ready }, stopped)
        } finally {
          room.leave()
        }
      }),
  }
}
