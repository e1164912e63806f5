import type { Channel } from '../../../app/ports.ts'
import type { TextAnswer, TextChunk, TextRequest, TextTally } from '../ports.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { FrameReader } from '../../kit/http/frame-stream.ts'
import type { Scrubber } from '../../kit/http/lines.ts'
import type { UpstreamError } from '../../kit/http/refusals.ts'

/** What one text family is on the wire; everything else is the same for all of them. */
export interface TextWire {
  readonly credentialHeaders: (channel: Channel) => Readonly<Record<string, string>>
  /** Below the channel's base URL. */
  readonly path: (request: TextRequest, streamed: boolean) => string
  /** JSON text. */
  readonly requestBody: (request: TextRequest, streamed: boolean) => string
  /** The error envelope of a body, undefined when it is none. */
  readonly readError: (body: unknown) => UpstreamError | undefined
  /** An unstreamed 200; undefined when it is no answer of this wire. */
  readonly readAnswer: (
    body: JsonObject,
    request: TextRequest,
    scrub: Scrubber,
  ) => Pick<TextAnswer, 'body' | 'tally'> | undefined
  readonly frameReader: (request: TextRequest, scrub: Scrubber) => TextReader
}

/** Follows one stream of text frame by frame. */
export type TextReader = FrameReader<TextChunk, TextTally>
