import type { ImageMediaType } from '../../../domain/families/image-rules.ts'
import type { FetchPublic } from '../../../kernel/public-fetch.ts'
import type { Principal } from '../../access/principal.ts'
import type { ImageProvider, SentImage } from '../../image-ports.ts'
import type { CallDeps } from '../deps.ts'

/** Keeps a picture where a URL leads to it for a day. @throws DomainError `image_not_kept`, `image_url_not_available` */
export type KeepImage = (bytes: Uint8Array, mediaType: ImageMediaType) => Promise<string>

/** Where pictures are kept. */
export interface ImagePlace {
  /** @throws DomainError `storage_unavailable` while it is known to be away */
  readonly check: () => void
  /** For the pictures of one call, which waits no longer than this for all of them together. */
  readonly open: (longestMs: number) => KeepImage
}

/**
 * A file of this tenant as a picture.
 * @throws DomainError `invalid_request` naming `param` for one it does not have, or no picture
 */
export type OpenImageFile = (
  principal: Principal,
  file: { readonly fileId: string; readonly param: string },
) => Promise<SentImage>

/** What the image use cases stand on beside the road of every call. */
export interface ImageDeps extends CallDeps {
  readonly providers: ReadonlyMap<string, ImageProvider>
  /** Undefined: nothing can be kept here. */
  readonly imagePlace: ImagePlace | undefined
  readonly openImageFile: OpenImageFile
  readonly fetchPublic: FetchPublic
}
