import type { Readable } from 'node:stream'
import type { UploadPurpose } from '../domain/upload/events.ts'
import type { JsonObject } from '../kernel/json.ts'
import type { CallOptions, Channel } from './ports.ts'

/** Where callers' files and voices meet the accounts that keep them. */

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

/** A clone of a voice as one channel is asked for it. */
export interface CloneOrder {
  readonly upstreamVoiceId: string
  /** Ids of upstream's, in decimal: they are integers that no double holds. */
  readonly upstreamFileId: string
  readonly promptUpstreamFileId: string | undefined
  readonly promptText: string | undefined
  readonly audition: { readonly upstreamModel: string; readonly text: string } | undefined
  /** Upstream's words for the rest. */
  readonly settings: JsonObject
}

export interface CloneAnswer {
  readonly upstreamRequestId: string | undefined
  /** Upstream wants no further clone for so long: its limit is used up. */
  readonly restMs: number | undefined
  /** Of the audition, where it says so. */
  readonly characters: number | undefined
  /** Where the audition is to be heard. */
  readonly demoAudio: string | undefined
  /** Why the sample is objectionable; undefined where it is not. */
  readonly inputSensitive: number | undefined
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
  /** @throws ProviderError */
  readonly clone: (
    channel: Channel,
    order: CloneOrder,
    options: CallOptions,
  ) => Promise<CloneAnswer>
}
