import { Buffer } from 'node:buffer'
import { bearerHeaders, createConnections } from '../../kit/http/connections.ts'
import { readPlainError } from '../../kit/http/error-bodies.ts'
import type { ExchangeResponse } from '../../kit/http/exchange.ts'
import { parseJson } from '../../kit/http/fields.ts'
import { refusal, rethrow } from '../../kit/http/open-events.ts'
import { fromResponse, headerOf, headOf, isSuccess, malformed } from '../../kit/http/refusals.ts'
import type { AudioProvider } from '../ports.ts'

const PATH = '/audio/speech'
/** No audio is larger: ten thousand characters, spoken slowly, without compression. */
const MAX_AUDIO_BYTES = 192 * 1024 * 1024
/** No text that stands in the place of audio is larger. */
const MAX_TEXT_BYTES = 256 * 1024
const TEXT_TYPE = /^text\/|[/+](?:json|xml|html)\b/i
const PAGE = /^\s*<(?:!doctype|html|\?xml)/i
/** Characters of an answer in which the start of a page shows. */
const START = 1_024

/** The adapter of servers that answer audio; one connection pool per channel. */
export function createAudioProvider(): AudioProvider & { readonly close: () => Promise<void> } {
  const lines = createConnections({
    headers: (channel) => ({ ...bearerHeaders(channel), 'content-type': 'application/json' }),
    connections: ({ maxConcurrent }) => maxConcurrent,
  })
  return {
    speak: async (channel, { upstreamModel, body }, { signal, requestId }) => {
      const line = lines.of(channel)
      const response = await line.exchange
        .request({
          method: 'POST',
          path: `${line.basePath}${PATH}`,
          headers: { ...line.headers, accept: 'audio/*, */*', 'x-client-request-id': requestId },
          body: JSON.stringify({ model: upstreamModel, ...body }),
          timeoutMs: channel.timeoutMs,
          signal,
          maxResponseBytes: MAX_AUDIO_BYTES,
          repeatable: true,
        })
        .catch(rethrow)
      if (!isSuccess(response.statusCode)) throw refusal(response, readPlainError, line)
      const bytes = Buffer.concat(response.pieces)
      // Relays answer failures with 200 as well.
      const error = bytes.length > MAX_TEXT_BYTES ? undefined : readPlainError(jsonOf(bytes))
      if (error !== undefined) throw fromResponse(response, error, line.scrub)
      if (!isAudio(bytes, response.headers)) throw malformed()
      return { ...headOf(response.headers), bytes }
    },
    close: () => lines.close(),
  }
}

function jsonOf(bytes: Buffer): unknown {
  return parseJson(bytes.toString('utf8'))
}

/** Whether an answer can be audio: it is not empty, no JSON and no page. */
function isAudio(bytes: Buffer, headers: ExchangeResponse['headers']): boolean {
  if (bytes.length === 0 || TEXT_TYPE.test(headerOf(headers, 'content-type') ?? '')) return false
  if (PAGE.test(bytes.toString('latin1', 0, START))) return false
  return bytes.length > MAX_TEXT_BYTES || jsonOf(bytes) === undefined
}
