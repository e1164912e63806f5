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

/** Whose upload, by its id. */
export interface UploadKey {
  readonly principal: Pick<Principal, 'tenantId'>
  /** As callers know it. */
  readonly fileId: string
}

/** What an upload is found by. */
export interface UploadLookup {
  readonly log: Pick<EventLog, 'readStream'>
  readonly clock: Clock
}

export type OwnUpload = UploadEventData<'MediaUploaded'>

/**
 * An upload of the tenant, from its one event: what was written a moment ago, by any process, is seen.
 * @throws DomainError `file_not_found`, also of another tenant's
 */
export async function findOwnUpload(
  { log, clock }: UploadLookup,
  { principal, fileId }: UploadKey,
): Promise<OwnUpload> {
  // What is no id names no stream.
  const events = isPositiveInt64(fileId) ? await log.readStream(uploadStream(fileId)) : []
  // A stream holds only events of its own aggregate: its name comes from that aggregate.
  const state = (events as readonly UploadEvent[]).reduce(
    uploadDecider.evolve,
    uploadDecider.initial,
  )
  return ownUpload(state, principal.tenantId, toTimestamp(clock.nowMs()))
}

/**
 * The upload that a member of a request names, where it is for this.
 * @throws DomainError `invalid_request` naming `param`: another tenant's reads like none (P8)
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
    if (isDomainError(error, 'file_not_found')) return refuse('names no file of yours')
    throw error
  })
  if (upload.purpose !== purpose) refuse(`names a file that was not uploaded for ${purpose}`)
  return upload
}
