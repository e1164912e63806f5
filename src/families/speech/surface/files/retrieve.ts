import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { MediaUseCases } from '../../../../app/calls/media/types.ts'
import type { TaskUseCases, TaskView } from '../../../../app/tasks/types.ts'
import type { OwnUpload } from '../../../../app/uploads/own-upload.ts'
import { SPEECH } from '../../../../domain/families/speech/rules.ts'
import { fromTimestamp } from '../../../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../../../kernel/errors.ts'
import { principalOf } from '../../../../api/kit/authenticate.ts'
import { callerGone } from '../../../../api/kit/caller.ts'
import { dispositionOf } from '../../../../api/kit/disposition.ts'
import { isTaskId } from '../../../../api/kit/task-id.ts'
import type { FileSchema } from './schemas.ts'

type File = Static<typeof FileSchema>

/** What an id may name, and what finds it. */
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
 * What an id names: an upload, or what asynchronous speech made, which goes by the id of its task.
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
 * The bytes of the same, as they come.
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
  // Whatever else upstream calls it must not be shown as a page of ours.
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
