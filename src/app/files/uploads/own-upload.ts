import { ownUpload, uploadDecider } from '../../../domain/upload/decider.ts'
import {
  type UploadEvent,
  type UploadEventData,
  uploadStream,
} from '../../../domain/upload/events.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { type Clock, toTimestamp } from '../../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import { isPositiveInt64 } from '../../../kernel/int64.ts'
import type { Principal } from '../../access/principal.ts'

/** A tenant's upload, by its id. */
export interface UploadKey {
  readonly principal: Pick<Principal, 'tenantId'>
  /** The id that callers use. */
  readonly fileId: string
}

/** The dependencies of finding an upload. */
export interface UploadLookup {
  readonly log: Pick<EventLog, 'readStream'>
  readonly clock: Clock
}

export type OwnUpload = UploadEventData<'MediaUploaded'>

/**
 * An upload of the tenant, read from its stream of one event, so that any process's last write
 * counts.
 * @throws DomainError `file_not_found`, also for another tenant's
 */
export async function findOwnUpload(
  { log, clock }: UploadLookup,
  { principal, fileId }: UploadKey,
): Promise<OwnUpload> {
  // A text that is no id names no stream.
  const events = isPositiveInt64(fileId) ? await log.readStream(uploadStream(fileId)) : []
  // The stream name comes from this aggregate, so the stream holds only its events.
  const state = (events as readonly UploadEvent[]).reduce(
    uploadDecider.evolve,
    uploadDecider.initial,
  )
  return ownUpload(state, principal.tenantId, toTimestamp(clock.nowMs()))
}

/**
 * The upload that a member of a request names, if it has this purpose.
 * @throws DomainError `invalid_request` naming `param`: another tenant's reads like a missing one
 *   (P8)
 */
export async function namedUpload(
  deps: UploadLookup,
  key: UploadKey,
  { param, purpose }: { readonly param: string; readonly purpose: OwnUpload['purpose'] },
): Promise<OwnUpload> {
  const refuse = (why: string): never => {
    throw new DomainError('invalid_request', `\`${param}\` ${why}`, { param })
  }
  const upload = await findOwnUpload(deps, key).catch((error: unknown) => {
    if (isDomainError(error, 'file_not_found')) return refuse('names no file of the tenant')
    throw error
  })
  if (upload.purpose !== purpose) refuse(`names a file that was not uploaded for ${purpose}`)
  return upload
}
