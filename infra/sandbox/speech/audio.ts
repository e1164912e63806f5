import type { FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { signedFile, signUrl, wholeFile } from '../media/files.ts'
import { flacOf, mp3Of, pcmOf, type SoundFormat, wavOf } from '../media/sound.ts'

/** What a text sounds like. */

export const FORMATS = ['mp3', 'pcm', 'flac', 'wav'] as const
type Format = (typeof FORMATS)[number]

export interface Audio extends SoundFormat {
  readonly bitrate: number
  readonly format: Format
}

/** Path under which results are served. */
export const AUDIO_PATH = '/media/speech'
const TYPES = { mp3: 'audio/mpeg', pcm: 'audio/pcm', flac: 'audio/flac', wav: 'audio/wav' } as const
const NAME = /^[a-z0-9]{8,40}-(\d{1,8})-(\d{4,5})-([12])-(\d{4,6})\.(mp3|pcm|flac|wav)$/
const CHARACTER_MS = 60
/** Longer texts are spoken faster. */
const LONGEST_MS = 600_000

/** How long a text of so many characters takes. */
export function durationOf(characters: number, speed: number): number {
  return Math.min(LONGEST_MS, Math.max(1, Math.round((characters * CHARACTER_MS) / speed)))
}

export function bytesOf(audio: Audio): Buffer {
  switch (audio.format) {
    case 'mp3':
      return mp3Of(audio)
    case 'wav':
      return wavOf(audio)
    case 'pcm':
      return pcmOf(audio)
    case 'flac':
      return flacOf(audio)
  }
}

/** What a result is, by the name of its file: nothing has to be kept of it. */
export function fileName(id: string, audio: Audio): string {
  const { durationMs, sampleRate, channels, bitrate, format } = audio
  return `${id}-${durationMs}-${sampleRate}-${channels}-${bitrate}.${format}`
}

function audioNamed(name: string): Audio | null {
  const [, durationMs, sampleRate, channels, bitrate, format] = NAME.exec(name) ?? []
  const known = FORMATS.find((one) => one === format)
  if (known === undefined) return null
  return {
    durationMs: Number(durationMs),
    sampleRate: Number(sampleRate),
    channels: Number(channels),
    bitrate: Number(bitrate),
    format: known,
  }
}

/** Where a result is. */
export function audioUrl(
  kit: Pick<FamilyKit, 'baseUrl' | 'options' | 'clock'>,
  id: string,
  audio: Audio,
  seconds?: number,
): string {
  return signUrl(kit, `${AUDIO_PATH}/${fileName(id, audio)}`, kit.clock.nowMs(), seconds)
}

/** A result; its URL is the only credential. */
export function audioFile(kit: FamilyKit, request: FastifyRequest): Promise<Answer> {
  return signedFile(kit, request, AUDIO_PATH, (name) => {
    const audio = audioNamed(name)
    return audio && wholeFile(bytesOf(audio), TYPES[audio.format])
  })
}
