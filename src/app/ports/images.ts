import type { ImageInput, ImageRequest, ImageSeen } from '../../domain/catalog/image-rules.ts'
import type { AsciiText } from '../../kernel/ascii-text.ts'
import type { JsonObject } from '../../kernel/json.ts'
import type { AnswerStream, CallOptions, Channel } from './provider.ts'

/** Where callers' images meet the families that make them. */

/** A picture sent along, as it can be handed to upstream: what lies here or is fetched, as its bytes. */
export type SentImage = Extract<ImageInput, { readonly from: 'upload' | 'url' }>

/** An order for images as one channel gets it. */
export interface ImageCall extends Omit<ImageRequest, 'inputs' | 'mask'> {
  readonly upstreamModel: string
  readonly inputs: readonly SentImage[]
  readonly mask: SentImage | undefined
}

/** Where a picture is that upstream made: in base64 without a prefix, or at a URL of upstream's. */
export type MadePicture = { readonly base64: string | AsciiText } | { readonly url: string }

/** Why one of several pictures was not made, as callers are told. */
export interface ImageItemError {
  readonly code: string
  readonly message: string
}

/** A picture upstream made, or why one of several was not made. */
export type ImageItem =
  | {
      readonly picture: MadePicture
      /** What callers are shown of it beside; its `size` is looked at. */
      readonly shown: JsonObject
    }
  | { readonly error: ImageItemError }

/** An answer with pictures, or one that says that there are none. */
export interface ImageAnswer {
  readonly upstreamRequestId: string | undefined
  /** Upstream wants no further call of this model for so long: its limit is used up. */
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
        /** The provider charges for the input all the same, and it is settled. */
        readonly isBilled: boolean
      }
    | undefined
}

/** An event as callers get it: JSON text, its model the external name. */
export interface ImageFrame {
  readonly event: string
  readonly data: string
}

/** An event of a stream of pictures. */
export type ImageEvent =
  | { readonly kind: 'told'; readonly frame: ImageFrame; readonly terminal: boolean }
  /** A picture that is to be delivered, and the frame of it or of its not being delivered. */
  | {
      readonly kind: 'picture'
      readonly item: Extract<ImageItem, { readonly picture: MadePicture }>
      readonly delivered: (fields: JsonObject) => ImageFrame
      readonly lost: (error: ImageItemError) => ImageFrame
      /** No other is to come. */
      readonly terminal: boolean
    }

/** What was received of a stream of pictures so far. */
export interface ImageTally extends ImageSeen {
  /** Upstream said that the result is whole. */
  readonly finished: boolean
  /** Why there is no picture at all. */
  readonly failure: { readonly code: string } | undefined
}

export type ImageStream = AnswerStream<ImageEvent, ImageTally>

/** The adapter of a family of images. */
export interface ImageProvider {
  readonly family: string
  /** @throws ProviderError */
  readonly make: (channel: Channel, call: ImageCall, options: CallOptions) => Promise<ImageAnswer>
  /**
   * Resolves when upstream has begun to answer; undefined where the family does not stream.
   * @throws ProviderError
   */
  readonly stream:
    | ((channel: Channel, call: ImageCall, options: CallOptions) => Promise<ImageStream>)
    | undefined
}
