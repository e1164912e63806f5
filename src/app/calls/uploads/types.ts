import type { UploadPurpose } from '../../../domain/upload/events.ts'
import type { Principal } from '../../access/principal.ts'
import type { IncomingMedia } from '../../media-ports.ts'
import type { OwnUpload, UploadKey } from '../../uploads/own-upload.ts'

/** What the API asks of the use cases of uploads, and what it gets back; no HTTP here. */

export interface UploadInput {
  readonly principal: Principal
  readonly requestId: string
  readonly purpose: UploadPurpose
  /** As its uploader calls it, without a path. */
  readonly filename: string
  /** Read once, as it is sent; it may end in an error of its own. */
  readonly body: AsyncIterable<Uint8Array>
}

/** Another tenant's upload is answered as one that never was (P8). */
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
}
