import type { ImageInput, ImageRequest, ImageSeen } from '../../domain/catalog/image-rules.ts'
import type { RawString } from '../../kernel/raw-string.ts'
import type { JsonObject } from '../../kernel/json.ts'
import type { AnswerStream, CallOptions, Channel } from './provider.ts'

/** Size of the largest picture: 4096x4096 without compression. */
export const MAX_PICTURE_BYTES = 64 * 1024 * 1024

/** The port between callers' images and the families that make them. */

/** A picture in a request, ready for upstream: stored and fetched ones as bytes. */
export type SentImage = Extract<ImageInput, { readonly from: 'upload' | 'url' }>

/** An image request to one channel. */
export interface ImageCall extends Omit<ImageRequest, 'inputs' | 'mask'> {
  readonly upstreamModel: string
  readonly inputs: readonly SentImage[]
  readonly mask: SentImage | undefined
}

/** A picture made by upstream: base64 without a prefix, or a URL of upstream's. */
export type MadePicture = { readonly base64: string | RawString } | { readonly url: string }

/** Why one of several pictures was not made, for the caller. */
export interface ImageItemError {
  readonly code: string
  readonly message: string
}

/** A picture upstream made, or why one of several was not made. */
export type ImageItem =
  | {
      readonly picture: MadePicture
      /** Fields for the caller besides the picture; `size` is checked. */
      readonly shown: JsonObject
    }
  | { readonly error: ImageItemError }

/** An answer with pictures, or with the reason for having none. */
export interface ImageAnswer {
  readonly upstreamRequestId: string | undefined
  /** Upstream's rate limit for this model is used up for this long. */
  readonly restMs: number | undefined
  /** Unix seconds. */
  readonly createdS: number | undefined
  readonly items: readonly ImageItem[]
  /** Members beside `created` and `data`, as callers see them: `usage`, `quality`, … */
  readonly shown: JsonObject
  readonly seen: ImageSeen
  /** Why there is no picture at all. */
  readonly failure:
    | {
        readonly code: 'content_policy_violation' | 'no_image_generated' | 'upstream_unavailable'
        readonly message: string
        /** The provider charges for the input all the same, so it is settled. */
        readonly isBilled: boolean
      }
    | undefined
}

/** An event for the caller: JSON text with the model's external name. */
export interface ImageFrame {
  readonly event: string
  readonly data: string
}

/** An event of a stream of pictures. */
export type ImageEvent =
  | { readonly kind: 'frame'; readonly frame: ImageFrame; readonly terminal: boolean }
  /** A picture to deliver, with the frames for its delivery and for its failure. */
  | {
      readonly kind: 'picture'
      readonly item: Extract<ImageItem, { readonly picture: MadePicture }>
      readonly delivered: (fields: JsonObject) => ImageFrame
      readonly lost: (error: ImageItemError) => ImageFrame
      /** The last event. */
      readonly terminal: boolean
    }

/** The part of a stream of pictures that was received so far. */
export interface ImageTally extends ImageSeen {
  /** Upstream reported the result as complete. */
  readonly finished: boolean
  /** Why there is no picture at all. */
  readonly failure: { readonly code: string } | undefined
}

export type ImageStream = AnswerStream<ImageEvent, ImageTally>

/** The adapter of a family of image models. */
export interface ImageProvider {
  readonly family: string
  /** @throws ProviderError */
  readonly make: (channel: Channel, call: ImageCall, options: CallOptions) => Promise<ImageAnswer>
  /**
   * Resolves when upstream's answer has begun; undefined when the family does not stream.
   * @throws ProviderError
   */
  readonly stream:
    | ((channel: Channel, call: ImageCall, options: CallOptions) => Promise<ImageStream>)
    | undefined
}
