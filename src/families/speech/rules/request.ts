import type { Static, TObject } from 'typebox'
import type { AudioFormat } from '../../../domain/catalog/audio-formats.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { readBody } from '../../../kernel/body.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { type JsonObject, membersGiven, pickMembers } from '../../../kernel/json.ts'
import { isAnswerHeld, isRepeatable, largestAudioBytes } from './audio-size.ts'
import { notOffered, speechBodies, type SpeechMode, type voice } from './body.ts'
import { aliasedVoice, speechModel } from './voices.ts'

/** Reads a request for speech: this checks what its schema cannot express. */

type Voice = Static<TObject<typeof voice>>
type Body = Static<(typeof speechBodies)['call']>

/** A parsed request; the voice is added before it is sent upstream. */
export interface SpeechRequest {
  /** External name. */
  readonly model: string
  /** The caller's name of the voice, with an alias resolved. */
  readonly voiceId: string
  /** Upstream's members without the model and the voice. */
  readonly body: JsonObject
  readonly delivery: 'hex' | 'url'
  readonly streamed: boolean
  readonly format: AudioFormat
  /** Bytes of its audio at most. */
  readonly audioBytes: number
  readonly facts: TaskFacts
}

const CHINESE = /\p{Script=Han}/gu
/** One character in two places. */
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g

/**
 * Reads a body or refuses it naming the first offending field.
 * @throws DomainError `invalid_request`, `unknown_model`
 */
export function readSpeech(sent: JsonObject, way: SpeechMode): SpeechRequest {
  const body: Body = readBody(speechBodies[way], sent)
  const { model, text, language_boost: language } = body
  if (speechModel(model) === undefined)
    throw new DomainError('unknown_model', `the model ${model} is not a speech model`, { model })
  for (const name of notOffered)
    if (![undefined, null, false].includes(sent[name] as undefined))
      refuse(name, `\`${name}\` is not offered here`)
  const audio = audioOf(body, way)
  const { voiceId, emotion, setting, speed } = voiceOf(body)
  const characters = charactersOf(text)
  const audioBytes = largestAudioBytes({ ...audio, text, characters, speed })
  const { delivery, streamed, stream } = deliveryOf(body, way, audio.format, audioBytes)
  return {
    model,
    voiceId,
    body: membersGiven<unknown>({
      text,
      ...stream,
      language_boost: language,
      voice_setting: setting,
      audio_setting: audio.setting,
      voice_modify: modificationOf(body, audio.format),
      pronunciation_dict: body.pronunciation_dict?.tone && body.pronunciation_dict,
      aigc_watermark: body.aigc_watermark,
    }),
    delivery,
    streamed,
    format: audio.format,
    audioBytes,
    facts: {
      inputs: { text: 1 },
      tools: [],
      settings: {
        characters,
        voice_id: voiceId,
        format: audio.format,
        ...(emotion === undefined ? {} : { emotion }),
        ...(language === undefined ? {} : { language_boost: language }),
      },
    },
  }
}

/** The body to send, once the voice was looked up. */
export function withVoice({ body }: Pick<SpeechRequest, 'body'>, voiceId: string): JsonObject {
  const setting: unknown = body['voice_setting']
  return { ...body, voice_setting: { ...Object(setting), voice_id: voiceId } }
}

/** The characters that upstream is expected to count: a Chinese character counts twice. */
export function charactersOf(text: string): number {
  const timesIn = (pattern: RegExp): number => text.match(pattern)?.length ?? 0
  return text.length - timesIn(PAIRS) + timesIn(CHINESE)
}

/** A member that is accepted in two places; given twice, both must be equal. */
function either<Value>(
  [firstAt, first]: readonly [string, Value | undefined],
  [secondAt, second]: readonly [string, Value | undefined],
): Value | undefined {
  if (first !== undefined && second !== undefined && first !== second)
    refuse(secondAt, `\`${secondAt}\` must not differ from \`${firstAt}\``)
  return first ?? second
}

function voiceOf(body: Body) {
  const flat: Voice = body
  const group: Voice = body.voice_setting ?? {}
  const both = <Name extends keyof Voice>(name: Name) =>
    either<Voice[Name]>([name, flat[name]], [`voice_setting.${name}`, group[name]])
  const named = both('voice_id')
  if (named === undefined || named === '') return refuse('voice_id', '`voice_id` is required')
  const alias = aliasedVoice(named)
  const emotion = both('emotion') ?? alias?.emotion
  const speed = both('speed')
  const setting = membersGiven<unknown>({
    speed,
    vol: both('vol'),
    pitch: both('pitch'),
    emotion,
    ...pickMembers(body.voice_setting ?? {}, [
      'english_normalization',
      'text_normalization',
      'latex_read',
    ]),
  })
  return { voiceId: alias?.voiceId ?? named, emotion, setting, speed }
}

/** Upstream names the rate differently in a task and ignores the other name: both are read here. */
function audioOf({ audio_setting: group = {} }: Body, way: SpeechMode) {
  const rate = either(
    ['audio_setting.sample_rate', group.sample_rate],
    ['audio_setting.audio_sample_rate', group.audio_sample_rate],
  )
  const { bitrate, format, channel } = group
  const named = way === 'call' ? { sample_rate: rate } : { audio_sample_rate: rate }
  const setting = membersGiven<unknown>({ ...named, bitrate, format, channel })
  return { format: format ?? 'mp3', setting, sampleRate: rate, bitrate, channels: channel }
}

function modificationOf(body: Body, format: AudioFormat): JsonObject | undefined {
  const { sound_effects: inGroup, ...group } = body.voice_modify ?? {}
  const effects = either(
    ['sound_effects', body.sound_effects],
    ['voice_modify.sound_effects', inGroup],
  )
  if (effects !== undefined && format === 'pcm')
    refuse('sound_effects', '`sound_effects` is allowed only with the format mp3, wav or flac')
  const modify = membersGiven<unknown>({
    ...pickMembers(group, ['pitch', 'intensity', 'timbre']),
    sound_effects: effects,
  })
  return Object.keys(modify).length === 0 ? undefined : modify
}

/** @param audioBytes of the whole audio at most */
function deliveryOf(body: Body, way: SpeechMode, format: AudioFormat, audioBytes: number) {
  if (way === 'task') return { delivery: 'url', streamed: false, stream: {} } as const
  const { stream: streamed = false, output_format: delivery = 'hex', stream_options } = body
  if (!streamed && delivery === 'hex' && !isAnswerHeld(audioBytes))
    refuse(
      'audio_setting',
      '`audio_setting` may give more audio than one answer holds: ask for mp3, a lower `sample_rate`, `stream`, or `output_format` url',
    )
  if (!streamed)
    return { delivery, streamed, stream: { stream: false, output_format: delivery } } as const
  if (delivery === 'url') refuse('output_format', '`output_format` must be hex with `stream`')
  if (format === 'wav')
    refuse('audio_setting.format', '`audio_setting.format` must not be wav with `stream`')
  // A last frame that repeats so much would be larger than a frame may be.
  const exclude = isRepeatable(audioBytes) ? stream_options?.exclude_aggregated_audio : true
  const stream = {
    stream: true,
    output_format: delivery,
    ...(exclude === undefined ? {} : { stream_options: { exclude_aggregated_audio: exclude } }),
  }
  return { delivery, streamed, stream } as const
}
