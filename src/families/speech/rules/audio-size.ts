import type { AudioFormat } from '../../../domain/catalog/audio-formats.ts'

/** Maximum size of the audio of a request, so that every bound on an answer is above it (P10). */

/** Settings on which the size depends; absent members have upstream's defaults. */
interface AudioOrder {
  readonly text: string
  /** Billed characters: a Chinese character counts as two. */
  readonly characters: number
  readonly speed: number | undefined
  readonly format: AudioFormat
  readonly sampleRate: number | undefined
  readonly bitrate: number | undefined
  readonly channels: number | undefined
}

/** Twice the usual pace of speech. */
const MS_PER_CHARACTER = 150
const DEFAULT_SAMPLE_RATE = 32_000
const DEFAULT_BITRATE = 128_000
const BYTES_PER_SAMPLE = 2
/** A pause in the text, in seconds. */
const PAUSE = /<#(\d{1,2}(?:\.\d{1,2})?)#>/g

/** Bytes of audio at most, before they are written as hexadecimal. */
export function largestAudioBytes(order: AudioOrder): number {
  const { text, characters, speed = 1, format } = order
  let seconds = (characters * MS_PER_CHARACTER) / speed / 1_000
  for (const [, pause] of text.matchAll(PAUSE)) seconds += Number(pause)
  const { bitrate = DEFAULT_BITRATE, sampleRate = DEFAULT_SAMPLE_RATE, channels = 1 } = order
  const perSecond = format === 'mp3' ? bitrate / 8 : sampleRate * BYTES_PER_SAMPLE * channels
  return Math.ceil(seconds * perSecond)
}

/** Characters for a byte in hexadecimal. */
const HEX_DIGITS = 2

/** The longest unstreamed answer that a process holds. */
export const MAX_SPEECH_ANSWER_BYTES = 192 * 1024 * 1024
/** Whether an unstreamed answer can be held. */
export function isAnswerHeld(audioBytes: number): boolean {
  return audioBytes * HEX_DIGITS <= MAX_SPEECH_ANSWER_BYTES
}

/** UTF-16 units of the longest frame; a last frame that repeats more is delivered without it. */
export const MAX_FRAME_LENGTH = 16 * 1024 * 1024
/** Whether upstream may repeat all audio in its last frame. */
export function isRepeatable(audioBytes: number): boolean {
  return audioBytes * HEX_DIGITS <= MAX_FRAME_LENGTH / 2
}

/** Digits and signs of a text can take longer to say than its characters. */
const SPOKEN_OUT = 4
const FRAMES_BYTES = 16 * 1024 * 1024

/** Bytes of a stream at most, with all audio repeated in the last frame. */
export function largestStreamBytes(audioBytes: number): number {
  return FRAMES_BYTES + 2 * HEX_DIGITS * SPOKEN_OUT * audioBytes
}
