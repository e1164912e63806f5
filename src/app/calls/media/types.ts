import type { CloneRequest } from '../../../domain/families/speech/clone-request.ts'
import type { UploadPurpose } from '../../../domain/upload/events.ts'
import type { Principal } from '../../access/principal.ts'
import type { IncomingMedia } from '../../media-ports.ts'
import type { OwnUpload, UploadKey } from '../../uploads/own-upload.ts'
import type { CallInput, CompletedCall } from '../types.ts'

/** What the API asks of the use cases of uploads and voices, and what it gets back; no HTTP here. */

export interface UploadInput {
  readonly principal: Principal
  readonly requestId: string
  readonly purpose: UploadPurpose
  /** As its uploader calls it, without a path. */
  readonly filename: string
  /** Read once, as it is sent; it may end in an error of its own. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface CloneInput extends CallInput {
  readonly request: CloneRequest
}

/** A voice that was cloned, as its caller gets to know. */
export interface Cloned {
  /** Why the sample is objectionable; undefined where it is not. */
  readonly inputSensitive: number | undefined
  /** Where the audition is to be heard. */
  readonly demoAudio: string | undefined
  /** Of the audition, where upstream says so. */
  readonly characters: number | undefined
}

/** Another tenant's upload or voice is answered as one that never was (P8). */
export interface MediaUseCases {
  /**
   * Sends a file on as it comes and records where it is.
   * @throws DomainError `rate_limited`, `no_channel`, `overloaded`, `object_too_large`, those of the
   *   log and of a provider's failure; what the body throws
   */
  readonly upload: (input: UploadInput) => Promise<OwnUpload>
  /** @throws DomainError `file_not_found`, those of the log */
  readonly findUpload: (key: UploadKey) => Promise<OwnUpload>
  /**
   * Opens what the account keeps of an upload.
   * @throws DomainError `file_not_found`, `overloaded`, `no_channel`, `kept_unavailable`, those of the
   *   log and of a provider's failure; the body fails by itself
   */
  readonly openUpload: (
    input: UploadKey & { readonly requestId: string; readonly signal: AbortSignal },
  ) => Promise<IncomingMedia & { readonly upload: OwnUpload }>
  /**
   * Clones a voice; its model is the offer to clone.
   * @throws DomainError those of every call, `invalid_request` naming a file, `voice_exists`
   */
  readonly clone: (input: CloneInput) => Promise<CompletedCall<Cloned>>
}
