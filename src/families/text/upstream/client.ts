import type { CallOptions } from '../../../app/ports/provider.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { JsonParts } from '../../../kernel/json-text.ts'
import { parseJson } from '../../kit/http/fields.ts'
import {
  beginFrameStream,
  type FrameBounds,
  type FrameReader,
} from '../../kit/http/frame-stream.ts'
import {
  createConnections,
  type ChannelConnection,
  type CredentialHeaders,
} from '../../kit/http/connections.ts'
import { type Scrubber } from '../../kit/http/scrubber.ts'
import { sentInTurns } from '../../kit/http/json.ts'
import { openEvents, refusal, rethrow } from '../../kit/http/open-events.ts'
import {
  headOf,
  type HeadNames,
  isSuccess,
  malformed,
  type UpstreamError,
} from '../../kit/http/refusals.ts'
import type { TextAnswer, TextChunk, TextProvider, TextRequest, TextTally } from '../ports.ts'
import {
  frameBounds,
  isBeyond,
  type LargestAnswer,
  largestAnswerBytes,
} from '../rules/answer-size.ts'
import { textSettings } from '../settings.ts'

const DEFAULT_FIRST_BYTE_TIMEOUT_MS = 60_000
const DEFAULT_IDLE_TIMEOUT_MS = 60_000

/** The adapter of a text family; one connection pool per channel. */
export function createTextProvider(
  wire: TextWire,
): TextProvider & { readonly close: () => Promise<void> } {
  const headersOf = headersBy(wire)
  const lines = createConnections({
    headers: wire.credentialHeaders,
    members: wire.members,
    connections: ({ maxConcurrent }) => maxConcurrent,
  })
  return {
    complete: async (channel, request, options) => {
      const line = lines.of(channel)
      const sent = await sentInTurns(wire.requestBody(request, false))
      const response = await line.exchange
        .request({
          method: 'POST',
          path: `${line.basePath}${wire.path(request, false)}`,
          headers: { ...headersOf(line, request, options, 'application/json'), ...sent.headers },
          body: sent.body,
          timeoutMs: channel.timeoutMs,
          signal: options.signal,
          repeatable: true,
          maxResponseBytes: largestAnswerBytes(request.largest, lengthOf(sent)),
        })
        .catch(rethrow)
      const parsed = parseJson(response.text)
      // Relays answer failures with 200 as well.
      if (wire.readError(parsed) !== undefined || !isSuccess(response.statusCode))
        throw refusal(response, wire.readError, line)
      const answer = isJsonObject(parsed)
        ? wire.readAnswer(parsed, request, line.scrub, response.text)
        : undefined
      if (answer === undefined) throw malformed()
      const { upstreamId, ...rest } = answer
      const { upstreamRequestId = upstreamId, restMs } = headOf(response.headers, wire.head)
      return { ...rest, upstreamRequestId, restMs }
    },
    stream: async (channel, request, options) => {
      const line = lines.of(channel)
      const settings = textSettings(channel)
      const sent = await sentInTurns(wire.requestBody(request, true))
      const opened = await openEvents(
        line,
        {
          path: `${line.basePath}${wire.path(request, true)}`,
          headers: { ...headersOf(line, request, options, 'text/event-stream'), ...sent.headers },
          body: sent.body,
          firstByteTimeoutMs: settings.firstByteTimeoutMs ?? DEFAULT_FIRST_BYTE_TIMEOUT_MS,
          idleTimeoutMs: settings.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
          signal: options.signal,
          repeatable: true,
        },
        wire.readError,
      )
      const reader = wire.frameReader(request, line.scrub)
      const head = headOf(opened.headers, wire.head)
      return beginFrameStream(opened, reader, head, streamBounds(request.largest, lengthOf(sent)))
    },
    close: () => lines.close(),
  }
}

function streamBounds(largest: LargestAnswer, requestLength: number): FrameBounds<TextTally> {
  return {
    ...frameBounds(largest, requestLength),
    isBeyond: ({ output }) => isBeyond(largest, output()),
  }
}

/** Characters of a body, or bytes where it is sent in pieces. */
function lengthOf({ headers, body }: Awaited<ReturnType<typeof sentInTurns>>): number {
  return typeof body === 'string' ? body.length : Number(headers['content-length'])
}

/** Writes the headers of requests. */
export function headersBy({ usualHeaders }: TextWire) {
  return (
    line: ChannelConnection,
    request: TextRequest,
    options: CallOptions,
    accept: string,
  ): Record<string, string> => ({
    ...usualHeaders?.(request),
    ...request.headers,
    ...line.headers,
    accept,
    'x-client-request-id': options.requestId,
  })
}

/** An unstreamed answer, as its text says. */
interface ReadAnswer extends Pick<TextAnswer, 'body' | 'tally'> {
  /** Upstream's id of it, where callers get another; used where no header names one. */
  readonly upstreamId?: string | undefined
}

/** The request by which a wire counts the tokens of a prompt. */
interface WireCount {
  /** The path below the channel's base URL. */
  readonly path: (request: TextRequest) => string
  readonly body: (request: TextRequest) => JsonObject | JsonParts
  /** The member of an answer that has the figure. */
  readonly figure: string
}

/** The wire of one text family; everything else is the same for all of them. */
export interface TextWire {
  readonly credentialHeaders: CredentialHeaders
  /** The headers of its answers, where they have other names than on most wires. */
  readonly head?: HeadNames
  /** Headers of requests whose caller sends none of these names. */
  readonly usualHeaders?: (request: TextRequest) => Readonly<Record<string, string>>
  /** The outermost members of its requests: messages of a provider say by them what is at fault. */
  readonly members: readonly string[]
  /** The path below the channel's base URL. */
  readonly path: (request: TextRequest, streamed: boolean) => string
  readonly requestBody: (request: TextRequest, streamed: boolean) => JsonObject | JsonParts
  /** The error of a body that has no result, whatever its status; undefined for any other. */
  readonly readError: (body: unknown) => UpstreamError | undefined
  /** An unstreamed 2xx, and its text; undefined when it is no answer of this wire. */
  readonly readAnswer: (
    body: JsonObject,
    request: TextRequest,
    scrub: Scrubber,
    text: string,
  ) => ReadAnswer | undefined
  readonly frameReader: (request: TextRequest, scrub: Scrubber) => TextReader
  /** Absent: its providers count no tokens before a call. */
  readonly count?: WireCount
}

/** A wire whose providers count the tokens of a prompt before a call. */
export type CountingWire = TextWire & Required<Pick<TextWire, 'count'>>

/** Follows one stream of text frame by frame. */
export type TextReader = FrameReader<TextChunk, TextTally>
