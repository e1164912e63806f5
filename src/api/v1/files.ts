import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { FileUseCases, FileView, KeptBody } from '../../app/files/types.ts'
import { filePurposes, type FilePurpose } from '../../domain/file/events.ts'
import { dispositionOf } from '../kit/answers/answer-headers.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import type { FailureCode } from '../kit/failures/failure-table.ts'
import { type FormLimits, useForms, type FormFields, streamForm } from '../kit/bodies/multipart.ts'
import { tokenFailures, withBody } from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { describeV1 } from './documentation.ts'
import { checkFilename } from '../../domain/file/filename.ts'
import { DomainError } from '../../kernel/errors.ts'
import { isForm } from '../kit/bodies/body-budget.ts'
import { RequestError } from '../kit/request-error.ts'

function refuse(param: string, message: string): never {
  throw new DomainError('invalid_request', message, { param })
}

function purposeOf(fields: FormFields): FilePurpose {
  const other = Object.keys(fields).find((name) => name !== 'purpose')
  if (other === 'file') refuse('file', '`file` must be a file: a part with a file name')
  if (other !== undefined) refuse(other, 'The form may have the fields `file` and `purpose` only')
  const { purpose } = fields
  if (purpose === undefined) refuse('purpose', '`purpose` is required')
  const known = filePurposes.find((one) => one === purpose)
  return known ?? refuse('purpose', `\`purpose\` must be ${filePurposes.join(' or ')}`)
}

/**
 * Accepts an upload: the bytes go into storage as they arrive, and are deleted if another part of
 * the form is wrong.
 *
 * @throws DomainError of the use cases, `invalid_request`; RequestError
 */
async function takeUpload(
  request: FastifyRequest,
  files: FileUseCases,
  limits: FormLimits,
): Promise<FileView> {
  if (!isForm(request))
    throw new RequestError(
      'media_type_unsupported',
      'The request body must be sent as multipart/form-data',
    )
  let upload: { readonly kept: KeptBody; readonly filename: string } | undefined
  try {
    const fields = await streamForm(request, limits, async ({ name, filename, body }) => {
      if (name !== 'file') refuse(name, 'The file must be in the field `file`')
      if (upload !== undefined) refuse('file', 'Files are uploaded one at a time')
      checkFilename(filename, 'file')
      upload = { kept: await files.keep(principalOf(request), body), filename }
    })
    const purpose = purposeOf(fields)
    if (upload === undefined) refuse('file', '`file` is required')
    const { kept, filename } = upload
    // From now on the use case deletes bytes that it cannot record.
    upload = undefined
    const by = { principal: principalOf(request), requestId: request.id }
    return await files.record(kept, { ...by, purpose, filename })
  } finally {
    if (upload !== undefined) await files.discard(upload.kept)
  }
}

type FileServices = Pick<Services, 'files' | 'http'>

const tag = { tag: 'Files' } as const

const ofAll: readonly FailureCode[] = [
  ...tokenFailures,
  'storage_not_configured',
  'log_unavailable',
  'database_unavailable',
]
const ofOne: readonly FailureCode[] = [...ofAll, 'file_not_found']

function toFile(file: FileView) {
  return {
    id: file.fileId,
    object: 'file' as const,
    bytes: file.sizeBytes,
    created_at: Math.floor(file.uploadedAtMs / 1_000),
    ...(file.expiresAtMs === undefined ? {} : { expires_at: Math.floor(file.expiresAtMs / 1_000) }),
    filename: file.filename,
    purpose: file.purpose,
    // The bytes are complete before the file exists.
    status: 'processed' as const,
  }
}

function uploadRoute(app: FastifyInstance, { files, http }: FileServices): void {
  app.post('/files', {
    config: { isFree: true },
    // A form is read as it comes; the schema only documents.
    validatorCompiler: () => () => true,
    schema: {
      ...describeV1({
        ...tag,
        operationId: 'uploadFile',
        summary: 'Upload a file',
        ok: FileSchema,
        failures: [
          ...ofAll,
          ...withBody,
          'tenant_suspended',
          'user_suspended',
          'overloaded',
          'invalid_request',
          'rate_limited',
          'upload_quota_reached',
          'object_too_large',
          'read_model_behind',
          'storage_full',
          'storage_unavailable',
          'log_outcome_unknown',
        ],
      }),
      consumes: ['multipart/form-data'],
      body: UploadSchema,
    },
    handler: async (request) => toFile(await takeUpload(request, files.kept, http.forms.file)),
  })
}

