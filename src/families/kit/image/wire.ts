import type { Channel } from '../../../app/ports.ts'
import type { ImageAnswer, ImageCall, ImageEvent, ImageTally } from '../../../app/image-ports.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { BodyInPieces } from '../http/json.ts'
import type { FrameReader } from '../http/frame-stream.ts'
import type { UpstreamError } from '../http/refusals.ts'
import type { Scrubber } from '../http/lines.ts'

/** What one family of images is on the wire; everything else is the same for all of them. */
export interface ImageWire {
  readonly family: string
  readonly credentialHeaders: (channel: Channel) => Readonly<Record<string, string>>
  /** Below the channel's base URL, and what is sent there. */
  readonly request: (call: ImageCall) => {
    readonly path: string
    readonly body: JsonObject | BodyInPieces
  }
  /** The error envelope of a body, its code one callers know; undefined when it is none. */
  readonly readError: (body: unknown) => UpstreamError | undefined
  /** A 200; undefined when it is no answer of this wire. */
  readonly readAnswer: (
    body: JsonObject,
    call: ImageCall,
    scrub: Scrubber,
  ) => Omit<ImageAnswer, 'upstreamRequestId' | 'restMs'> | undefined
  /** Follows one stream, where the family streams: `request` asks for one when the call does. */
  readonly frameReader?: (call: ImageCall, scrub: Scrubber) => FrameReader<ImageEvent, ImageTally>
}
