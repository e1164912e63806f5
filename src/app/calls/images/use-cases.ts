import { DomainError } from '../../../kernel/errors.ts'
import { answerCall, quoteCall } from '../answer-call.ts'
import { type RunningCalls, startedBy } from '../running-calls.ts'
import { streamCall } from '../stream.ts'
import type { ImageCallInput, ImageDeps, ImageUseCases } from './types.ts'
import { createImageFamily, type PicturedCall } from './family.ts'
import { createFetchRooms, readyImages, type ReadyImages } from './inputs.ts'

const notFetched = () => Promise.reject(new Error('the pictures of a quote are not fetched'))

/** The synchronous image use cases. */
export function createImageUseCases(deps: ImageDeps, running: RunningCalls): ImageUseCases {
  const family = createImageFamily(deps)
  const rooms = createFetchRooms()
  /** Runs a call until it is answered or its stream began: then nothing is sent again. */
  const withPictures = async <Result>(
    input: ImageCallInput,
    work: (pictured: PicturedCall) => Promise<Result>,
  ): Promise<Result> => {
    // Also when a URL is the family's default: a caller that chose nothing still expects one.
    if (input.request.delivery === 'url') {
      if (deps.imagePlace === undefined)
        throw new DomainError(
          'image_url_not_available',
          'No object storage is configured for images',
          {},
        )
      deps.imagePlace.check()
    }
    const room = rooms.enter()
    let images: Promise<ReadyImages> | undefined
    const ready = (signal: AbortSignal) => (images ??= readyImages(deps, input, room, signal))
    try {
      return await work({ ...input, ready })
    } finally {
      room.leave()
    }
  }
  return {
    make: (input) =>
      running.run(startedBy(input), (stopped) =>
        withPictures(input, (pictured) => answerCall(deps, family, pictured, stopped)),
      ),
    stream: (input) =>
      running.run(startedBy(input), (stopped) =>
        withPictures(input, async (pictured) => {
          const { streamed, pump } = await streamCall(deps, family, pictured, stopped)
          running.watch(pump, input.principal.tokenId)
          return streamed
        }),
      ),
    quote: (input) => quoteCall(deps, family, { ...input, ready: notFetched }),
  }
}
