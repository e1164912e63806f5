import {
  type CallOptions,
  type Channel,
  type TextProvider,
  type TextRequest,
} from '../../../app/ports.ts'
import { type Exchange, type ExchangeResponse, openExchange } from '../http/exchange.ts'
import { ExchangeError } from '../http/exchange-error.ts'
import { fromExchange, malformed } from '../http/failures.ts'
import { parseFields } from '../http/fields.ts'
import { type OpenedStream, readWhole } from '../http/open-stream.ts'
import { restOf } from '../http/limit-headers.ts'
import { headerOf } from '../http/retry-after.ts'
import { createScrubber, type Scrubber, vendorWords } from '../http/scrub.ts'
import { fromTextResponse } from './errors.ts'
import { createTextStream } from './stream.ts'
import type { TextWire } from './wire.ts'

/** No unstreamed answer is larger. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** No error is larger. */
const MAX_ERROR_BYTES = 256 * 1024
export const DEFAULT_FIRST_BYTE_TIMEOUT_MS = 60_000
export const DEFAULT_IDLE_TIMEOUT_MS = 60_000
const FAILED_MESSAGE = 'The model service refused the request.'

/** A channel's connections, and what is the same for all its calls. */
interface Line {
  readonly exchange: Exchange
  readonly basePath: string
  readonly scrub: Scrubber
  readonly headers: Readonly<Record<string, string>>
}

/** The adapter of a text family; one connection pool per channel. */
export function createTextProvider(
  wire: TextWire,
): TextProvider & { readonly close: () => Promise<void> } {
  const lines = new Map<string, Line>()
  const lineOf = (channel: Channel): Line => {
    const key = `${channel.id}\n${channel.baseUrl}`
    const known = lines.get(key)
    if (known !== undefined) return known
    const opened = openLine(channel, wire)
    lines.set(key, opened)
    return opened
  }
  return {
    family: wire.family,
    complete: async (channel, request, options) => {
      const line = lineOf(channel)
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
      const body = parseFields(response.text)
      const answer = body && wire.readAnswer(body, request, line.scrub)
      if (answer === undefined) throw malformed()
      return { ...answer, ...headOf(response.headers) }
    },
    stream: async (channel, request, options) => {
      const line = lineOf(channel)
      const opened = await openLineStream(line, wire, { channel, request, options })
      const reader = wire.frameReader(request, line.scrub)
      return createTextStream(opened, reader, headOf(opened.headers))
    },
    close: async () => {
      const open = [...lines.values()]
      lines.clear()
      await Promise.all(open.map((line) => line.exchange.close()))
    },
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
  return fromTextResponse(response, wire.readError(body), scrub)
}

function rethrow(error: unknown): never {
  throw error instanceof ExchangeError ? fromExchange(error) : error
}

function headersOf(line: Line, options: CallOptions, accept: string): Record<string, string> {
  return { ...line.headers, accept, 'x-client-request-id': options.requestId }
}

function openLine(channel: Channel, wire: TextWire): Line {
  const url = new URL(channel.baseUrl)
  return {
    exchange: openExchange(url.origin, channel.maxConcurrent),
    basePath: url.pathname.replace(/\/+$/, ''),
    headers: { ...wire.credentialHeaders(channel), 'content-type': 'application/json' },
    scrub: createScrubber({
      modelNames: Object.fromEntries(
        Object.entries(channel.models).map(([external, upstream]) => [upstream, external]),
      ),
      words: vendorWords(channel.baseUrl, Object.values(channel.models), channel.redactWords),
      fallback: FAILED_MESSAGE,
    }),
  }
}
