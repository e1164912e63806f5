import { type ImageSeen, imageCallRules } from '../../../domain/catalog/image-rules.ts'
import { invariant } from '../../../kernel/assert.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { Channel } from '../../ports/provider.ts'
import type {
  ImageAnswer,
  ImageCall,
  ImageFrame,
  ImageProvider,
  ImageTally,
} from '../../ports/images.ts'
import type { CallFamily, StreamFamily, WholeAnswer } from '../family.ts'
import { refusalOf } from '../../channels/refusal.ts'
import { checkImageCount, deliver, type DeliveryRoute, noImageUrl } from './deliver.ts'
import { createFetchRooms, type FetchRoom, readyImages, type ReadyImages } from './inputs.ts'
import type { ImageCallInput, ImageDeps } from './types.ts'
import { type DeliveredEvent, deliveredStream } from './stream.ts'

/** The pictures of one call, fetched once for all channels that are asked. */
interface Pictures {
  /** Fetches them on the first call. */
  readonly ready: (signal: AbortSignal) => Promise<ReadyImages>
  readonly room: FetchRoom
}

/** Read for a disconnected caller: as much as an unstreamed answer may have. */
const MAX_STREAM_BYTES = 192 << 20
/** UTF-16 units: the last picture of a stream in base64, with room for more. */
const MAX_WITHHELD_BYTES = 192 << 20

/**
 * The family of image calls, whole or streamed. Domain error codes in addition to those of calls:
 * `n_not_supported`, `image_too_large`, `image_url_not_available`, `content_policy_violation`,
 * `suspected_black_image`, `no_image_generated` (details: usage, where the input was billed).
 */
export type ImageCallFamily = CallFamily<ImageCallInput, Pictures, ImageSeen, JsonObject> &
  StreamFamily<ImageCallInput, Pictures, ImageTally, DeliveredEvent, ImageFrame>

export function createImageFamily(deps: ImageDeps): ImageCallFamily {
  const rooms = createFetchRooms()
  return {
    resolve: (input, serving) => {
      const { family, model, request } = input
      const { count, facts } = request
      checkImageCount(model, count, serving)
      const rules = deps.catalog.imageFamilyOf(model)
      invariant(rules, `the order was read by its family: ${model}`)
      const priced = imageCallRules(rules)
      return {
        request: picturesOf(deps, input, rooms.enter()),
        checkDelivery: () => {
          // Refused even where a URL is the family's default: a caller that sent no format expects one.
          if (request.delivery !== 'url') return
          if (deps.imagePlace === undefined) throw noImageUrl()
          deps.imagePlace.check()
        },
        channelQuery: { family, model, imageCount: count },
        expectedTokens: () => priced.expectedTokens({ model, facts }),
        price: (book) => priced.price({ model, facts }, book),
      }
    },
    prepare: async ({ ready, room }, { signal }) => {
      try {
        await ready(signal)
        return room.leave
      } catch (error) {
        room.leave()
        throw error
      }
    },
    ask: async (input, channel, { ready }, options) => {
      const call = callAt(input, channel, await ready(options.signal))
      const answer = await providerOf(deps, input).make(channel, call, options)
      const way = wayOf(deps, input, channel, options.signal)
      return wholeAnswer(deps, way, input, answer)
    },
    open: async (input, channel, { ready }, options) => {
      const { stream } = providerOf(deps, input)
      invariant(stream, `${input.family} streams what it reads as a stream`)
      const call = callAt(input, channel, await ready(options.signal))
      const source = await stream(channel, call, options)
      const way = wayOf(deps, input, channel, options.signal)
      return deliveredStream(deps, way, source)
    },
    // A caller that disconnects does not shorten the work upstream: the stream ends like a whole
    // answer.
    boundsOf: ({ timeoutMs }) => ({
      drainTimeoutMs: timeoutMs,
      drainMaxBytes: MAX_STREAM_BYTES,
      maxWithheldBytes: MAX_WITHHELD_BYTES,
    }),
    frameOf: ({ event, data }) => ({ event, data }),
    refusal: (error, callId) =>
      error.code === 'content_policy_violation'
        ? new DomainError('content_policy_violation', error.message, { callId })
        : refusalOf(error, callId),
  }
}

function picturesOf(
  deps: ImageDeps,
  { principal, request }: Pick<ImageCallInput, 'principal' | 'request'>,
  room: FetchRoom,
): Pictures {
  let images: Promise<ReadyImages> | undefined
  return {
    ready: (signal) => (images ??= readyImages(deps, { principal, request }, room, signal)),
    room,
  }
}

function providerOf(
  { providers }: Pick<ImageDeps, 'providers'>,
  { family }: ImageCallInput,
): ImageProvider {
  const provider = providers.get(family)
  invariant(provider, `every family of images has a provider: ${family}`)
  return provider
}

/** The gateway waits for a store at most as long as for the channel. */
function wayOf(
  { imagePlace }: Pick<ImageDeps, 'imagePlace'>,
  { request }: ImageCallInput,
  channel: Channel,
  signal: AbortSignal,
): DeliveryRoute {
  const keepImage = imagePlace?.open(channel.timeoutMs)
  return { delivery: request.delivery, channel, signal, keepImage }
}

/** The request to one channel. */
function callAt({ model }: ImageCallInput, channel: Channel, images: ReadyImages): ImageCall {
  return { ...images, upstreamModel: channel.models[model] ?? model }
}

function wholeAnswer(
  deps: ImageDeps,
  way: DeliveryRoute,
  { model }: ImageCallInput,
  answer: ImageAnswer,
): WholeAnswer<ImageSeen, JsonObject> {
  const { upstreamRequestId, restMs, seen, failure } = answer
  const head = { upstreamRequestId, restMs, seen }
  const nowS = Math.floor(deps.clock.nowMs() / 1_000)
  const settlesEach = deps.catalog.imageFamilyOf(model)?.settlesEach === true
  let settled = seen
  const body = async (): Promise<JsonObject> => {
    const delivered = await deliver(deps, way, answer, { settlesEach, nowS })
    settled = delivered.seen
    return delivered.body
  }
  if (failure === undefined) return { ...head, delivered: () => settled, failed: undefined, body }
  const { code, message, isBilled } = failure
  const details = isBilled ? { usage: answer.shown['usage'] } : {}
  const refusal = new DomainError(code, message, details)
  return { ...head, failed: isBilled ? undefined : code, refusal, body }
}
