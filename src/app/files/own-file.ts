import { fileDecider, ownFile } from '../../domain/file/decider.ts'
import { type FileEvent, fileStream } from '../../domain/file/events.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { isFileId } from '../../kernel/ids.ts'
import { fileKey } from '../../storage/object-key.ts'
import { storageUnavailable } from '../../storage/errors.ts'
import type { ObjectStore } from '../../storage/types.ts'
import type { FileDeps } from './deps.ts'
import type { FileKey, FileView, OpenedFile } from './types.ts'

/** @throws DomainError `storage_not_configured` */
export function storeOf({ store }: Pick<FileDeps, 'store'>): ObjectStore {
  if (store === undefined)
    throw new DomainError('storage_not_configured', 'no object storage is configured', {})
  return store
}

/** The dependencies of finding a file. */
interface FileLookUp extends Pick<FileDeps, 'clock'> {
  readonly log: Pick<FileDeps['log'], 'readStream'>
}

/**
 * A file of the tenant, read from its stream of at most two events, so that any process's last
 * write counts. @throws DomainError `file_not_found`
 */
export async function findOwnFile(
  { log, clock }: FileLookUp,
  { principal, fileId }: FileKey,
): Promise<FileView> {
  // A text that is not an id of ours names no stream.
  const events = isFileId(fileId) ? await log.readStream(fileStream(fileId)) : []
  // The stream name comes from this aggregate, so the stream holds only its events.
  const state = (events as readonly FileEvent[]).reduce(fileDecider.evolve, fileDecider.initial)
  const file = ownFile(state, principal.tenantId, toTimestamp(clock.nowMs()))
  const { purpose, filename, sizeBytes, uploadedAt, expiresAt } = file
  return {
    fileId,
    purpose,
    filename,
    sizeBytes,
    uploadedAtMs: fromTimestamp(uploadedAt),
    expiresAtMs: expiresAt === undefined ? undefined : fromTimestamp(expiresAt),
  }
}

/** The file with its bytes. @throws DomainError `file_not_found`, `storage_unavailable` */
export async function openOwnFile(
  deps: FileLookUp & Pick<FileDeps, 'store'>,
  key: FileKey,
): Promise<OpenedFile> {
  const store = storeOf(deps)
  const file = await findOwnFile(deps, key)
  const object = await store.open(fileKey(file.fileId))
  // The log has the file: someone outside the gateway removed its bytes.
  if (object === undefined)
    throw storageUnavailable('refused', new Error('the bytes of a file are gone'))
  return { file, body: object.body }
}
