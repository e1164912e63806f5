import { type AcceptedCall, credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer, StreamFrame } from '../http/stream.ts'
import type { Fields } from '../kit/body.ts'
import { IdMaker, randomHex } from '../kit/random.ts'
import { signUrl } from '../media/files.ts'
import type { Asker } from '../text/service.ts'
import { EVENT_STREAM } from '../text/wire.ts'
import { AUDIO_PATH, bytesOf, fileName } from './audio.ts'
import { refusalAnswer, SpeechRefusal } from './errors.ts'
import { parseSpeech, type SpeechAsk } from './parse.ts'
import type { Voices } from './voices.ts'

/** The family's name in records, counters and fault rules. */
export const FAMILY = 'speech'
/** Bytes of audio in one piece of a stream. */
const PIECE_BYTES = 8_192
const SUCCESS = { status_code: 0, status_msg: 'success' }
/** Nothing of speech is counted in tokens. */
export const NO_TOKENS = {
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  tool_prompt_tokens: 0,
}

/** Characters that are reported, whatever was spoken. */
export function reportedOf(characters: number, faults: Faults): number {
  return isOn(faults, 'zero-usage') ? 0 : (countOf(faults, 'tokens') ?? characters)
}

/** Speaks at once. */
export class SpeechService {
  readonly #kit: FamilyKit
  readonly #voices: Voices
  readonly #ids: IdMaker

  constructor(kit: FamilyKit, voices: Voices) {
    this.#kit = kit
    this.#voices = voices
    this.#ids = new IdMaker(kit.random)
  }

  traceId(): string {
    return randomHex(this.#kit.random, 32)
  }

  /** A request whose voice the account may use. @throws SpeechRefusal */
  read(body: Fields | null, credential: string, isTask: boolean): SpeechAsk {
    const ask = parseSpeech(body, isTask)
    if (!this.#voices.has(ask.voiceId, credential)) throw new SpeechRefusal(2042)
    return ask
  }

  speak(body: Fields | null, asker: Asker, faults: Faults): Answer | StreamAnswer {
    const ask = this.read(body, asker.credential, false)
    const fail = wordOf(faults, 'fail')
    const streamFails = ask.stream && faults.has('error-after')
    const failCode = fail ?? (streamFails ? '1033' : null)
    const id = this.#ids.next('')
    const characters = reportedOf(ask.characters, faults)
    const call = this.#accept(ask, asker, id, characters, failCode)
    const traceId = this.traceId()
    if (fail !== null && !streamFails) return { ...refusalAnswer(Number(fail), traceId), call }
    const tellsUsage = !isOn(faults, 'no-usage')
    const audio = bytesOf(ask.audio)
    const extraInfo = {
      audio_length: ask.audio.durationMs,
      audio_sample_rate: ask.audio.sampleRate,
      // Seen to be nothing although there is audio.
      audio_size: isOn(faults, 'other-size') ? 0 : audio.length,
      bitrate: ask.audio.bitrate,
      word_count: ask.characters,
      invisible_character_ratio: 0,
      ...(tellsUsage ? { usage_characters: characters } : {}),
      audio_format: ask.audio.format,
      audio_channel: ask.audio.channels,
    }
    const end = { extra_info: extraInfo, trace_id: traceId, base_resp: SUCCESS }
    if (ask.stream) return this.#stream(ask, audio, end, { call, tellsUsage, faults })
    const told = ask.byUrl ? this.#urlOf(fileName(id, ask.audio)) : audio.toString('hex')
    return {
      status: 200,
      headers: { 'trace-id': traceId },
      call,
      usage: tellsUsage,
      body: { data: { audio: told, status: 2, ced: '' }, ...end },
    }
  }

  #stream(
    { repeatsWhole }: SpeechAsk,
    audio: Buffer,
    end: { readonly trace_id: string },
    way: { readonly call: AcceptedCall; readonly tellsUsage: boolean; readonly faults: Faults },
  ): StreamAnswer {
    const { call, tellsUsage, faults } = way
    const { trace_id: traceId } = end
    return {
      status: 200,
      headers: { 'trace-id': traceId, ...EVENT_STREAM },
      eol: isOn(faults, 'crlf') ? '\r\n' : '\n',
      frames: framesOf(audio, repeatsWhole, end, tellsUsage),
      failure: () => ({
        event: null,
        data: JSON.stringify(refusalAnswer(1033, traceId).body),
        usage: false,
        last: true,
      }),
      call,
    }
  }

  #urlOf(name: string): string {
    const { options, clock } = this.#kit
    const path = `${AUDIO_PATH}/${name}`
    return signUrl(this.#kit.baseUrl(), path, clock.nowMs(), options.urlSeconds)
  }

  #accept(
    ask: SpeechAsk,
    asker: Asker,
    id: string,
    characters: number,
    failCode: string | null,
  ): AcceptedCall {
    return this.#kit.calls.accept({
      id,
      family: FAMILY,
      model: ask.model,
      requestedModel: ask.model,
      clientMarker: asker.markers.clientMarker,
      safetyIdentifier: null,
      credential: credentialHash(asker.credential),
      acceptedAtMs: this.#kit.clock.nowMs(),
      stream: ask.stream,
      outcome: failCode === null ? 'completed' : 'failed',
      failCode,
      usage: NO_TOKENS,
      wireUsage: { usage_characters: characters },
      toolCalls: {},
    })
  }
}

/** Pieces, and at the end all of it once more unless that was not wanted. */
function* framesOf(
  audio: Buffer,
  repeatsWhole: boolean,
  end: { readonly trace_id: string },
  tellsUsage: boolean,
): Iterable<StreamFrame> {
  for (let at = 0; at < audio.length; at += PIECE_BYTES) {
    const piece = audio.toString('hex', at, Math.min(audio.length, at + PIECE_BYTES))
    const frame = {
      data: { audio: piece, status: 1, ced: '' },
      trace_id: end.trace_id,
      base_resp: SUCCESS,
    }
    yield { event: null, data: JSON.stringify(frame), usage: false, last: false }
  }
  const data = { audio: repeatsWhole ? audio.toString('hex') : '', status: 2, ced: '' }
  yield { event: null, data: JSON.stringify({ data, ...end }), usage: tellsUsage, last: true }
}
