import { Type } from 'typebox'
import { uploadPurposes } from '../../../../domain/upload/events.ts'
import { BaseRespSchema, TraceId } from '../documentation.ts'

const Purpose = Type.Enum([...uploadPurposes], { description: 'What it is for.' })

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

export const FileAnswerSchema = Type.Object({
  file: FileSchema,
  trace_id: TraceId,
  base_resp: BaseRespSchema,
})

export const FileQuerySchema = Type.Object({
  file_id: Type.String({
    description: 'Of an upload, or the id of a task of asynchronous speech.',
  }),
})

/** Of the form; how it is judged is said by the reader. */
export const UploadSchema = Type.Object({
  purpose: Purpose,
  file: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }),
})
