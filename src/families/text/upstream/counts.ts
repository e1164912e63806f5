import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { withExactIntegers } from '../../../kernel/exact-integers.ts'
import { createConnections } from '../../kit/http/connections.ts'
import { parseJson } from '../../kit/http/fields.ts'
import { sentInTurns } from '../../kit/http/json.ts'
import { refusal, rethrow } from '../../kit/http/open-events.ts'
import { isSuccess, malformed } from '../../kit/http/refusals.ts'
import { MAX_COUNTS_PER_CHANNEL, type TextRequest, type TokenCounter } from '../ports.ts'
import { type CountingWire, headersBy } from './client.ts'

/** An answer has a few figures. */
const MAX_RESPONSE_BYTES = 64 * 1024

/** The adapter that counts tokens; its connections are its own, so that counts take none from calls. */
export function createTokenCounter(
  wire: CountingWire,
): TokenCounter & { readonly close: () => Promise<void> } {
  const { count, readError } = wire
  const headersOf = headersBy(wire)
  const lines = createConnections({
    headers: wire.credentialHeaders,
    members: wire.members,
    connections: () => MAX_COUNTS_PER_CHANNEL,
  })
  return {
    count: async (channel, request, options) => {
      const line = lines.of(channel)
      const sent = await sentInTurns(count.body(request))
      const response = await line.exchange
        .request({
          method: 'POST',
          path: `${line.basePath}${count.path(request)}`,
          headers: { ...headersOf(line, request, options, 'application/json'), ...sent.headers },
          body: sent.body,
          timeoutMs: options.timeoutMs,
          signal: options.signal,
          repeatable: true,
          maxResponseBytes: MAX_RESPONSE_BYTES,
        })
        .catch(rethrow)
      const { text, statusCode } = response
      const body = parseJson(text)
      if (!isSuccess(statusCode) || readError(body) !== undefined)
        throw refusal(response, readError, line)
      if (!isJsonObject(body) || countOf(body[count.figure]) === undefined) throw malformed()
      return shown(withExactIntegers(body, text), request)
    },
    close: () => lines.close(),
  }
}

/** Nothing is kept of a count, so an id in its answer is the provider's own. */
function shown({ id: _id, ...figures }: JsonObject, { model }: TextRequest): JsonObject {
  return 'model' in figures ? { ...figures, model } : figures
}
