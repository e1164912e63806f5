import {
  type CallOptions,
  type Channel,
  type TextProvider,
  type TextRequest,
} from '../../../app/ports.ts'
import type { ExchangeResponse } from '../http/exchange.ts'
import { ExchangeError } from '../http/exchange-error.ts'
import { fromExchange, malformed } from '../http/failures.ts'
import { parseObject } from '../http/fields.ts'
import { type OpenedStream, readWhole } from '../http/open-stream.ts'
import { createLines, type Line } from '../http/lines.ts'
import { restOf } from '../http/limit-headers.ts'
import { headerOf } from '../http/retry-after.ts'
import type { Scrubber } from '../http/scrub.ts'
import { fromResponse } from '../http/refusals.ts'
import { createTextStream } from './stream.ts'
import type { TextWire } from './wire.ts'

/** No unstreamed answer is larger. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** No error is larger. */
const MAX_ERROR_BYTES = 256 * 1024
const DEFAULT_FIRST_BYTE_TIMEOUT_MS = 60_000
const DEFAULT_IDLE_TIMEOUT_MS = 60_000

/** The adapter of a text family; one connection pool per channel. */
export function createTextProvider(
  wire: TextWire,
): TextProvider & { readonly close: () => Promise<void> } {
  const lines = createLines({
    headers: (channel) => ({
      ...wire.credentialHeaders(channel),
      'content-type': 'application/json',
    }),
    connections: ({ maxConcurrent }) => maxConcurrent,
  })
  return {
    family: wire.family,
    complete: async (channel, request, options) => {
      const line = lines.of(channel)
      const response = await line.exchange
        .request({
          method: 'POST',
          path: `${line.basePath}${wire.path(request, false)}`,
          headers: headersOf(line, options, 'application/json'),
          body: wire.requestBody(request, false),
          timeoutMs: channel.timeoutMs,
          signal: options.signal,
          maxResponseBytes: MAX_ANSWER_BYTES,
        })
        .catch(rethrow)
      if (response.statusCode !== 200) throw refusal(wire, response, line.scrub)
      const body = parseObject(response.text)
      const answer = body && wire.readAnswer(body, request, line.scrub)
      if (answer === undefined) throw malformed()
      return { ...answer, ...headOf(response.headers) }
    },
    stream: async (channel, request, options) => {
      const line = lines.of(channel)
      const opened = await openLineStream(line, wire, { channel, request, options })
      const reader = wire.frameReader(request, line.scrub)
      return createTextStream(opened, reader, headOf(opened.headers))
    },
    close: () => lines.close(),
  }
}

/** Opens a stream and makes sure that it is one. @throws ProviderError */
async function openLineStream(
  line: Line,
  wire: TextWire,
  call: { readonly channel: Channel; readonly request: TextRequest; readonly options: CallOptions },
): Promise<OpenedStream> {
  const { text } = call.channel
  const opened = await line.exchange
    .open({
      path: `${line.basePath}${wire.path(call.request, true)}`,
      headers: headersOf(line, call.options, 'text/event-stream'),
      body: wire.requestBody(call.request, true),
      firstByteTimeoutMs: text?.firstByteTimeoutMs ?? DEFAULT_FIRST_BYTE_TIMEOUT_MS,
      idleTimeoutMs: text?.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
      signal: call.options.signal,
    })
    .catch(rethrow)
  const type = headerOf(opened.headers, 'content-type') ?? ''
  if (opened.statusCode === 200 && type.startsWith('text/event-stream')) return opened
  const text200 = await readWhole(opened, MAX_ERROR_BYTES).catch(rethrow)
  throw refusal(wire, { ...opened, text: text200 }, line.scrub)
}

/** What the head of an answer says beside the answer. */
function headOf(headers: ExchangeResponse['headers']) {
  return { upstreamRequestId: headerOf(headers, 'x-request-id'), restMs: restOf(headers) }
}

function refusal(
  wire: TextWire,
  response: Pick<ExchangeResponse, 'statusCode' | 'headers' | 'text'>,
  scrub: Scrubber,
): Error {
  let body: unknown
  try {
    body = JSON.parse(response.text)
  } catch {
    body = undefined
  }
  return fromResponse(response, wire.readError(body), scrub)
}

function rethrow(error: unknown): never {
  throw error instanceof ExchangeError ? fromExchange(error) : error
}

function headersOf(line: Line, options: CallOptions, accept: string): Record<string, string> {
  return { ...line.headers, accept, 'x-client-request-id': options.requestId }
}
