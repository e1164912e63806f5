import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { type Static, Type } from 'typebox'
import { principalOf } from '../../../api/kit/tokens/authenticate.ts'
import { callerGone } from '../../../api/kit/routes/calls.ts'
import { dispositionOf } from '../../../api/kit/answers/answer-headers.ts'
import { isForm } from '../../../api/kit/bodies/body-budget.ts'
import {
  type FormFields,
  type FormFile,
  type FormLimits,
  streamForm,
} from '../../../api/kit/bodies/multipart.ts'
import { RequestError } from '../../../api/kit/request-error.ts'
import { isTaskId } from '../../../api/kit/routes/tasks.ts'
import type { MediaUseCases } from '../../../app/calls/uploads/types.ts'
import type { TaskUseCases, TaskView } from '../../../app/tasks/types.ts'
import type { OwnUpload } from '../../../app/files/uploads/own-upload.ts'
import { SPEECH } from '../rules/rules.ts'
import { checkFilename } from '../../../domain/file/filename.ts'
import { type UploadPurpose, uploadPurposes } from '../../../domain/upload/events.ts'
import { fromTimestamp } from '../../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'

/** The id of an upload, or of the result of asynchronous speech. */
export const FileSchema = Type.Object(
  {
    file_id: Type.String({ description: 'A positive integer in decimal.' }),
    bytes: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Size in bytes; only for an upload.' }),
    ),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    filename: Type.String(),
    purpose: Type.String({
      description: 'Purpose of the upload, or `t2a_async` for asynchronous speech.',
    }),
    download_url: Type.Optional(
      Type.String({
        description: 'URL of the audio of asynchronous speech; valid for nine hours.',
      }),
    ),
  },
  { named: 'MediaFile' },
)

function refuse(param: string, message: string): never {
  throw new DomainError('invalid_request', message, { param })
}

function purposeOf(fields: FormFields): UploadPurpose {
  const other = Object.keys(fields).find((name) => name !== 'purpose')
  if (other === 'file') refuse('file', '`file` must be a file: a part with a file name')
  if (other !== undefined)
    refuse(other, `\`${other}\` is not a field of this form, which has \`purpose\` and \`file\``)
  const { purpose } = fields
  if (purpose === undefined) refuse('purpose', '`purpose` is required')
  const known = uploadPurposes.find((one) => one === purpose)
  return known ?? refuse('purpose', `\`purpose\` must be one of ${uploadPurposes.join(', ')}`)
}

/** An upload on its way while its form is still read. */
interface Passing {
  /** Settles with the upload itself. */
  readonly sent: Promise<OwnUpload>
  /** Called once the whole form was checked: completes the upload, or aborts it with the fault. */
  readonly end: (fault?: unknown) => void
}

type Send = (file: {
  readonly purpose: UploadPurpose
  readonly filename: string
  readonly body: AsyncIterable<Uint8Array>
}) => Promise<OwnUpload>

/** Forwards a file as it arrives; resolves when all of it was read, or the upload ended earlier. */
async function pass(send: Send, purpose: UploadPurpose, file: FormFile): Promise<Passing> {
  let end: Passing['end'] = () => undefined
  const rest = new Promise<void>((resolve, reject) => {
    end = (fault) => (fault === undefined ? resolve() : reject(fault))
  })
  // The rest may fail after the caller stopped waiting for it.
  rest.catch(() => undefined)
  let taken: () => void = () => undefined
  const whole = new Promise<void>((resolve) => (taken = resolve))
  const body = async function* (): AsyncGenerator<Uint8Array, void> {
    yield* file.body as AsyncIterable<Uint8Array>
    taken()
    await rest
  }
  const sent = send({ purpose, filename: file.filename, body: body() })
  await Promise.race([whole, sent])
  return { sent, end }
}

/** A file that arrived before its purpose, in pieces; each piece is freed once it is sent. */
async function* fromHeld(pieces: Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) yield piece
}

async function held(file: FormFile): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for await (const piece of file.body as AsyncIterable<Uint8Array>) pieces.push(piece)
  return pieces
}

/**
 * Accepts an upload. If its purpose comes first, its bytes are forwarded as they arrive; if it
 * comes last, they are held until then.
 *
 * @throws DomainError of the use cases, `invalid_request`; RequestError
 */
