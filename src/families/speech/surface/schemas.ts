import { Type } from 'typebox'
import { BaseRespSchema, TraceId } from './envelope.ts'

/** Shapes of answers of speech. */

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
