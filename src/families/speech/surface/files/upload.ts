import type { FastifyRequest } from 'fastify'
import type { MediaUseCases } from '../../../../app/calls/media/types.ts'
import type { OwnUpload } from '../../../../app/uploads/own-upload.ts'
import { checkFilename } from '../../../../domain/file/filename.ts'
import { uploadPurposes, type UploadPurpose } from '../../../../domain/upload/events.ts'
import { DomainError } from '../../../../kernel/errors.ts'
import { principalOf } from '../../../../api/kit/authenticate.ts'
import { isForm } from '../../../../api/kit/media-type.ts'
import {
  type FormFields,
  type FormFile,
  type FormLimits,
  streamForm,
} from '../../../../api/kit/multipart.ts'
import { RequestError } from '../../../../api/kit/request-error.ts'

function refuse(param: string, message: string): never {
  throw new DomainError('invalid_request', message, { param })
}

function purposeOf(fields: FormFields): UploadPurpose {
  const other = Object.keys(fields).find((name) => name !== 'purpose')
  if (other === 'file') refuse('file', '`file` must be a file: a part with a file name')
  if (other !== undefined)
    refuse(other, `\`${other}\` is no part of this form, which has \`purpose\` and \`file\``)
  const { purpose } = fields
  if (purpose === undefined) refuse('purpose', '`purpose` is required')
  const known = uploadPurposes.find((one) => one === purpose)
  return known ?? refuse('purpose', `\`purpose\` must be one of ${uploadPurposes.join(', ')}`)
}

/** An upload on its way while its form is still read. */
interface Passing {
  /** Settles with the upload itself. */
  readonly sent: Promise<OwnUpload>
  /** The form is right to its end, or is not: only then what is sent is ended, or broken off. */
  readonly end: (fault?: unknown) => void
}

type Send = (file: {
  readonly purpose: UploadPurpose
  readonly filename: string
  readonly body: AsyncIterable<Uint8Array>
}) => Promise<OwnUpload>

/** Sends a file on as it comes; resolves when the last of it was taken, or the upload ended before. */
async function pass(send: Send, purpose: UploadPurpose, file: FormFile): Promise<Passing> {
  let end: Passing['end'] = () => undefined
  const rest = new Promise<void>((resolve, reject) => {
    end = (fault) => (fault === undefined ? resolve() : reject(fault))
  })
  // It may fail with nobody waiting for it any more.
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

/** A file that came before its purpose, in the pieces it came in; each goes as it is sent. */
async function* fromHeld(pieces: Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) yield piece
}

async function held(file: FormFile): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for await (const piece of file.body as AsyncIterable<Uint8Array>) pieces.push(piece)
  return pieces
}

/**
 * Takes an upload: where its purpose comes first its bytes pass through as they come, where it comes
 * last they are held once until then.
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
      if (name !== 'file') refuse(name, 'A form with a file has it in `file`')
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
    // What is wrong with the form is said, and not how sending it ended then.
    await passing.sent.catch(() => undefined)
    throw error
  }
}
