import type { ImageProvider } from '../../../app/ports.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { BodyInPieces } from '../http/body-in-pieces.ts'
import { ExchangeError } from '../http/exchange-error.ts'
import { fromExchange, malformed } from '../http/failures.ts'
import { parseJson, parseObject } from '../http/fields.ts'
import { restOf } from '../http/limit-headers.ts'
import { createLines } from '../http/lines.ts'
import { fromResponse } from '../http/refusals.ts'
import { headerOf } from '../http/retry-after.ts'
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
  return {
    family: wire.family,
    make: async (channel, call, { signal, requestId }) => {
      const line = lines.of(channel)
      const { path, body } = wire.request(call)
      const sent = bodyOf(body)
      const response = await line.exchange
        .request({
          method: 'POST',
          path: `${line.basePath}${path}`,
          headers: {
            ...line.headers,
            ...sent.headers,
            accept: 'application/json',
            'x-client-request-id': requestId,
          },
          body: sent.body,
          timeoutMs: channel.timeoutMs,
          signal,
          maxResponseBytes: MAX_ANSWER_BYTES,
        })
        .catch((error: unknown) => {
          throw error instanceof ExchangeError ? fromExchange(error) : error
        })
      if (response.statusCode !== 200)
        throw fromResponse(response, wire.readError(parseJson(response.text)), line.scrub)
      const answered = parseObject(response.text)
      const read = answered && wire.readAnswer(answered, call, line.scrub)
      if (read === undefined) throw malformed()
      return {
        ...read,
        upstreamRequestId: headerOf(response.headers, 'x-request-id'),
        restMs: restOf(response.headers),
      }
    },
    close: () => lines.close(),
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