export async function takeUpload(
  request: FastifyRequest,
  media: MediaUseCases,
  limits: FormLimits,
): Promise<OwnUpload> {
  if (!isForm(request))
    throw new RequestError(
      'media_type_unsupported',
      'The request body must be sent as multipart/form-data',
    )
  const by = { principal: principalOf(request), requestId: request.id }
  const send: Send = (file) => media.upload({ ...by, ...file })
  let passing: Passing | undefined
  let waiting: { readonly filename: string; readonly pieces: Uint8Array[] } | undefined
  try {
    const fields = await streamForm(request, limits, async (file) => {
      const { name, filename, before } = file
      if (name !== 'file') refuse(name, 'The file must be in the field `file`')
      if (passing !== undefined || waiting !== undefined)
        refuse('file', 'Files are uploaded one at a time')
      checkFilename(filename, 'file')
      if (before['purpose'] === undefined) waiting = { filename, pieces: await held(file) }
      else passing = await pass(send, purposeOf(before), file)
    })
    const purpose = purposeOf(fields)
    if (waiting !== undefined) {
      const { filename, pieces } = waiting
      return await send({ purpose, filename, body: fromHeld(pieces) })
    }
    if (passing === undefined) refuse('file', '`file` is required')
    passing.end()
    return await passing.sent
  } catch (error) {
    if (passing === undefined) throw error
    passing.end(error)
    // The caller gets the fault of the form, not the failure of the upload that follows from it.
    await passing.sent.catch(() => undefined)
    throw error
  }
}

type File = Static<typeof FileSchema>

/** The kinds of things that an id may name, and how to find each. */
interface Files {
  readonly media: MediaUseCases
  readonly tasks: TaskUseCases
}

/** An upload as callers see it. */
export function uploadShown(upload: OwnUpload): File {
  return {
    file_id: upload.fileId,
    bytes: upload.sizeBytes,
    created_at: secondsOf(fromTimestamp(upload.uploadedAt)),
    filename: upload.filename,
    purpose: upload.purpose,
  }
}

/**
 * Finds an upload by its id, or the result of asynchronous speech by the id of its task.
 * @throws DomainError `file_not_found`, whatever it is that is not there; those of both
 */
export async function retrieveFile(
  { media, tasks }: Files,
  fileId: string,
  request: FastifyRequest,
): Promise<File> {
  const principal = principalOf(request)
  try {
    return uploadShown(await media.findUpload({ principal, fileId }))
  } catch (error) {
    if (!isDomainError(error, 'file_not_found') || !isTaskId(fileId)) throw error
  }
  const asked = { principal, family: SPEECH, id: fileId, requestId: request.id }
  const view = await tasks.getTask(asked).catch((error: unknown) => {
    throw isDomainError(error, 'task_not_found') ? notThere() : error
  })
  if (view.status !== 'succeeded') throw notThere()
  return speechShown(fileId, view)
}

/**
 * Streams the bytes of an upload or a result.
 * @throws DomainError `file_not_found`, whatever it is that is not there; those of both
 */
export async function sendFile(
  { media, tasks }: Files,
  fileId: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const principal = principalOf(request)
  const { signal } = callerGone(reply)
  const asked = { principal, requestId: request.id, signal }
  try {
    const { upload, sizeBytes, body } = await media.openUpload({ ...asked, fileId })
    return send(reply, { filename: upload.filename, sizeBytes, type: undefined, body })
  } catch (error) {
    if (!isDomainError(error, 'file_not_found') || !isTaskId(fileId)) throw error
  }
  let format = ''
  const linkOf = ({ status, settings }: TaskView): string => {
    if (status !== 'succeeded') throw notThere()
    format = String(settings['format'])
    return 'download_url'
  }
  const { headers, body } = await tasks
    .openResult({ ...asked, family: SPEECH, id: fileId, linkOf, range: undefined })
    .catch((error: unknown) => {
      throw isDomainError(error, 'task_not_found') ? notThere() : error
    })
  const length = headers['content-length']
  const sizeBytes = length === undefined ? undefined : Number(length)
  const type = headers['content-type']
  return send(reply, { filename: `${fileId}.${format}`, sizeBytes, type, body })
}

function send(
  reply: FastifyReply,
  file: {
    readonly filename: string
    readonly sizeBytes: number | undefined
    readonly type: string | undefined
    readonly body: Readable
  },
): FastifyReply {
  const { filename, sizeBytes, type = '', body } = file
  void reply.headers({
    ...(sizeBytes === undefined ? {} : { 'content-length': String(sizeBytes) }),
    'content-disposition': dispositionOf(filename),
    'cache-control': 'private',
  })
  // A browser must not render any other type as a page of the gateway.
  return reply.type(type.startsWith('audio/') ? type : 'application/octet-stream').send(body)
}

function speechShown(fileId: string, { settings, updatedAtMs, urls }: TaskView): File {
  const url = urls?.['download_url']
  return {
    file_id: fileId,
    created_at: secondsOf(updatedAtMs),
    filename: `${fileId}.${String(settings['format'])}`,
    purpose: 't2a_async',
    ...(url === undefined ? {} : { download_url: url }),
  }
}

function notThere(): DomainError {
  return new DomainError('file_not_found', 'the file does not exist', {})
}

function secondsOf(atMs: number): number {
  return Math.floor(atMs / 1_000)
}
