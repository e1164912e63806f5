import { type Fields, isFields, NO_FIELDS, numberIn, textIn } from '../kit/body.ts'
import { type Audio, durationOf, FORMATS } from './audio.ts'
import { Refusal, bearerKey, type Wire, wireOf } from '../http/wire.ts'
import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { randomHex } from '../kit/clock.ts'

/** Errors of this wire: `base_resp.status_code` of an answer that is 200 all the same. */

const MESSAGES: Readonly<Record<number, string>> = {
  1000: 'unknown error',
  1001: 'request timeout',
  1002: 'rate limit exceeded(RPM)',
  1004: 'login fail: Please carry the API secret key in the Authorization field',
  1008: 'insufficient balance',
  1026: 'input new_sensitive',
  1027: 'output new_sensitive',
  1033: 'system error',
  1039: 'rate limit exceeded(TPM)',
  1042: 'invisible character ratio limit',
  2013: 'invalid params',
  2037: 'voice duration too short',
  2038: 'voice clone no permission',
  2039: 'voice clone voice id duplicate',
  2042: 'You do not have access to this voice_id',
  2048: 'prompt audio too long',
  2049: 'invalid api key',
}

function messageOf(code: string): string {
  return MESSAGES[Number(code)] ?? 'system error'
}

/** A request this upstream does not serve, by the number of its wire. */
export function refusalOf(code: number, why?: string): Refusal {
  const words = messageOf(String(code))
  return new Refusal(String(code), why === undefined ? words : `${words}, ${why}`)
}

/** The answer for a code. */
export function refusalAnswer(code: string, traceId: string, message = messageOf(code)) {
  return {
    status: 200,
    headers: { 'trace-id': traceId },
    body: { trace_id: traceId, base_resp: { status_code: Number(code), status_msg: message } },
  }
}

const PROXY_PAGES: ReadonlySet<number> = new Set([502, 503, 504])

/** How speech, its files and its voices read credentials and report errors. */
export function speechWire({ random, options }: FamilyKit, family: string): Wire {
  const wire = wireOf(
    {
      family,
      keyOf: bearerKey,
      denied: () => refusalOf(1004),
      unknownSwitch: (message) => new Refusal('2013', `${message}.`),
      messageOf,
      codeOfStatus: {},
      answer: ({ code, message }) => refusalAnswer(code, randomHex(random, 32), message),
    },
    options.apiKeys,
  )
  return {
    ...wire,
    // A proxy's page where a proxy would give it.
    failure: (status, faults) =>
      PROXY_PAGES.has(status)
        ? {
            status,
            body: `<html><body><h1>${status}</h1><hr>nginx</body></html>\n`,
            headers: { 'content-type': 'text/html' },
          }
        : { ...wire.refusal(status === 401 ? '1004' : '1000', faults), status },
  }
}

export const SUCCESS = { status_code: 0, status_msg: 'success' }

/** An answer that went well. */
export function succeeded({ random }: Pick<FamilyKit, 'random'>, body: object): Answer {
  return {
    status: 200,
    headers: {
      'trace-id': randomHex(random, 32),
      'content-type': 'application/json; charset=utf-8',
    },
    body: bare({ ...body, base_resp: SUCCESS }),
  }
}

/** JSON with ids as the bare numbers they are on this wire, beyond what a double holds. */
function bare(body: object): string {
  return JSON.stringify(body).replace(/"int64:(\d+)"/g, '$1')
}

/** Digits that `bare` writes as a number. */
export const int64 = (digits: string): string => `int64:${digits}`

/** A request for speech as this upstream understands it. */
export type SpeechOrder = Readonly<ReturnType<typeof parseSpeech>>

const MODELS = ['voicer-2.8-hd', 'voicer-2.8-turbo', 'voicer-2.6-hd']
const EMOTIONS = 'happy sad angry fearful disgusted surprised calm fluent whisper'.split(' ')
const EFFECTS = 'spacious_echo auditorium_echo lofi_telephone robotic'.split(' ')
const RATES = [8_000, 16_000, 22_050, 24_000, 32_000, 44_100]
const BITRATES = [32_000, 64_000, 128_000, 256_000]

