import type {
  SpeechAnswer,
  SpeechCall,
  SpeechChunk,
  SpeechProvider,
  SpeechTally,
  CloneAnswer,
  CloneOrder,
  CloneProvider,
} from '../ports.ts'
import { speechSettings } from '../settings.ts'
import {
  largestStreamBytes,
  MAX_SPEECH_ANSWER_BYTES,
  MAX_FRAME_LENGTH,
} from '../rules/audio-size.ts'
import { CHARACTERS } from '../rules/pricing.ts'
import type { SpeechSeen } from '../rules/rules.ts'
import { isHex, looksLikeHex } from '../../../kernel/hex.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { ParsedJson } from '../../../kernel/long-strings.ts'
import {
  bearerHeaders,
  createConnections,
  type ChannelConnection,
} from '../../kit/http/connections.ts'
import { type Scrubber } from '../../kit/http/scrubber.ts'
import { headerOf, isSuccess, malformed, restOf } from '../../kit/http/refusals.ts'
import {
  losslessCount,
  objectOf,
  parseJson,
  parseObject,
  textOf,
  upstreamIdOf,
} from '../../kit/http/fields.ts'
import type { Frame } from '../../kit/http/frame-parser.ts'
import { beginFrameStream, type FrameReader } from '../../kit/http/frame-stream.ts'
import { mediaPatience, parseMedia } from '../../kit/http/json.ts'
import { rethrow } from '../../kit/http/open-events.ts'
import { readWhole } from '../../kit/http/open-stream.ts'
import { refusalIn } from '../../kit/media/base-resp.ts'
import { ask, type AnswerContent } from '../../kit/media/files.ts'

/** The description of an audio answer for callers, and the count that settles it. */

const MAX_SHOWN_MEMBERS = 24

/** `extra_info`: plain values, whatever they are called. */
function shownOf(body: JsonObject): JsonObject {
  const info = Object.entries(objectOf(body['extra_info']))
    .filter(([, value]) => value === null || typeof value !== 'object')
    .slice(0, MAX_SHOWN_MEMBERS)
  return info.length === 0 ? {} : { extra_info: Object.fromEntries(info) }
}

/** The characters that upstream counted; absent if it does not report them. */
function seenOf(body: JsonObject): SpeechSeen {
  const characters = losslessCount(objectOf(body['extra_info'])['usage_characters'])
  return { usage: characters === undefined ? {} : { [CHARACTERS]: characters } }
}

/** `data.status` of the last piece; it repeats the whole. */
const WHOLE = 2
const SUCCESS = { status_code: 0, status_msg: 'success' }

/** Follows a stream of speech: as JSON, or as the audio alone. */
export function speechFrameReader(
  scrub: Scrubber,
  { form, requestId }: { readonly form: 'json' | 'audio'; readonly requestId: string },
): FrameReader<SpeechChunk, SpeechTally> {
  let usage: SpeechTally['usage'] = {}
  let finished = false
  let begun = false
  /** Plain audio has no end mark: the last piece is withheld until the end is known. */
  let held: string | undefined

  // Plain audio is decoded here, and a wrong digit is an error; callers decode the audio in JSON.
  const isSound = form === 'audio' ? isHex : looksLikeHex
  const asJson = (frame: JsonObject, audio: string | undefined, status: number): SpeechChunk => ({
    data: JSON.stringify({
      data: { audio: audio ?? '', status },
      ...shownOf(frame),
      trace_id: requestId,
      base_resp: SUCCESS,
    }),
    terminal: status === WHOLE,
  })
  const asAudio = (audio: string | undefined, isLast: boolean): SpeechChunk | undefined => {
    const before = held
    held = isLast ? undefined : audio
    // The last frame repeats the whole: it is only new where no piece came before.
    if (isLast) return { data: before ?? audio ?? '', terminal: true }
    return before === undefined ? undefined : { data: before, terminal: false }
  }

  const read = ({ data }: Frame): SpeechChunk | undefined => {
    const frame = parseObject(data)
    if (frame === undefined) throw malformed()
    const refused = refusalIn(frame, { statusCode: 200, headers: {} }, scrub)
    if (refused !== undefined) throw refused
    const piece = objectOf(frame['data'])
    const audio = textOf(piece['audio'])
    const isLast = piece['status'] === WHOLE
    if (audio === undefined && !isLast) return undefined
    if (audio !== undefined && !isSound(audio)) throw malformed()
    if (isLast) {
      if (audio === undefined && !begun) throw malformed()
      ;({ usage } = seenOf(frame))
      finished = true
    }
    begun = true
    return form === 'json' ? asJson(frame, audio, isLast ? WHOLE : 1) : asAudio(audio, isLast)
  }
  return {
    read,
    // The last frame only repeats the earlier ones.
    readCut: (frame) => (begun ? read(frame) : undefined),
    tally: () => ({ usage, finished, failure: undefined }),
    over: () => finished,
  }
}

const SPEECH_PATH = '/v1/t2a_v2'
/** No refusal is larger. */
const MAX_ERROR_BYTES = 256 * 1024

