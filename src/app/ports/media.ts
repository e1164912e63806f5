import type { Readable } from 'node:stream'
import type { UploadPurpose } from '../../domain/upload/events.ts'
import type { CallOptions, Channel } from './provider.ts'

/** The port between callers' files and the accounts that store them. */

/** A file to upload. */
interface OutgoingMedia {
  readonly purpose: UploadPurpose
  readonly filename: string
  /** Read once, while it is sent: an error of it aborts the upload. */
  readonly body: AsyncIterable<Uint8Array>
}

/** A file to download. */
export interface IncomingMedia {
  /** By upstream; undefined when it does not report it. */
  readonly sizeBytes: number | undefined
  /** Fails when it is too long or is cut. The caller must read it to the end or destroy it. */
  readonly body: Readable
}

/** The adapter of a family whose accounts store files. */
export interface MediaProvider {
  /** Sends a file, once. @throws ProviderError */
  readonly upload: (
    channel: Channel,
    media: OutgoingMedia,
    options: CallOptions,
  ) => Promise<{ readonly upstreamFileId: string }>
  /** Opens an uploaded file. @throws ProviderError */
  readonly open: (
    channel: Channel,
    file: {
      readonly upstreamFileId: string
      readonly maxBytes: number
      readonly firstByteTimeoutMs: number
      readonly idleTimeoutMs: number
    },
    options: CallOptions,
  ) => Promise<IncomingMedia>
}
