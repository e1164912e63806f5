import { isJsonObject } from '../../../kernel/json.ts'
import { withExactIntegers } from '../../../kernel/exact-integers.ts'
import type { CallOptions, Channel } from '../../../app/ports/provider.ts'
import { readPlainError } from '../../kit/http/error-bodies.ts'
import { bearerHeaders, createConnections } from '../../kit/http/connections.ts'
import { objectsOf, parseJson } from '../../kit/http/fields.ts'
import { refusal, rethrow } from '../../kit/http/open-events.ts'
import { isSuccess, malformed } from '../../kit/http/refusals.ts'
import type { KeptResponseProvider } from '../ports.ts'
import { responseView, toolCounts } from './convert.ts'

/** Nothing is made, so no answer takes long. */
const TIMEOUT_MS = 30_000
/** A response repeats the instructions of its request. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024
/** Sockets of a channel for these requests, so that calls have the others. */
const CONNECTIONS = 4

/** The adapter of kept responses; one connection pool per channel. */
export function createKeptResponseProvider(): KeptResponseProvider & {
  readonly close: () => Promise<void>
} {
  const lines = createConnections({ headers: bearerHeaders, connections: () => CONNECTIONS })
  /** Undefined where upstream has no such response. */
  const ask = async (
    method: 'GET' | 'DELETE',
    channel: Channel,
    upstreamId: string,
    { signal, requestId }: CallOptions,
  ) => {
    const line = lines.of(channel)
    const response = await line.exchange
      .request({
        method,
        path: `${line.basePath}/responses/${encodeURIComponent(upstreamId)}`,
        headers: {
          ...line.headers,
          accept: 'application/json',
          'x-client-request-id': requestId,
        },
        timeoutMs: Math.min(TIMEOUT_MS, channel.timeoutMs),
        signal,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      })
      .catch(rethrow)
    if (response.statusCode === 404) return undefined
    if (!isSuccess(response.statusCode)) throw refusal(response, readPlainError, line)
    const { text } = response
    return { body: parseJson(text), text, scrub: line.scrub }
  }
  return {
    get: async (channel, upstreamId, namesOf, options) => {
      const found = await ask('GET', channel, upstreamId, options)
      if (found === undefined) return undefined
      const { body, text, scrub } = found
      if (!isJsonObject(body) || body['id'] !== upstreamId) throw malformed()
      const tools = toolCounts(objectsOf(body['output']))
      return responseView(withExactIntegers(body, text), namesOf(body), tools, scrub)
    },
    delete: async (channel, upstreamId, options) =>
      (await ask('DELETE', channel, upstreamId, options)) !== undefined,
    close: () => lines.close(),
  }
}
