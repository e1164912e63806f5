import type { ImageRequest } from '../../../domain/families/image-rules.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { ImageFrame } from '../../image-ports.ts'
import type { CallInput, CompletedCall, StreamedCall } from '../types.ts'

/** What the API asks of the synchronous image use cases, and what it gets back; no HTTP here. */

export interface ImageCallInput extends CallInput {
  /** Read by the family of its model. */
  readonly request: ImageRequest
}

/** Its body is `{created, data, …}` as callers of images know it. */
export type CompletedImageCall = CompletedCall<JsonObject>

export type StreamedImageCall = StreamedCall<ImageFrame>

/**
 * Domain error codes: those of every call, and `n_not_supported`, `image_too_large`,
 * `image_url_not_available`, `content_policy_violation`, `suspected_black_image`,
 * `no_image_generated` (details: usage, where the input was billed).
 */
export interface ImageUseCases {
  readonly make: (input: ImageCallInput) => Promise<CompletedImageCall>
  /** Of a request that is `streamed`. */
  readonly stream: (input: ImageCallInput) => Promise<StreamedImageCall>
}
