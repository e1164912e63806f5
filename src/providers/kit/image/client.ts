import type { CallOptions, Channel, ImageCall, ImageProvider } from '../../../app/ports.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { BodyInPieces } from '../http/body-in-pieces.ts'
import { malformed } from '../http/failures.ts'
import { parseObject } from '../http/fields.ts'
import { createFrameStream } from '../http/frame-stream.ts'
import { headOf } from '../http/limit-headers.ts'
import { createLines, type Line } from '../http/lines.ts'
import { openEvents, refusal, rethrow } from '../http/open-events.ts'
import type { ImageWire } from './wire.ts'

/** No answer is larger: ten of the largest pictures as base64. */
const MAX_ANSWER_BYTES = 192 * 1024 * 1024

/** The adapter of a family of images; one connection pool per channel. */
export function createImageProvider(
  wire: ImageWire,
): ImageProvider & { readonly close: () => Promise<void> } {
  const lines = createLines({
    headers: wire.credentialHeaders,
    connections: ({ maxConcurrent }) => maxConcurrent,
  })
  const { frameReader } = wire
  return {
    family: wire.family,
    make: async (channel, call, options) => {
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
      if (response.statusCode !== 200) throw refusal(response, wire.readError, line)
      const answered = parseObject(response.text)
      const read = answered && wire.readAnswer(answered, call, line.scrub)
      if (read === undefined) throw malformed()
      return { ...read, ...headOf(response.headers) }
    },
    stream:
      frameReader &&
      (async (channel, call, options) => {
        const line = lines.of(channel)
        const request = requestOf(wire, line, call, options)
        const opened = await openEvents(
          line,
          {
            ...request,
            headers: { ...request.headers, accept: 'text/event-stream' },
            ...patience(channel),
          },
          wire.readError,
        )
        return createFrameStream(opened, frameReader(call, line.scrub), headOf(opened.headers))
      }),
    close: () => lines.close(),
  }
}

/** The head of a stream may only come with its first picture, and that takes as long as a whole answer may. */
function patience({ timeoutMs }: Channel) {
  return { firstByteTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs }
}

function requestOf(wire: ImageWire, line: Line, call: ImageCall, options: CallOptions) {
  const { path, body } = wire.request(call)
  const sent = bodyOf(body)
  return {
    path: `${line.basePath}${path}`,
    headers: { ...line.headers, ...sent.headers, 'x-client-request-id': options.requestId },
    body: sent.body,
    signal: options.signal,
  }
}

function bodyOf(body: JsonObject | BodyInPieces) {
  if (!(body instanceof BodyInPieces))
    return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return {
    headers: { 'content-type': body.contentType, 'content-length': String(body.lengthBytes) },
    body: body.pieces,
  }
}