function readingRoutes(instance: FastifyInstance, { files: { kept: files } }: FileServices): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/files', {
    schema: {
      ...describeV1({
        ...tag,
        operationId: 'listFiles',
        summary: 'List the files of the tenant',
        ok: FileListSchema,
        failures: [...ofAll, 'read_model_behind', 'invalid_request'],
      }),
      querystring: FileQuerySchema,
    },
    handler: async (request) => {
      const { after, limit = MAX_PAGE_FILES, order = 'desc', purpose } = request.query
      const principal = principalOf(request)
      const page = await files.list({ principal, purpose, order, after, limit })
      const data = page.files.map(toFile)
      return {
        object: 'list' as const,
        data,
        first_id: data.at(0)?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: page.hasMore,
      }
    },
  })
  app.get('/files/:id', {
    schema: {
      ...describeV1({
        ...tag,
        operationId: 'getFile',
        summary: 'Show a file',
        ok: FileSchema,
        failures: ofOne,
      }),
      params: FileParamsSchema,
    },
    handler: async (request) =>
      toFile(await files.find({ principal: principalOf(request), fileId: request.params.id })),
  })
}

/** `/v1/files`, registered below `/v1`. */
export function filesPlugin(services: FileServices) {
  return async (instance: FastifyInstance): Promise<void> => {
    await useForms(instance)
    uploadRoute(instance, services)
    readingRoutes(instance, services)
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    app.get('/files/:id/content', {
      schema: {
        ...describeV1({
          ...tag,
          operationId: 'downloadFile',
          summary: 'Download a file',
          ok: undefined,
          files: { 'application/octet-stream': 'The bytes as they were uploaded.' },
          failures: [...ofOne, 'storage_unavailable'],
        }),
        params: FileParamsSchema,
      },
      handler: async (request, reply) => {
        const principal = principalOf(request)
        const { file, body } = await services.files.kept.open({
          principal,
          fileId: request.params.id,
        })
        void reply.headers({
          'content-length': String(file.sizeBytes),
          'content-disposition': dispositionOf(file.filename),
          'cache-control': 'private',
        })
        return reply.type('application/octet-stream').send(body)
      },
    })
    app.delete('/files/:id', {
      schema: {
        ...describeV1({
          ...tag,
          operationId: 'deleteFile',
          summary: 'Delete a file',
          ok: DeletedFileSchema,
          failures: [...ofOne, ...withBody, 'log_outcome_unknown'],
        }),
        params: FileParamsSchema,
      },
      handler: async (request) => {
        const { id } = request.params
        const principal = principalOf(request)
        await services.files.kept.remove({ principal, requestId: request.id, fileId: id })
        return { id, object: 'file' as const, deleted: true as const }
      },
    })
  }
}

const Purpose = Type.Enum([...filePurposes], { description: 'What the file may be used for.' })

const FileSchema = Type.Object(
  {
    id: Type.String({ description: '`file-` and a ULID.' }),
    object: Type.Literal('file'),
    bytes: Type.Integer({ minimum: 0 }),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    expires_at: Type.Optional(
      Type.Integer({ description: 'Unix seconds after which the file no longer exists.' }),
    ),
    filename: Type.String(),
    purpose: Purpose,
    status: Type.Literal('processed'),
  },
  { named: 'StoredFile' },
)

const FileListSchema = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.ReadonlyType(Type.Array(FileSchema)),
    first_id: Type.Union([Type.String(), Type.Null()]),
    last_id: Type.Union([Type.String(), Type.Null()]),
    has_more: Type.Boolean(),
  },
  { named: 'FileList' },
)

const DeletedFileSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('file'),
    deleted: Type.Literal(true),
  },
  { named: 'DeletedFile' },
)

const FileParamsSchema = Type.Object({ id: Type.String() })

/** The most files of a page, also its default. */
const MAX_PAGE_FILES = 10_000

const FileQuerySchema = Type.Object({
  after: Type.Optional(Type.String({ description: 'Id of a file; the page begins after it.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE_FILES })),
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], { description: 'Order by time of upload; default `desc`.' }),
  ),
  purpose: Type.Optional(Purpose),
})

/** Documents the form; its reader checks it. */
const UploadSchema = Type.Object(
  {
    file: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }),
    purpose: Purpose,
  },
  { named: 'FileUpload', examples: [{ file: 'boat.png', purpose: 'vision' }] },
)
