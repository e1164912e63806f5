import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { FailureCode } from '../../../api/kit/failures/failure-table.ts'
import { useForms } from '../../../api/kit/bodies/multipart.ts'
import { tokenFailures, ownParts, withBody } from '../../../api/kit/failures/route-failures.ts'
import type { Services } from '../../../api/kit/services.ts'
import { uploadPurposes } from '../../../domain/upload/events.ts'
import { BaseRespSchema, describeSpeech, ofAccount, succeeded, TraceId } from './envelope.ts'
import { FileSchema, retrieveFile, sendFile, takeUpload, uploadShown } from './file-transfers.ts'

const Purpose = Type.Enum([...uploadPurposes], { description: 'What the file may be used for.' })

const FileAnswerSchema = Type.Object(
  {
    file: FileSchema,
    trace_id: TraceId,
    base_resp: BaseRespSchema,
  },
  { named: 'MediaFileAnswer' },
)

const FileQuerySchema = Type.Object({
  file_id: Type.String({
    description: 'Id of an upload, or of a task of asynchronous speech.',
  }),
  ...ofAccount,
})

/** Documents the form; its reader checks it. */
const UploadSchema = Type.Object(
  {
    purpose: Purpose,
    file: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }),
  },
  { examples: [{ purpose: 'voice_clone', file: 'voice.wav' }] },
)

const uploadFailures: readonly FailureCode[] = [
  ...tokenFailures,
  ...withBody,
  'tenant_suspended',
  'user_suspended',
  'invalid_request',
  'overloaded',
  'no_channel',
  'object_too_large',
  'rate_limited',
  'upload_quota_reached',
  'storage_full',
  'read_model_behind',
  'log_unavailable',
  'log_outcome_unknown',
  'call_refused',
  'refused_invalid',
  'refused_account',
  'upstream_unavailable',
  'upstream_timeout',
  'call_cut_off',
  'upstream_malformed',
]

const downloads = {
  'application/octet-stream': 'The bytes of an upload.',
  'audio/mpeg': 'The audio, in its format.',
  'audio/wav': 'The same.',
  'audio/flac': 'The same.',
  'audio/pcm': 'The same.',
}

const downloadFailures: readonly FailureCode[] = [
  ...ownParts,
  'file_not_found',
  'result_not_available',
  'overloaded',
  'kept_unavailable',
  'refused_invalid',
  'refused_account',
  'upstream_unavailable',
  'upstream_timeout',
  'upstream_malformed',
]

type FileServices = Pick<Services, 'files' | 'tasks' | 'http'>

/** Files that accounts keep, to be registered below `/provB/v1`. */
export function mediaFilesPlugin({ files: { media }, tasks, http }: FileServices) {
  return async (instance: FastifyInstance): Promise<void> => {
    await useForms(instance)
    instance.post('/files/upload', {
      config: { isFree: true },
      // A form is read as it comes; the schema only documents.
      validatorCompiler: () => () => true,
      schema: {
        ...describeSpeech({
          tag: 'Files',
          operationId: 'uploadMedia',
          summary: 'Upload a voice sample or a media file for a video',
          ok: FileAnswerSchema,
          failures: uploadFailures,
        }),
        consumes: ['multipart/form-data'],
        body: UploadSchema,
      },
      handler: async (request) => {
        const upload = await takeUpload(request, media, http.forms.media)
        return { file: uploadShown(upload), ...succeeded(request) }
      },
    })
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    app.get('/files/retrieve', {
      schema: {
        ...describeSpeech({
          tag: 'Files',
          operationId: 'retrieveMedia',
          summary: 'Show an upload or the audio of asynchronous speech',
          ok: FileAnswerSchema,
          failures: [...ownParts, 'file_not_found'],
        }),
        querystring: FileQuerySchema,
      },
      handler: async (request, reply) => {
        const file = await retrieveFile({ media, tasks }, request.query.file_id, request)
        void reply.header('cache-control', 'no-store')
        return { file, ...succeeded(request) }
      },
    })
    app.get('/files/retrieve_content', {
      schema: {
        ...describeSpeech({
          tag: 'Files',
          operationId: 'downloadMedia',
          summary: 'Download an upload or the audio of asynchronous speech',
          ok: undefined,
          others: downloads,
          failures: downloadFailures,
        }),
        querystring: FileQuerySchema,
      },
      handler: (request, reply) =>
        sendFile({ media, tasks }, request.query.file_id, request, reply),
    })
  }
}
