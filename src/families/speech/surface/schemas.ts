import { Type } from 'typebox'
import { audioFormats } from '../rules/request.ts'
import { emotions } from '../rules/voices.ts'
import { speechModels } from '../rules/models.ts'
import type { AlsoKnown } from '../../../api/kit/names.ts'
import { BaseRespSchema, TraceId } from './envelope.ts'

/** Shapes of speech: for the documentation, the rules of bodies are the catalog's. */

const Emotion = Type.Enum([...emotions], {
  description: 'An alias of a voice may bring its own where none is given.',
})
const Effects = Type.Enum(['spacious_echo', 'auditorium_echo', 'lofi_telephone', 'robotic'], {
  description: 'Of mp3, wav and flac.',
})
const modified = { minimum: -100, maximum: 100 }

export const SpeechBodySchema = Type.Object(
  {
    model: Type.Enum(speechModels.map(({ name }) => name)),
    text: Type.String({
      description: 'Fewer than 10000 characters; asynchronously up to 50000.',
    }),
    voice_id: Type.String({
      description: 'A built-in voice, an alias (`alloy`, `echo`, …), or a voice you cloned.',
    }),
    output_format: Type.Optional(
      Type.Enum(['hex', 'url'], { description: 'Default `hex`; with `stream` that alone.' }),
    ),
    emotion: Type.Optional(Emotion),
    sound_effects: Type.Optional(Effects),
    language_boost: Type.Optional(Type.String({ description: '`auto`, `English`, `Chinese`, …' })),
    stream: Type.Optional(Type.Boolean()),
    stream_options: Type.Optional(
      Type.Object({ exclude_aggregated_audio: Type.Optional(Type.Boolean()) }),
    ),
    voice_setting: Type.Optional(
      Type.Object({
        voice_id: Type.Optional(Type.String()),
        speed: Type.Optional(Type.Number({ minimum: 0.5, maximum: 2 })),
        vol: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 10 })),
        pitch: Type.Optional(Type.Integer({ minimum: -12, maximum: 12 })),
        emotion: Type.Optional(Emotion),
      }),
    ),
    audio_setting: Type.Optional(
      Type.Object({
        sample_rate: Type.Optional(Type.Enum([8000, 16000, 22050, 24000, 32000, 44100])),
        bitrate: Type.Optional(Type.Enum([32000, 64000, 128000, 256000])),
        format: Type.Optional(Type.Enum([...audioFormats])),
        channel: Type.Optional(Type.Enum([1, 2])),
      }),
    ),
    voice_modify: Type.Optional(
      Type.Object({
        pitch: Type.Optional(Type.Integer(modified)),
        intensity: Type.Optional(Type.Integer(modified)),
        timbre: Type.Optional(Type.Integer(modified)),
        sound_effects: Type.Optional(Effects),
      }),
    ),
    pronunciation_dict: Type.Optional(
      Type.Object({ tone: Type.Optional(Type.Array(Type.String())) }),
    ),
    aigc_watermark: Type.Optional(Type.Boolean()),
  },
  {
    additionalProperties: true,
    examples: [{ model: 'speech-2.8-hd', text: 'Good morning.', voice_id: 'nova' }],
  },
)

/** Taken or refused by name, and not described. */
export const alsoInSpeech: AlsoKnown = {
  '': 'speed vol pitch timbre_weights timber_weights text_file_id subtitle_enable',
  voice_setting: 'english_normalization text_normalization latex_read',
  audio_setting: 'audio_sample_rate',
}

const Info = Type.Object(
  {
    audio_length: Type.Optional(Type.Integer({ description: 'Milliseconds.' })),
    audio_sample_rate: Type.Optional(Type.Integer()),
    audio_size: Type.Optional(Type.Integer()),
    bitrate: Type.Optional(Type.Integer()),
    audio_format: Type.Optional(Type.String()),
    audio_channel: Type.Optional(Type.Integer()),
    usage_characters: Type.Optional(
      Type.Integer({ description: 'What is billed; a Chinese character counts twice.' }),
    ),
  },
  { additionalProperties: true },
)

export const SpokenSchema = Type.Object({
  data: Type.Object({
    audio: Type.String({ description: 'Hexadecimal, or a URL that is good for 24 hours.' }),
    status: Type.Integer({ description: '2: all of it.' }),
  }),
  extra_info: Type.Optional(Info),
  trace_id: TraceId,
  base_resp: BaseRespSchema,
})

const TaskId = Type.String({ description: 'An int64, as its digits.' })
const FileId = Type.String({ description: 'The file the result is retrieved by.' })
const Characters = Type.Integer({ description: 'What is billed on success.' })

export const CreatedSpeechSchema = Type.Object({
  task_id: TaskId,
  file_id: FileId,
  platform_id: Type.String({ description: 'Our id of the task, `speech_<ULID>`.' }),
  usage_characters: Type.Optional(Characters),
  trace_id: TraceId,
  base_resp: BaseRespSchema,
})

export const SpeechTaskSchema = Type.Object({
  task_id: TaskId,
  platform_id: Type.String(),
  model: Type.String(),
  status: Type.Enum(['Processing', 'Success', 'Failed', 'Expired']),
  file_id: Type.Optional(FileId),
  usage_characters: Type.Optional(Characters),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
  trace_id: TraceId,
  base_resp: BaseRespSchema,
})

export const SpeechTaskQuerySchema = Type.Object({
  task_id: Type.String({ description: 'The task id, or the platform id.' }),
})

/** Of an upload, or of what asynchronous speech made. */
export const FileSchema = Type.Object({
  file_id: Type.String({ description: 'A positive integer in decimal.' }),
  bytes: Type.Optional(Type.Integer({ minimum: 0, description: 'Of an upload.' })),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  filename: Type.String(),
  purpose: Type.String({ description: 'As it was uploaded, or `t2a_async`.' }),
  download_url: Type.Optional(
    Type.String({ description: 'Of what asynchronous speech made: for nine hours.' }),
  ),
})
