import type { FastifyRequest } from 'fastify'
import type { FileUseCases, FileView, KeptBody } from '../../../app/files/types.ts'
import { filePurposes, type FilePurpose } from '../../../domain/file/events.ts'
import { checkFilename } from '../../../domain/file/filename.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { principalOf } from '../../kit/authenticate.ts'
import { isForm } from '../../kit/media-type.ts'
import { type FormFields, type FormLimits, streamForm } from '../../kit/multipart.ts'
import { RequestError } from '../../kit/request-error.ts'

function refuse(param: string, message: string): never {
  throw new DomainError('invalid_request', message, { param })
}

function purposeOf(fields: FormFields): FilePurpose {
  const other = Object.keys(fields).find((name) => name !== 'purpose')
  if (other === 'file') refuse('file', '`file` must be a file: a part with a file name')
  if (other !== undefined) refuse(other, 'A form with a file may have `file` and `purpose`')
  const { purpose } = fields
  if (purpose === undefined) refuse('purpose', '`purpose` is required')
  const known = filePurposes.find((one) => one === purpose)
  return known ?? refuse('purpose', `\`purpose\` must be ${filePurposes.join(' or ')}`)
}

/**
 * Takes an upload: the bytes go into storage as they come, and are let go of again where anything else
 * of the form is wrong.
 *
 * @throws DomainError of the use cases, `invalid_request`; RequestError
 */
export async function takeUpload(
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
      if (name !== 'file') refuse(name, 'A form with a file has it in `file`')
      if (upload !== undefined) refuse('file', 'Files are uploaded one at a time')
      checkFilename(filename, 'file')
      upload = { kept: await files.keep(principalOf(request), body), filename }
    })
    const purpose = purposeOf(fields)
    if (upload === undefined) refuse('file', '`file` is required')
    const { kept, filename } = upload
    // From here on the use case lets go of what it cannot record.
    upload = undefined
    const by = { principal: principalOf(request), requestId: request.id }
    return await files.record(kept, { ...by, purpose, filename })
  } finally {
    if (upload !== undefined) await files.discard(upload.kept)
  }
}
