import { buffer } from 'node:stream/consumers'
import { imageMediaType } from '../../../domain/families/checks/image-bytes.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import type { FileDeps } from '../../files/deps.ts'
import { findOwnFile, openOwnFile } from '../../files/own-file.ts'
import type { OpenImageFile } from './deps.ts'

/** Of a file that is taken as a picture: as of one that is sent along. */
const MAX_FILE_BYTES = 50 * 1024 * 1024

/** Opens files of tenants as pictures. */
export function createOpenImageFile(
  deps: Pick<FileDeps, 'log' | 'store' | 'clock'>,
): OpenImageFile {
  return async ({ tenantId }, { fileId, param }) => {
    const refuse = (why: string): never => {
      throw new DomainError('invalid_request', `\`${param}\` ${why}`, { param })
    }
    const key = { principal: { tenantId }, fileId }
    const notThere = (error: unknown): never => {
      // Another tenant's reads like none (P8).
      if (isDomainError(error, 'file_not_found')) refuse('names no file of yours')
      throw error
    }
    const { sizeBytes } = await findOwnFile(deps, key).catch(notThere)
    if (sizeBytes > MAX_FILE_BYTES)
      refuse(`names a file of more than ${MAX_FILE_BYTES / 1024 / 1024} MiB`)
    const { body } = await openOwnFile(deps, key).catch(notThere)
    const bytes = await buffer(body)
    const mediaType = imageMediaType(bytes) ?? refuse('names a file that is no PNG, JPEG or WebP')
    return { from: 'upload', bytes, mediaType }
  }
}
