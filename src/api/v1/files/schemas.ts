import { Type } from 'typebox'
import { filePurposes } from '../../../domain/file/events.ts'

const Purpose = Type.Enum([...filePurposes], { description: 'What it may be used for.' })

export const FileSchema = Type.Object({
  id: Type.String({ description: '`file-` and a ULID.' }),
  object: Type.Literal('file'),
  bytes: Type.Integer({ minimum: 0 }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  expires_at: Type.Optional(
    Type.Integer({ description: 'Unix seconds: from then on there is no such file.' }),
  ),
  filename: Type.String(),
  purpose: Purpose,
  status: Type.Literal('processed'),
})

export const FileListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.ReadonlyType(Type.Array(FileSchema)),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
})

export const DeletedFileSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('file'),
  deleted: Type.Literal(true),
})

export const FileParamsSchema = Type.Object({ id: Type.String() })

/** The most files a page has, also where none says how many. */
export const MAX_PAGE_FILES = 10_000

export const FileQuerySchema = Type.Object({
  after: Type.Optional(
    Type.String({ description: 'Id of a file of this list: the page begins after it.' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE_FILES })),
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], { description: 'By the time of upload; default `desc`.' }),
  ),
  purpose: Type.Optional(Purpose),
})

/** Of the form; how it is judged is said by the reader. */
export const UploadSchema = Type.Object({
  file: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }),
  purpose: Purpose,
})
