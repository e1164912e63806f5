import type { SpeechAnswer, SpeechCall, SpeechProvider } from '../../../app/speech-ports.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { bearerHeaders } from '../../kit/http/credential.ts'
import { malformed } from '../../kit/http/failures.ts'
import { objectOf, parseJson, textOf, upstreamIdOf } from '../../kit/http/fields.ts'
import { createFrameStream } from '../../kit/http/frame-stream.ts'
import { restOf } from '../../kit/http/limit-headers.ts'
import { createLines, type Line } from '../../kit/http/lines.ts'
import type { LiftedJson } from '../../../kernel/long-strings.ts'
import { mediaPatience, parseMedia } from '../../kit/http/media-answer.ts'
import { rethrow } from '../../kit/http/open-events.ts'
import { readWhole } from '../../kit/http/open-stream.ts'
import { headerOf } from '../../kit/http/retry-after.ts'
import { seenOf, shownOf } from './answer.ts'
import { refusalIn } from './errors.ts'
import { speechFrameReader } from './frames.ts'

const SPEECH_PATH = '/v1/t2a_v2'
/** The longest text, unpacked, in hexadecimal. */
const MAX_ANSWER_BYTES = 192 * 1024 * 1024
const MAX_FRAME_LENGTH = 192 * 1024 * 1024
/** No refusal is larger. */
const MAX_ERROR_BYTES = 256 * 1024

/** The adapter of speech that is answered at once; one connection pool per channel. */
export function createSpeechProvider(): SpeechProvider & { readonly close: () => Promise<void> } {
  const lines = createLines({
    headers: (channel) => ({ ...bearerHeaders(channel), 'content-type': 'application/json' }),
    connections: ({ maxConcurrent }) => maxConcurrent,
  })
  return {
    speak: async (channel, call, { signal, requestId }) => {
      const line = lines.of(channel)
      const response = await line.exchange
        .request({
          method: 'POST',
          ...sentOf(line, call, requestId, 'application/json'),
          timeoutMs: channel.timeoutMs,
          signal,
          maxResponseBytes: MAX_ANSWER_BYTES,
        })
        .catch(rethrow)
      if (response.statusCode !== 200)
        throw refusalIn(parseJson(response.text), response, line.scrub) ?? malformed()
      const { value, lifted } = parseMedia(response.pieces)
      const refused = refusalIn(value, response, line.scrub)
      if (refused !== undefined) throw refused
      return answerOf(value, lifted, response.headers) ?? rejected()
    },
    stream: async (channel, call, { signal, requestId }) => {
      const line = lines.of(channel)
      const opened = await line.exchange
        .open({
          ...sentOf(line, call, requestId, 'text/event-stream'),
          ...mediaPatience(channel),
          signal,
        })
        .catch(rethrow)
      const type = headerOf(opened.headers, 'content-type') ?? ''
      if (opened.statusCode !== 200 || !type.startsWith('text/event-stream')) {
        const body = parseJson(await readWhole(opened, MAX_ERROR_BYTES).catch(rethrow))
        throw refusalIn(body, opened, line.scrub) ?? malformed()
      }
      const form = channel.audioMode === 'hex' ? 'audio' : 'json'
      const reader = speechFrameReader(line.scrub, { form, requestId })
      return createFrameStream(opened, reader, headOf(opened.headers), MAX_FRAME_LENGTH)
    },
    close: () => lines.close(),
  }
}

function rejected(): never {
  throw malformed()
}

function sentOf(
  line: Line,
  { upstreamModel, body }: SpeechCall,
  requestId: string,
  accept: string,
) {
  return {
    path: `${line.basePath}${SPEECH_PATH}`,
    headers: { ...line.headers, accept, 'x-client-request-id': requestId },
    body: JSON.stringify({ model: upstreamModel, ...body }),
  }
}

function headOf(headers: Parameters<typeof headerOf>[0]) {
  return { upstreamRequestId: headerOf(headers, 'trace-id'), restMs: restOf(headers) }
}

/** Undefined when there is no audio in it. */
function answerOf(
  value: unknown,
  lifted: LiftedJson['lifted'],
  headers: Parameters<typeof headerOf>[0],
): SpeechAnswer | undefined {
  if (!isJsonObject(value)) return undefined
  const audio = textOf(objectOf(value['data'])['audio'])
  if (audio === undefined) return undefined
  const head = headOf(headers)
  return {
    ...head,
    upstreamRequestId: head.upstreamRequestId ?? upstreamIdOf(value['trace_id']),
    audio: lifted(audio) ?? audio,
    shown: shownOf(value),
    seen: seenOf(value),
  }
}
