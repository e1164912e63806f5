import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type { ImageMediaType, ImageRequest } from '../../../domain/catalog/image-rules.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { FetchPublic } from '../../../kernel/public-fetch.ts'
import type { Principal } from '../../access/principal.ts'
import type { ImageProvider, SentImage } from '../../ports/images.ts'
import type { CallInput } from '../family.ts'

export interface ImageCallInput extends CallInput {
  /** Read by the family of its model. */
  readonly request: ImageRequest
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

/** Dependencies of image calls in addition to those of every call. */
export interface ImageDeps {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly providers: ReadonlyMap<string, ImageProvider>
  /** Undefined: there is no storage. */
  readonly imagePlace: ImagePlace | undefined
  readonly openImageFile: OpenImageFile
  readonly fetchPublic: FetchPublic
}
