import { DomainError } from '../../kernel/errors.ts'
import { hasExpired } from '../file/decider.ts'
import type { Decider } from '../decider.ts'
import type { UploadEvent, UploadEventData } from './events.ts'

type Uploaded = UploadEventData<'MediaUploaded'>

/** One upload id: free, or permanently taken. */
export type UploadState =
  | { readonly phase: 'none' }
  | { readonly phase: 'uploaded'; readonly file: Uploaded }

interface UploadCommand {
  readonly kind: 'upload'
  readonly file: Uploaded
}

/** A taken id decides to no event: the caller tries another id. */
export const uploadDecider: Decider<UploadState, UploadCommand, UploadEvent> = {
  initial: { phase: 'none' },
  decide: ({ file }, state) =>
    state.phase === 'none' ? [{ type: 'MediaUploaded', data: file }] : [],
  evolve: (_state, event) => ({ phase: 'uploaded', file: event.data }),
}

/** The upload, where it is this tenant's and has not expired; `at` is RFC 3339. @throws DomainError `file_not_found` */
export function ownUpload(state: UploadState, tenantId: string, at: string): Uploaded {
  if (state.phase !== 'uploaded' || state.file.tenantId !== tenantId || hasExpired(state.file, at))
    throw new DomainError('file_not_found', 'the file does not exist', {})
  return state.file
}
