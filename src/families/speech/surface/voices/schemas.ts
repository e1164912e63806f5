import { Type } from 'typebox'
import { BaseRespSchema, TraceId } from '../documentation.ts'

const FileId = Type.Union([Type.String(), Type.Integer()], {
  description: 'From a file upload, best written as a string.',
})
const flag = Type.Optional(Type.Boolean())

/** Its rules are in the domain, which names what it refuses. */
export const CloneBodySchema = Type.Object({
  file_id: FileId,
  voice_id: Type.String({
    description:
      'What it is to be called: 8 to 256 letters, digits, `-` and `_`, a letter first, a letter or digit last.',
  }),
  clone_prompt: Type.Optional(
    Type.Object({
      prompt_audio: Type.Optional(FileId),
      prompt_text: Type.Optional(Type.String({ description: 'What is said in it.' })),
    }),
  ),
  text: Type.Optional(Type.String({ description: 'What it is to say at once.', maxLength: 1_000 })),
  model: Type.Optional(Type.String({ description: 'That says it; required with `text`.' })),
  language_boost: Type.Optional(Type.String()),
  need_noise_reduction: flag,
  need_volume_normalization: flag,
  aigc_watermark: flag,
  text_validation: Type.Optional(Type.String()),
  accuracy: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
})

export const ClonedSchema = Type.Object({
  input_sensitive: Type.Optional(
    Type.Object({ type: Type.Integer({ description: 'Why the sample is objectionable.' }) }),
  ),
  demo_audio: Type.Optional(Type.String({ description: 'URL of the audition.' })),
  extra_info: Type.Optional(
    Type.Object({ usage_characters: Type.Integer({ description: 'Of the audition.' }) }),
  ),
  trace_id: TraceId,
  base_resp: BaseRespSchema,
})