function invalid(why: string): Refusal {
  return refusalOf(2013, why)
}

function groupIn(body: Fields, name: string): Fields {
  const value = body[name]
  return isFields(value) ? value : NO_FIELDS
}

function chosen(group: Fields, name: string, choices: readonly number[], usual: number): number {
  const value = group[name]
  if (value === undefined) return usual
  if (typeof value !== 'number' || !choices.includes(value))
    throw invalid(`${name} is not supported`)
  return value
}

function between(group: Fields, name: string, usual: number, min: number, max: number): number {
  const value = group[name] === undefined ? usual : (numberIn(group, name) ?? Number.NaN)
  if (!(value >= min && value <= max)) throw invalid(`${name} should be in [${min}, ${max}]`)
  return value
}

/** What is billed: a Chinese character counts twice. */
export function charactersOf(text: string): number {
  let count = 0
  for (const character of text) count += /\p{Script=Han}/u.test(character) ? 2 : 1
  return count
}

function audioOf(body: Fields, characters: number, isTask: boolean, speed: number): Audio {
  const group = groupIn(body, 'audio_setting')
  const named = group['format'] ?? 'mp3'
  const format = FORMATS.find((one) => one === named)
  if (format === undefined) throw invalid('format is not supported')
  // A task knows it by another name, and passes over this one.
  const rate = isTask ? 'audio_sample_rate' : 'sample_rate'
  return {
    format,
    durationMs: durationOf(characters, speed),
    sampleRate: chosen(group, rate, RATES, 32_000),
    bitrate: chosen(group, 'bitrate', BITRATES, 128_000),
    channels: chosen(group, 'channel', [1, 2], isTask ? 2 : 1),
  }
}

function checkVoice(body: Fields, model: string): { voiceId: string; speed: number } {
  const group = groupIn(body, 'voice_setting')
  const voiceId = textIn(group, 'voice_id')
  if (voiceId === null) throw invalid('voice_setting.voice_id is required')
  const { emotion } = group
  if (emotion !== undefined && !EMOTIONS.some((one) => one === emotion))
    throw invalid('emotion is not supported')
  if (emotion === 'whisper' && model.includes('2.8'))
    throw invalid('emotion whisper is not supported by this model')
  const { sound_effects: effects } = groupIn(body, 'voice_modify')
  if (effects !== undefined && !EFFECTS.some((one) => one === effects))
    throw invalid('sound_effects is not supported')
  between(group, 'vol', 1, 0.000_001, 10)
  between(group, 'pitch', 0, -12, 12)
  return { voiceId, speed: between(group, 'speed', 1, 0.5, 2) }
}

/** @throws Refusal */
export function parseSpeech(body: Fields | null, isTask: boolean) {
  if (body === null) throw invalid('the body is no JSON object')
  const model = textIn(body, 'model')
  if (model === null || !MODELS.includes(model)) throw invalid('model is not supported')
  const text = textIn(body, 'text') ?? ''
  if (text === '') throw invalid('text is empty')
  if (text.length > (isTask ? 50_000 : 9_999)) throw invalid('text is too long')
  if (isTask && body['output_format'] !== undefined)
    throw invalid('output_format is not a parameter')
  const { voiceId, speed } = checkVoice(body, model)
  const characters = charactersOf(text)
  const audio = audioOf(body, characters, isTask, speed)
  const stream = body['stream'] === true
  const byUrl = body['output_format'] === 'url'
  if (stream && (byUrl || audio.format === 'wav')) throw invalid('stream takes hex, and no wav')
  const { exclude_aggregated_audio: excludes } = groupIn(body, 'stream_options')
  return { model, voiceId, audio, characters, stream, repeatsWhole: excludes !== true, byUrl }
}
