import { answerCall, frameOf, type Asker } from '../calls/run.ts'
import type { FamilyKit } from '../family.ts'
import { countOf, type Faults, isOn } from '../faults/vocabulary.ts'
import type { StreamFrame } from '../http/stream.ts'
import type { Wire } from '../http/wire.ts'
import type { Fields } from '../kit/body.ts'
import { type IdMaker, randomHex } from '../kit/clock.ts'
import { audioUrl, bytesOf } from './audio.ts'
import { parseSpeech, type SpeechOrder, refusalAnswer, refusalOf, SUCCESS } from './parse.ts'

/** Names of voices that every account may use. */
const BUILT_IN =
  /^(?:(?:male|female)-[a-z-]+|presenter_(?:male|female)|audiobook_(?:male|female)_[12]|clever_boy|cute_boy|lovely_girl|[A-Z][a-z]+(?: \([A-Z][a-z]+\))?_[A-Z]\w+)$/

/** The voices there are: built in, and cloned by an account. */
export class Voices {
  readonly #cloned = new Map<string, string>()

  /** Whether an account may speak with a voice. */
  has(voiceId: string, credential: string): boolean {
    return this.#cloned.get(voiceId) === credential || BUILT_IN.test(voiceId)
  }

  /** False where some account has one of that name already. */
  add(voiceId: string, credential: string): boolean {
    if (this.#cloned.has(voiceId) || BUILT_IN.test(voiceId)) return false
    this.#cloned.set(voiceId, credential)
    return true
  }

  /** Drops a voice, as the real upstream drops unused ones. */
  drop(voiceId: string): void {
    this.#cloned.delete(voiceId)
  }

  reset(): void {
    this.#cloned.clear()
  }
}

/** The family's name in records, counters and fault rules. */
export const FAMILY = 'speech'
/** Bytes of audio in one piece of a stream. */
const PIECE_BYTES = 8_192

/** What speech is made with. */
export interface Speakers {
  readonly kit: FamilyKit
  readonly wire: Wire
  readonly ids: IdMaker
  readonly voices: Voices
}

/** Characters that are reported, whatever was spoken. */
export function reportedOf(characters: number, faults: Faults): number {
  return isOn(faults, 'zero-usage') ? 0 : (countOf(faults, 'tokens') ?? characters)
}

/** A request whose voice the account may use. @throws Refusal */
export function readSpeech(
  { voices }: Speakers,
  body: Fields | null,
  credential: string,
  isTask: boolean,
): SpeechOrder {
  const order = parseSpeech(body, isTask)
  if (!voices.has(order.voiceId, credential)) throw refusalOf(2042)
  return order
}

/** Speaks at once. */
export function speak(speakers: Speakers, body: Fields | null, asker: Asker, faults: Faults) {
  const { kit, wire, ids } = speakers
  const order = readSpeech(speakers, body, asker.credential, false)
  const id = ids.next('')
  const characters = reportedOf(order.characters, faults)
  const accepted = {
    id,
    model: order.model,
    safetyIdentifier: null,
    stream: order.stream,
    breaksBy: order.stream && faults.has('error-after') ? '1033' : null,
    wireUsage: { usage_characters: characters },
  }
  return answerCall(kit, wire, { asker, faults }, accepted, () => {
    const traceId = randomHex(kit.random, 32)
    const hasUsage = !isOn(faults, 'no-usage')
    const audio = bytesOf(order.audio)
    const extraInfo = {
      audio_length: order.audio.durationMs,
      audio_sample_rate: order.audio.sampleRate,
      // Reported as 0 although there is audio.
      audio_size: isOn(faults, 'other-size') ? 0 : audio.length,
      bitrate: order.audio.bitrate,
      word_count: order.characters,
      invisible_character_ratio: 0,
      ...(hasUsage ? { usage_characters: characters } : {}),
      audio_format: order.audio.format,
      audio_channel: order.audio.channels,
    }
    const end = { extra_info: extraInfo, trace_id: traceId, base_resp: SUCCESS }
    const headers = { 'trace-id': traceId }
    if (order.stream)
      return {
        headers,
        frames: framesOf(audio, order.repeatsWhole, end, hasUsage),
        failure: () => frameOf(refusalAnswer('1033', traceId).body, { last: true }),
      }
    const encoded = order.byUrl ? audioUrl(kit, id, order.audio) : audio.toString('hex')
    const data = { audio: encoded, status: 2, ced: '' }
    return { headers, usage: hasUsage, body: { data, ...end } }
  })
}

/** Pieces, and at the end the whole audio again unless the caller excluded that. */
function* framesOf(
  audio: Buffer,
  repeatsWhole: boolean,
  end: { readonly trace_id: string },
  hasUsage: boolean,
): Iterable<StreamFrame> {
  for (let at = 0; at < audio.length; at += PIECE_BYTES) {
    const piece = audio.toString('hex', at, Math.min(audio.length, at + PIECE_BYTES))
    const frame = {
      data: { audio: piece, status: 1, ced: '' },
      trace_id: end.trace_id,
      base_resp: SUCCESS,
    }
    yield frameOf(frame)
  }
  const data = { audio: repeatsWhole ? audio.toString('hex') : '', status: 2, ced: '' }
  yield frameOf({ data, ...end }, { usage: hasUsage, last: true })
}
