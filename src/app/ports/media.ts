import type { Readable } from 'node:stream'
import type { UploadPurpose } from '../../domain/upload/events.ts'
import type { CallOptions, Channel } from './provider.ts'

/** Where callers' files meet the accounts that keep them. */

/** A file on its way upstream. */
export interface OutgoingMedia {
  readonly purpose: UploadPurpose
  readonly filename: string
  /** Read once, as it is sent: what it throws breaks the upload off. */
  readonly body: AsyncIterable<Uint8Array>
}

/** A file on its way from upstream. */
export interface IncomingMedia {
  /** As upstream says it; undefined where it does not. */
  readonly sizeBytes: number | undefined
  /** Fails where it is longer than it may be, or stops midway. Whoever does not read it to the end destroys it. */
  readonly body: Readable
}

/** The adapter of what accounts keep for callers. */
export interface MediaProvider {
  /** Sends a file, once. @throws ProviderError */
  readonly upload: (
    channel: Channel,
    media: OutgoingMedia,
    options: CallOptions,
  ) => Promise<{ readonly upstreamFileId: string }>
  /** Opens a file that was sent. @throws ProviderError */
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
