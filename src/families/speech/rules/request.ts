import { isLongerThan } from '../../../kernel/characters.ts'
import { type JsonObject, membersGiven } from '../../../kernel/json.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { Members } from './members.ts'
import { speechModel } from './models.ts'
import { aliasedVoice, emotions } from './voices.ts'

/** All field rules of speech, asked for at once or as a task. */

export type SpeechWay = 'call' | 'task'

export const audioFormats = ['mp3', 'pcm', 'flac', 'wav'] as const
export type AudioFormat = (typeof audioFormats)[number]

/** A request that was read; what is sent upstream takes its voice yet. */
export interface SpeechRequest {
  /** External name. */
  readonly model: string
  /** As the caller named it, an alias resolved. */
  readonly voiceId: string
  /** Upstream's words without the model and the voice. */
  readonly body: JsonObject
  readonly delivery: 'hex' | 'url'
  readonly streamed: boolean
  readonly format: AudioFormat
  readonly facts: TaskFacts
}

/** Characters of a text at most: of a call fewer than ten thousand. */
const MAX_TEXT: Readonly<Record<SpeechWay, number>> = { call: 9_999, task: 50_000 }
const MAX_NAME = 256
const MAX_LANGUAGE = 32
const MAX_TONES = 500
const MAX_TONE = 200
const EFFECTS = ['spacious_echo', 'auditorium_echo', 'lofi_telephone', 'robotic'] as const
const SAMPLE_RATES = [8_000, 16_000, 22_050, 24_000, 32_000, 44_100] as const
const BITRATES = [32_000, 64_000, 128_000, 256_000] as const
const CHINESE = /\p{Script=Han}/gu
/** One character in two places. */
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g
const MODIFIED = { min: -100, max: 100, integer: true } as const

/** What upstream knows and is not offered: whoever asks for it must not believe to have got it. */
const notOffered = ['timbre_weights', 'timber_weights', 'text_file_id', 'subtitle_enable'] as const

/**
 * Reads a body or refuses it naming the first offending field.
 * @throws DomainError `invalid_request`, `unknown_model`
 */
export function readSpeech(body: JsonObject, way: SpeechWay): SpeechRequest {
  const members = new Members(body)
  const model = acceptModel(members)
  const text = acceptText(members, way)
  refuseOthers(members)
  const audio = acceptAudio(members.group('audio_setting'), way)
  const voice = acceptVoice(members)
  const modify = acceptModify(members, audio.format)
  const { delivery, streamed, stream } = acceptDelivery(members, way, audio.format)
  const language = members.text('language_boost', MAX_LANGUAGE)
  const tones = acceptTones(members.group('pronunciation_dict'))
  const watermark = members.flag('aigc_watermark')
  return {
    model,
    voiceId: voice.voiceId,
    body: membersGiven({
      text,
      ...stream,
      language_boost: language,
      voice_setting: voice.setting,
      audio_setting: audio.setting,
      voice_modify: modify,
      pronunciation_dict: tones,
      aigc_watermark: watermark,
    }),
    delivery,
    streamed,
    format: audio.format,
    facts: {
      inputs: { text: 1 },
      tools: [],
      settings: {
        characters: charactersOf(text),
        voice_id: voice.voiceId,
        format: audio.format,
        ...(voice.emotion === undefined ? {} : { emotion: voice.emotion }),
        ...(language === undefined ? {} : { language_boost: language }),
      },
    },
  }
}

/** What is sent, once it is known whose voice is meant. */
export function withVoice({ body }: Pick<SpeechRequest, 'body'>, voiceId: string): JsonObject {
  const setting: unknown = body['voice_setting']
  return { ...body, voice_setting: { ...Object(setting), voice_id: voiceId } }
}

/** What upstream will count, as far as can be told before: a Chinese character counts twice. */
export function charactersOf(text: string): number {
  const timesIn = (pattern: RegExp): number => text.match(pattern)?.length ?? 0
  return text.length - timesIn(PAIRS) + timesIn(CHINESE)
}

function required(members: Members, name: string, maxCharacters: number): string {
  const value = members.text(name, maxCharacters)
  if (value === undefined) return refuse(members.at(name), `\`${members.at(name)}\` is required`)
  if (value.trim() === '')
    return refuse(members.at(name), `\`${members.at(name)}\` must not be empty`)
  return value
}

function acceptModel(members: Members): string {
  const name = required(members, 'model', MAX_NAME)
  if (speechModel(name) === undefined)
    throw new DomainError('unknown_model', `the model ${name} does not speak here`, { model: name })
  return name
}

function acceptText(members: Members, way: SpeechWay): string {
  return required(members, 'text', MAX_TEXT[way])
}

function refuseOthers(members: Members): void {
  for (const name of notOffered) {
    const value = members.value(name)
    if (value !== undefined && value !== false) refuse(name, `\`${name}\` is not offered here`)
  }
}

