import { audioFormats } from '../../../domain/catalog/audio-formats.ts'
import { Type } from 'typebox'
import { NotBlank } from '../../../kernel/body.ts'
import { isLongerThan } from '../../../kernel/characters.ts'
import { emotions, speechModels } from './voices.ts'

/** The bodies of speech, as a call or as a task. */

export type SpeechMode = 'call' | 'task'

/** Members that upstream knows and the gateway refuses: ignoring them would mislead the caller. */
export const notOffered = [
  'timbre_weights',
  'timber_weights',
  'text_file_id',
  'subtitle_enable',
] as const

/** A call has fewer than ten thousand characters. */
export const MAX_TEXT: Readonly<Record<SpeechMode, number>> = { call: 9_999, task: 50_000 }
export const MAX_NAME = 256
export const Language = Type.Optional(
  Type.String({ maxLength: 32, description: '`auto`, `English`, `Chinese`, …' }),
)
const Flag = Type.Optional(Type.Boolean())
const MAX_TONES = 500
const MAX_TONE = 200
const Modified = Type.Optional(Type.Integer({ minimum: -100, maximum: 100 }))
const Effects = Type.Optional(
  Type.Enum(['spacious_echo', 'auditorium_echo', 'lofi_telephone', 'robotic'], {
    description: 'Only with mp3, wav and flac.',
  }),
)
const Emotion = Type.Optional(
  Type.Enum([...emotions], {
    description: 'If absent, an alias of a voice may set it.',
  }),
)
const SampleRate = Type.Optional(Type.Enum([8_000, 16_000, 22_050, 24_000, 32_000, 44_100]))

/** Members that may be in the body or in `voice_setting`. */
export const voice = {
  voice_id: Type.Optional(
    Type.String({
      maxLength: MAX_NAME,
      description:
        'A built-in voice, an alias (`alloy`, `echo`, …), or a cloned voice of the tenant.',
    }),
  ),
  speed: Type.Optional(Type.Number({ minimum: 0.5, maximum: 2 })),
  vol: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 10,
      words: 'must be a number above 0, up to 10',
    }),
  ),
  pitch: Type.Optional(Type.Integer({ minimum: -12, maximum: 12 })),
  emotion: Emotion,
}

const TONES = `must be an array of at most ${MAX_TONES} texts of at most ${MAX_TONE} characters`
const Tones = Type.Array(Type.Unknown(), {
  words: TONES,
  check: (tones: readonly unknown[]) =>
    tones.length <= MAX_TONES &&
    tones.every((tone) => typeof tone === 'string' && !isLongerThan(tone, MAX_TONE))
      ? undefined
      : TONES,
  documented: { type: 'array', items: { type: 'string' } },
})

const Delivery = Type.Enum(['hex', 'url'], {
  description: 'Default `hex`; `stream` supports only `hex`.',
})

const deliveryOfCall = {
  stream: Flag,
  output_format: Type.Optional(Delivery),
  stream_options: Type.Optional(Type.Object({ exclude_aggregated_audio: Flag })),
}

/** Accepted and dropped: the result of a task is fetched as a file. */
const deliveryOfTask = {
  stream: Type.Optional(
    Type.Boolean({
      check: (value: unknown) =>
        value === true ? 'is not accepted for asynchronous speech' : undefined,
    }),
  ),
  output_format: Type.Optional(Type.Unsafe<'hex' | 'url'>({ documented: Delivery })),
  stream_options: Type.Optional(
    Type.Unsafe<{ readonly exclude_aggregated_audio?: boolean }>({
      properties: { exclude_aggregated_audio: {} },
    }),
  ),
}

const AudioSetting = Type.Object(
  {
    sample_rate: SampleRate,
    audio_sample_rate: SampleRate,
    bitrate: Type.Optional(Type.Enum([32_000, 64_000, 128_000, 256_000])),
    format: Type.Optional(Type.Enum([...audioFormats])),
    channel: Type.Optional(Type.Enum([1, 2])),
  },
  { named: 'AudioSetting' },
)

const bodyOf = (way: SpeechMode) =>
  Type.Object(
    {
      model: Type.String({
        ...NotBlank,
        maxLength: MAX_NAME,
        documented: Type.Enum(speechModels.map(({ name }) => name)),
      }),
      text: Type.String({
        ...NotBlank,
        maxLength: MAX_TEXT[way],
        description: 'Fewer than 10000 characters; asynchronous speech accepts up to 50000.',
      }),
      ...voice,
      sound_effects: Effects,
      language_boost: Language,
      ...(way === 'call' ? deliveryOfCall : deliveryOfTask),
      voice_setting: Type.Optional(
        Type.Object(
          {
            ...voice,
            english_normalization: Flag,
            text_normalization: Flag,
            latex_read: Flag,
          },
          { named: 'VoiceSetting' },
        ),
      ),
      audio_setting: Type.Optional(AudioSetting),
      voice_modify: Type.Optional(
        Type.Object(
          {
            pitch: Modified,
            intensity: Modified,
            timbre: Modified,
            sound_effects: Effects,
          },
          { named: 'VoiceModify' },
        ),
      ),
      pronunciation_dict: Type.Optional(
        Type.Object({ tone: Type.Optional(Tones) }, { named: 'PronunciationDict' }),
      ),
      aigc_watermark: Flag,
    },
    {
      additionalProperties: true,
      examples: [{ model: 'speech-2.8-hd', text: 'Good morning.', voice_id: 'nova' }],
      knownExtraFields: notOffered.join(' '),
    },
  )

export const speechBodies = { call: bodyOf('call'), task: bodyOf('task') }
