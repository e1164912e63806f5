import type {
  ImageAnswer,
  ImageCall,
  ImageEvent,
  ImageItem,
  ImageProvider,
  ImageStream,
  ImageTally,
} from '../../../app/ports/images.ts'
import type { CallOptions, ProviderError } from '../../../app/ports/provider.ts'
import type { ExchangeResponse } from '../http/exchange.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { ParsedJson } from '../../../kernel/long-strings.ts'
import { beginFrameStream, type FrameReader } from '../http/frame-stream.ts'
import { type BodyInPieces, mediaPatience, parseMedia, sentJson } from '../http/json.ts'
import { MAX_PICTURE_BYTES } from '../../../app/ports/images.ts'
import {
  createConnections,
  type ChannelConnection,
  type CredentialHeaders,
} from '../http/connections.ts'
import { type Scrubber } from '../http/scrubber.ts'
import { openEvents, refusal, rethrow } from '../http/open-events.ts'
import { fromResponse, headOf, isSuccess, malformed, type UpstreamError } from '../http/refusals.ts'

/** No answer is larger: ten of the largest pictures as base64. */
const MAX_ANSWER_BYTES = 192 * 1024 * 1024

/** The largest picture that callers get, as base64 in a frame, and the pictures of a stream. */
const FRAME_BOUNDS = {
  maxFrameLength: Math.ceil((MAX_PICTURE_BYTES * 4) / 3) + 1024 * 1024,
  maxBytes: 2 * 1024 * 1024 * 1024,
}

/** The adapter of a family of images; one connection pool per channel. */
export function createImageProvider(
  wire: ImageWire,
): ImageProvider & { readonly close: () => Promise<void> } {
  const lines = createConnections({
    headers: wire.credentialHeaders,
    connections: ({ maxConcurrent }) => maxConcurrent,
  })
  const { frameReader } = wire
  const make: ImageProvider['make'] = async (channel, call, options) => {
    const line = lines.of(channel)
    const request = requestOf(wire, line, call, options)
    const response = await line.exchange
      .request({
        ...request,
        method: 'POST',
        headers: { ...request.headers, accept: 'application/json' },
        timeoutMs: channel.timeoutMs,
        maxResponseBytes: MAX_ANSWER_BYTES,
      })
      .catch(rethrow)
    if (!isSuccess(response.statusCode)) throw refusal(response, wire.readError, line)
    const { value, rawStringOf } = parseMedia(response.pieces)
    const read = isJsonObject(value) ? wire.readAnswer(value, call, line.scrub) : undefined
    if (read === undefined) throw notMade(wire, line, response, value)
    const items = read.items.map((item) => withBytes(item, rawStringOf))
    return { ...read, ...headOf(response.headers), items }
  }
  return {
    family: wire.family,
    make,
    stream:
      frameReader &&
      (async (channel, call, options) => {
        const streamOf = wire.streamOfWhole?.(call)
        if (streamOf !== undefined) return streamOf(await make(channel, call, options))
        const line = lines.of(channel)
        const request = requestOf(wire, line, call, options)
        const opened = await openEvents(
          line,
          {
            ...request,
            headers: { ...request.headers, accept: 'text/event-stream' },
            ...mediaPatience(channel),
          },
          wire.readError,
        )
        const reader = frameReader(call, line.scrub)
        return beginFrameStream(opened, reader, headOf(opened.headers), FRAME_BOUNDS)
      }),
    close: () => lines.close(),
  }
}

/** A success without a result: a refusal, if it has the envelope of one. */
function notMade(
  { readError }: ImageWire,
  { scrub }: ChannelConnection,
  response: ExchangeResponse,
  body: unknown,
): ProviderError {
  const error = readError(body)
  return error === undefined ? malformed() : fromResponse(response, error, scrub)
}

function withBytes(item: ImageItem, rawStringOf: ParsedJson['rawStringOf']): ImageItem {
  if (!('picture' in item) || !('base64' in item.picture)) return item
  const base64 = rawStringOf(String(item.picture.base64))
  return base64 === undefined ? item : { ...item, picture: { base64 } }
}

function requestOf(
  wire: ImageWire,
  line: ChannelConnection,
  call: ImageCall,
  options: CallOptions,
) {
  const { path, body } = wire.request(call)
  const sent = sentJson(body)
  return {
    path: `${line.basePath}${path}`,
    headers: { ...line.headers, ...sent.headers, 'x-client-request-id': options.requestId },
    body: sent.body,
    signal: options.signal,
    ...(options.once === true ? {} : ({ repeatable: true } as const)),
  }
}

/** The wire of one family of images; everything else is the same for all of them. */
export interface ImageWire {
  readonly family: string
  readonly credentialHeaders: CredentialHeaders
  /** Path below the channel's base URL, and the request to it. */
  readonly request: (call: ImageCall) => {
    readonly path: string
    readonly body: JsonObject | BodyInPieces
  }
  /** The error envelope of a body, with a code that callers know; undefined for any other body. */
  readonly readError: (body: unknown) => UpstreamError | undefined
  /** A 2xx; undefined when it is no answer of this wire. */
  readonly readAnswer: (
    body: JsonObject,
    call: ImageCall,
    scrub: Scrubber,
  ) => Omit<ImageAnswer, 'upstreamRequestId' | 'restMs'> | undefined
  /** Follows one stream, where the family streams: `request` asks for one when the call does. */
  readonly frameReader?: (call: ImageCall, scrub: Scrubber) => FrameReader<ImageEvent, ImageTally>
  /** Makes the stream of a call that upstream answers as a whole; undefined: upstream streams it. */
  readonly streamOfWhole?: (call: ImageCall) => ((answer: ImageAnswer) => ImageStream) | undefined
}
