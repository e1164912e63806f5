import type { RequestQuote } from '../../finance/prices/tenant-prices.ts'
import type { ImageMediaType, ImageRequest } from '../../../domain/catalog/image-rules.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { FetchPublic } from '../../../kernel/public-fetch.ts'
import type { Principal } from '../../access/principal.ts'
import type { ImageFrame, ImageProvider, SentImage } from '../../ports/images.ts'
import type { CallDeps } from '../deps.ts'
import type { CallInput, CompletedCall, StreamedCall, PricingInput } from '../family.ts'

/** Input and output of the synchronous image use cases; no HTTP here. */

export interface ImageCallInput extends CallInput {
  /** Read by the family of its model. */
  readonly request: ImageRequest
}

/** Its body is `{created, data, …}`, as image callers expect it. */
export type CompletedImageCall = CompletedCall<JsonObject>

export type StreamedImageCall = StreamedCall<ImageFrame>

/**
 * Domain error codes: those of every call, and `n_not_supported`, `image_too_large`,
 * `image_url_not_available`, `content_policy_violation`, `suspected_black_image`,
 * `no_image_generated` (details: usage, where the input was billed).
 */
export interface ImageUseCases {
  readonly make: (input: ImageCallInput) => Promise<CompletedImageCall>
  /** For a request that is `streamed`. */
  readonly stream: (input: ImageCallInput) => Promise<StreamedImageCall>
  /** What a call would hold and may be settled at; its pictures are not read. */
  readonly quote: (input: PricingInput<ImageCallInput>) => Promise<RequestQuote>
}

/** Stores a picture under a URL. @throws DomainError `image_not_kept`, `image_url_not_available` */
export type KeepImage = (bytes: Uint8Array, mediaType: ImageMediaType) => Promise<string>

/** Storage for pictures. */
export interface ImagePlace {
  /** @throws DomainError `storage_unavailable` after a recent failure */
  readonly check: () => void
  /** For the pictures of one call, which waits at most this long for all of them. */
  readonly open: (longestMs: number) => KeepImage
}

/**
 * A file of this tenant as a picture.
 * @throws DomainError `invalid_request` naming `param` for a missing file, or one that is no
 *   picture
 */
export type OpenImageFile = (
  principal: Principal,
  file: { readonly fileId: string; readonly param: string },
) => Promise<SentImage>

/** Dependencies of the image use cases, beside those of every call. */
export interface ImageDeps extends CallDeps {
  readonly providers: ReadonlyMap<string, ImageProvider>
  /** Undefined: there is no storage. */
  readonly imagePlace: ImagePlace | undefined
  readonly openImageFile: OpenImageFile
  readonly fetchPublic: FetchPublic
}
