import type { UploadPurpose } from '../../../domain/upload/events.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { invariant } from '../../../kernel/assert.ts'
import type { Principal } from '../../access/principal.ts'
import type { IncomingMedia, MediaProvider } from '../../ports/media.ts'
import type { OwnUpload, UploadKey } from '../../files/uploads/own-upload.ts'
import type { UploadQuota } from '../../files/uploads/quota.ts'
import type { CallDeps } from '../deps.ts'

export interface UploadInput {
  readonly principal: Principal
  readonly requestId: string
  readonly purpose: UploadPurpose
  /** The uploader's name for it, without a path. */
  readonly filename: string
  /** Read once, while it is sent; it may fail with its own error. */
  readonly body: AsyncIterable<Uint8Array>
}

/** Another tenant's upload reads like a missing one (P8). */
export interface MediaUseCases {
  /**
   * Streams a file to an account and records its place.
   * @throws DomainError `rate_limited`, `no_channel`, `overloaded`, `object_too_large`, those of
   *   the log and of a provider's failure; what the body throws
   */
  readonly upload: (input: UploadInput) => Promise<OwnUpload>
  /** @throws DomainError `file_not_found`, those of the log */
  readonly findUpload: (key: UploadKey) => Promise<OwnUpload>
  /**
   * Opens the account's copy of an upload.
   * @throws DomainError `file_not_found`, `overloaded`, `no_channel`, `kept_unavailable`, those of
   *   the log and of a provider's failure; the body fails by itself
   */
  readonly openUpload: (
    input: UploadKey & {
      readonly principal: Principal
      readonly requestId: string
      readonly signal: AbortSignal
    },
  ) => Promise<IncomingMedia & { readonly upload: OwnUpload }>
}

/** The dependencies of the upload use cases. */
export interface MediaDeps extends Omit<CallDeps, 'log'> {
  readonly log: EventLog
  /** Adapters by family name. */
  readonly media: ReadonlyMap<string, MediaProvider>
  readonly markerSecret: string
  readonly quota: UploadQuota
}

/** The adapter of a family that stores files. */
export function mediaOf({ media }: Pick<MediaDeps, 'media'>, family: string): MediaProvider {
  const provider = media.get(family)
  invariant(provider, `a family that takes uploads has their adapter: ${family}`)
  return provider
}