/** The adapter of synchronous speech; one connection pool per channel. */
export function createSpeechProvider(): SpeechProvider & { readonly close: () => Promise<void> } {
  const lines = createConnections({
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
          maxResponseBytes: MAX_SPEECH_ANSWER_BYTES,
        })
        .catch(rethrow)
      if (!isSuccess(response.statusCode))
        throw refusalIn(parseJson(response.text), response, line.scrub) ?? malformed()
      const { value, rawStringOf } = parseMedia(response.pieces)
      const refused = refusalIn(value, response, line.scrub)
      if (refused !== undefined) throw refused
      return answerOf(value, rawStringOf, response.headers) ?? rejected()
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
      if (!isSuccess(opened.statusCode) || !type.startsWith('text/event-stream')) {
        const body = parseJson(await readWhole(opened, MAX_ERROR_BYTES).catch(rethrow))
        throw refusalIn(body, opened, line.scrub) ?? malformed()
      }
      const form = speechSettings(channel).audioMode === 'hex' ? 'audio' : 'json'
      const reader = speechFrameReader(line.scrub, { form, requestId })
      const maxBytes = largestStreamBytes(call.audioBytes)
      const bounds = { maxFrameLength: MAX_FRAME_LENGTH, maxBytes }
      return beginFrameStream(opened, reader, headOf(opened.headers), bounds)
    },
    close: () => lines.close(),
  }
}

function rejected(): never {
  throw malformed()
}

function sentOf(
  line: ChannelConnection,
  { upstreamModel, body }: SpeechCall,
  requestId: string,
  accept: string,
) {
  return {
    path: `${line.basePath}${SPEECH_PATH}`,
    headers: { ...line.headers, accept, 'x-client-request-id': requestId },
    body: JSON.stringify({ model: upstreamModel, ...body }),
    repeatable: true,
  } as const
}

function headOf(headers: Parameters<typeof headerOf>[0]) {
  return { upstreamRequestId: headerOf(headers, 'trace-id'), restMs: restOf(headers) }
}

/** Undefined when there is no audio in it. */
function answerOf(
  value: unknown,
  rawStringOf: ParsedJson['rawStringOf'],
  headers: Parameters<typeof headerOf>[0],
): SpeechAnswer | undefined {
  if (!isJsonObject(value)) return undefined
  const audio = textOf(objectOf(value['data'])['audio'])
  if (audio === undefined) return undefined
  const head = headOf(headers)
  return {
    ...head,
    upstreamRequestId: head.upstreamRequestId ?? upstreamIdOf(value['trace_id']),
    audio: rawStringOf(audio) ?? audio,
    shown: shownOf(value),
    seen: seenOf(value),
  }
}

const CLONE_PATH = '/v1/voice_clone'
const JSON_TYPE = { 'content-type': 'application/json' }

/** The adapter of clones; one connection pool per channel. */
export function createCloneProvider(): CloneProvider & { readonly close: () => Promise<void> } {
  const lines = createConnections({
    headers: bearerHeaders,
    connections: ({ maxConcurrent }) => maxConcurrent,
  })
  return {
    clone: async (channel, order, options) => {
      const sent = { headers: JSON_TYPE, body: cloneBody(order) }
      const line = lines.of(channel)
      return cloneOf(await ask(line, { path: CLONE_PATH, ...sent }, channel, options))
    },
    close: () => lines.close(),
  }
}

/** JSON whose ids are integers of 64 bits, which only text can hold. */
function cloneBody(order: CloneOrder): string {
  const { audition, promptUpstreamFileId, promptText } = order
  const hasPrompt = promptUpstreamFileId !== undefined || promptText !== undefined
  const prompt = `{${[
    ...(promptUpstreamFileId === undefined ? [] : [`"prompt_audio":${promptUpstreamFileId}`]),
    ...(promptText === undefined ? [] : [`"prompt_text":${JSON.stringify(promptText)}`]),
  ].join(',')}}`
  const rest = JSON.stringify({
    voice_id: order.upstreamVoiceId,
    ...(audition && { text: audition.text, model: audition.upstreamModel }),
    ...order.settings,
  })
  const ids = `"file_id":${order.upstreamFileId},${hasPrompt ? `"clone_prompt":${prompt},` : ''}`
  return `{${ids}${rest.slice(1)}`
}

function cloneOf({ answer, headers }: AnswerContent): CloneAnswer {
  return {
    upstreamRequestId: headerOf(headers, 'trace-id') ?? upstreamIdOf(answer['trace_id']),
    restMs: restOf(headers),
    characters: losslessCount(objectOf(answer['extra_info'])['usage_characters']),
    demoAudio: textOf(answer['demo_audio']),
    inputSensitive: sensitivityOf(answer),
  }
}

/** The reason is a number in an object, or in the older form in a second member after a boolean. */
function sensitivityOf(answer: JsonObject): number | undefined {
  const sensitive = answer['input_sensitive']
  const type = isJsonObject(sensitive) ? sensitive['type'] : answer['input_sensitive_type']
  const reason = losslessCount(type) ?? 0
  if (reason !== 0) return reason
  return sensitive === true ? OTHER_REASON : undefined
}

const OTHER_REASON = 7