/** A member that may stand by itself or in its group; said twice, it must be said alike. */
function either<Value>(
  flat: { readonly at: string; readonly value: Value | undefined },
  nested: { readonly at: string; readonly value: Value | undefined },
): Value | undefined {
  if (flat.value !== undefined && nested.value !== undefined && flat.value !== nested.value)
    refuse(nested.at, `\`${nested.at}\` must not differ from \`${flat.at}\``)
  return flat.value ?? nested.value
}

function acceptVoice(members: Members) {
  const group = members.group('voice_setting')
  const both = <Value>(name: string, read: (from: Members) => Value | undefined) =>
    either({ at: name, value: read(members) }, { at: group.at(name), value: read(group) })
  const named = both('voice_id', (from) => from.text('voice_id', MAX_NAME))
  if (named === undefined || named === '') return refuse('voice_id', '`voice_id` is required')
  const alias = aliasedVoice(named)
  const emotion = both('emotion', (from) => from.choice('emotion', emotions)) ?? alias?.emotion
  const setting = membersGiven({
    speed: both('speed', (from) => from.number('speed', { min: 0.5, max: 2 })),
    vol: both('vol', (from) => from.number('vol', { min: 0, max: 10, above: true })),
    pitch: both('pitch', (from) => from.number('pitch', { min: -12, max: 12, integer: true })),
    emotion,
    english_normalization: group.flag('english_normalization'),
    text_normalization: group.flag('text_normalization'),
    latex_read: group.flag('latex_read'),
  })
  return { voiceId: alias?.voiceId ?? named, emotion, setting }
}

/** A task knows the sampling rate by another name, and nobody is told where it is passed over. */
function acceptAudio(group: Members, way: SpeechWay) {
  const rate = either(
    { at: group.at('sample_rate'), value: group.choice('sample_rate', SAMPLE_RATES) },
    { at: group.at('audio_sample_rate'), value: group.choice('audio_sample_rate', SAMPLE_RATES) },
  )
  const format = group.choice('format', audioFormats)
  const setting = membersGiven({
    [way === 'call' ? 'sample_rate' : 'audio_sample_rate']: rate,
    bitrate: group.choice('bitrate', BITRATES),
    format,
    channel: group.choice('channel', [1, 2]),
  })
  return { format: format ?? 'mp3', setting }
}

function acceptModify(members: Members, format: AudioFormat): JsonObject | undefined {
  const group = members.group('voice_modify')
  const effects = either(
    { at: 'sound_effects', value: members.choice('sound_effects', EFFECTS) },
    { at: group.at('sound_effects'), value: group.choice('sound_effects', EFFECTS) },
  )
  if (effects !== undefined && format === 'pcm')
    refuse('sound_effects', '`sound_effects` needs the format mp3, wav or flac')
  const modify = membersGiven({
    pitch: group.number('pitch', MODIFIED),
    intensity: group.number('intensity', MODIFIED),
    timbre: group.number('timbre', MODIFIED),
    sound_effects: effects,
  })
  return Object.keys(modify).length === 0 ? undefined : modify
}

function acceptDelivery(members: Members, way: SpeechWay, format: AudioFormat) {
  const streamed = members.flag('stream') ?? false
  if (way === 'task') {
    if (streamed) refuse('stream', '`stream` is not taken by asynchronous speech')
    // Taken and dropped: what a task made is fetched as a file.
    return { delivery: 'url', streamed, stream: {} } as const
  }
  const delivery = members.choice('output_format', ['hex', 'url']) ?? 'hex'
  const options = members.group('stream_options')
  const exclude = options.flag('exclude_aggregated_audio')
  if (!streamed)
    return { delivery, streamed, stream: { stream: false, output_format: delivery } } as const
  if (delivery === 'url') refuse('output_format', '`output_format` must be hex with `stream`')
  if (format === 'wav') refuse('audio_setting.format', '`audio_setting.format` wav is not streamed')
  const stream = {
    stream: true,
    output_format: delivery,
    ...(exclude === undefined ? {} : { stream_options: { exclude_aggregated_audio: exclude } }),
  }
  return { delivery, streamed, stream } as const
}

function acceptTones(group: Members): JsonObject | undefined {
  const value = group.value('tone')
  if (value === undefined) return undefined
  const tones = Array.isArray(value) ? (value as readonly unknown[]) : undefined
  const fits =
    tones?.every((tone) => typeof tone === 'string' && !isLongerThan(tone, MAX_TONE)) === true
  if (tones === undefined || !fits || tones.length > MAX_TONES)
    return refuse(
      group.at('tone'),
      `\`${group.at('tone')}\` must be an array of at most ${MAX_TONES} texts of at most ${MAX_TONE} characters`,
    )
  return { tone: tones }
}
