import { Buffer } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import { imageMediaType } from '../../../domain/catalog/checks/pictures.ts'
import {
  parsePixels,
  type ImageDelivery,
  IMAGES,
  type ImageSeen,
  UNDELIVERED,
} from '../../../domain/catalog/image-rules.ts'
import { type DomainCode, DomainError, isDomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { FetchFault } from '../../../kernel/public-fetch.ts'
import {
  type ImageAnswer,
  type ImageItem,
  type ImageItemError,
  type MadePicture,
  MAX_PICTURE_BYTES,
} from '../../ports/images.ts'
import { type Channel, ProviderError } from '../../ports/provider.ts'
import { LARGEST_BLACK_BYTES, lookOf, sidesOf } from './pictures.ts'
import type { ImageDeps, KeepImage } from './types.ts'

const FETCH_TIMEOUT_MS = 60_000
/** Characters of base64 that contain a picture's signature. */
const HEAD_LENGTH = 64
/** Characters of base64 of the largest picture that is checked for black. */
const LONG_LENGTH = Math.ceil((LARGEST_BLACK_BYTES * 4) / 3)
/** A failed URL is fetched a second time, because its picture is paid for. */
const FETCH_TRIES = 2

export type DeliverDeps = Pick<ImageDeps, 'fetchPublic'>

/** The caller and the channel of a picture. */
export interface DeliveryRoute {
  readonly delivery: ImageDelivery
  readonly channel: Channel
  readonly signal: AbortSignal
  /** Undefined: there is no storage. */
  readonly keepImage: KeepImage | undefined
}

type PictureItem = Extract<ImageItem, { readonly picture: MadePicture }>

/**
 * Prepares a picture for its caller: fetched from upstream's URL, checked, and stored if the caller
 * wants a URL. Only one picture at a time is held.
 *
 * @throws DomainError `suspected_black_image` and those of `KeepImage`; ProviderError for a picture
 *   that cannot be fetched or decoded
 */
export async function deliverPicture(
  deps: DeliverDeps,
  way: DeliveryRoute,
  { picture, shown }: PictureItem,
): Promise<JsonObject> {
  const said = typeof shown['size'] === 'string' ? parsePixels(shown['size']) : undefined
  if (way.delivery === 'b64_json' && said === undefined && isLong(picture)) {
    // A picture this large is not of one colour, and this one is not stored: checking its head is enough.
    if (imageMediaType(Buffer.from(picture.base64.slice(0, HEAD_LENGTH), 'base64')) === undefined)
      throw unreadable()
    return { b64_json: picture.base64, ...shown }
  }
  const bytes = await bytesOf(deps, way, picture)
  const mediaType = imageMediaType(bytes)
  if (mediaType === undefined) throw unreadable()
  if (said !== undefined && !isDeepStrictEqual(await sidesOf(bytes), said)) throw unreadable()
  const look = await lookOf(bytes)
  if (look === 'oversized') throw unreadable()
  if (look === 'black')
    throw new DomainError('suspected_black_image', 'The image is entirely black', {})
  if (way.delivery === 'b64_json')
    return { b64_json: 'base64' in picture ? picture.base64 : base64Of(bytes), ...shown }
  if (way.keepImage === undefined) throw noImageUrl()
  return { url: await way.keepImage(bytes, mediaType), ...shown }
}

/** The refusal of a URL where the gateway has no storage. */
export function noImageUrl(): DomainError {
  return new DomainError(
    'image_url_not_available',
    'No object storage is configured for images',
    {},
  )
}

function isLong(picture: MadePicture): picture is Extract<MadePicture, { base64: unknown }> {
  return 'base64' in picture && picture.base64.length > LONG_LENGTH
}

/** The code that callers see for the loss of one of several pictures. */
const lossCodes: Readonly<Partial<Record<DomainCode, string>>> = {
  suspected_black_image: 'suspected_black_image_from_upstream',
  image_not_kept: 'storage_unavailable',
}

/** Why one of several pictures was not delivered, for the caller. @throws any other error */
export function itemErrorOf(error: unknown): ImageItemError {
  if (error instanceof ProviderError)
    return { code: 'upstream_unavailable', message: error.message }
  if (!isDomainError(error)) throw error
  return { code: lossCodes[error.code] ?? error.code, message: error.message }
}

async function bytesOf(
  deps: DeliverDeps,
  way: DeliveryRoute,
  picture: MadePicture,
): Promise<Uint8Array> {
  if ('base64' in picture) return decoded(String(picture.base64))
  for (let tries = 1; ; tries += 1) {
    try {
      return await deps.fetchPublic(picture.url, {
        maxBytes: MAX_PICTURE_BYTES,
        timeoutMs: FETCH_TIMEOUT_MS,
        signal: way.signal,
        trustedOrigin: new URL(way.channel.baseUrl).origin,
      })
    } catch (error) {
      if (!(error instanceof FetchFault)) throw error
      if (error.reason !== 'unreachable' || tries === FETCH_TRIES) throw notFetched(error)
    }
  }
}

function notFetched(fault: FetchFault): ProviderError {
  const late = fault.reason === 'timeout' || fault.reason === 'aborted'
  const kind = late ? 'timeout' : fault.reason === 'unreachable' ? 'unavailable' : 'malformed'
  return new ProviderError(kind, 'certain', 'The image could not be fetched from the provider.', {
    cause: fault,
    endedByGateway: fault.reason === 'aborted',
  })
}

/** Decoding skips characters that are no base64, so the result is too short. */
function decoded(base64: string): Uint8Array {
  const bytes = Buffer.from(base64, 'base64')
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  if (bytes.length !== Math.floor(((base64.length - padding) * 3) / 4)) throw unreadable()
  return bytes
}

function base64Of({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('base64')
}

function unreadable(): ProviderError {
  return new ProviderError(
    'malformed',
    'certain',
    'The model service gave an image that cannot be read.',
  )
}

interface Delivered {
  readonly body: JsonObject
  readonly seen: ImageSeen
}

/**
 * Builds the caller's body of an answer, and the part of it to settle. With `settlesEach` a picture
 * that cannot be delivered becomes an error entry of the answer; when no picture is left, the first
 * failure is thrown.
 *
 * @throws as `deliverPicture`
 */
export async function deliver(
  deps: DeliverDeps,
  way: DeliveryRoute,
  { createdS, items, shown, seen }: ImageAnswer,
  { settlesEach, nowS }: { readonly settlesEach: boolean; readonly nowS: number },
): Promise<Delivered> {
  const data: JsonObject[] = []
  const losses: unknown[] = []
  const one = async (item: ImageItem): Promise<JsonObject> => {
    if ('error' in item) return { error: item.error }
    try {
      return await deliverPicture(deps, way, item)
    } catch (error) {
      if (!settlesEach) throw error
      const itemError = itemErrorOf(error)
      losses.push(error)
      return { error: itemError }
    }
  }
  // In sequence: each may be many megabytes.
  for (const item of items) data.push(await one(item))
  if (losses.length > 0 && data.every((item) => 'error' in item)) throw losses[0]
  return {
    body: { created: createdS ?? nowS, data, ...shown },
    seen: withoutLost(seen, losses.length),
  }
}

/** The received result, without the pictures that did not reach their caller. */
export function withoutLost<Seen extends ImageSeen>(seen: Seen, lost: number): Seen {
  if (lost === 0) return seen
  const images = Math.max(0, (seen.usage[IMAGES] ?? 0) - lost)
  return { ...seen, usage: { ...seen.usage, [IMAGES]: images, [UNDELIVERED]: lost } }
}

/** @throws DomainError `n_not_supported` when no channel makes this many images per request */
export function checkImageCount(model: string, count: number, serving: readonly Channel[]): void {
  const largest = Math.max(1, ...serving.map((one) => one.largestImageCounts?.[model] ?? 1))
  if (count > largest)
    throw new DomainError('n_not_supported', `${model} makes at most ${largest} images at once`, {
      param: 'n',
    })
}
