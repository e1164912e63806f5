import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { imageMediaType } from '../../../domain/catalog/checks/pictures.ts'
import type { ImageInput, ImageRequest } from '../../../domain/catalog/image-rules.ts'
import { unreachable } from '../../../kernel/assert.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { FetchFault } from '../../../kernel/public-fetch.ts'
import type { ImageCall, SentImage } from '../../ports/images.ts'
import { sidesOf } from './pictures.ts'
import type { ImageCallInput, ImageDeps } from './types.ts'

/** For all pictures of one call together. */
const FETCH_TIMEOUT_MS = 30_000

/** An order with its pictures; only the channel is missing. */
export type ReadyImages = Omit<ImageCall, 'upstreamModel'>

type InputDeps = Pick<ImageDeps, 'catalog' | 'openImageFile' | 'fetchPublic'>

/**
 * Fetches the pictures of an order: opens the caller's files, fetches URLs that upstream would not
 * fetch, and adds the settings that the base picture determines.
 *
 * @throws DomainError `invalid_request`, `image_too_large` naming the member; `overloaded`
 */
export async function readyImages(
  deps: InputDeps,
  { principal, request }: Pick<ImageCallInput, 'principal' | 'request'>,
  room: FetchRoom,
  stopped: AbortSignal,
): Promise<ReadyImages> {
  const failed = new AbortController()
  const signal = AbortSignal.any([stopped, failed.signal])
  const sent = async (picture: ImageInput): Promise<SentImage> => {
    if (picture.from === 'file')
      return opened(await deps.openImageFile(principal, picture), picture)
    return picture.from === 'remote' ? fetched(deps, picture, room, signal) : picture
  }
  const { inputs, mask } = request
  try {
    const [at, ofMask] = await Promise.all([
      Promise.all(inputs.map(sent)),
      mask === undefined ? undefined : sent(mask),
    ])
    return { ...(await fitted(deps, request, at[0])), inputs: at, mask: ofMask }
  } catch (error) {
    // The call fails anyway, so the other fetches end.
    failed.abort()
    throw error
  }
}

function opened(
  image: SentImage,
  { param, underBytes }: Extract<ImageInput, { readonly from: 'file' }>,
): SentImage {
  if (image.from === 'upload' && image.bytes.length >= (underBytes ?? Infinity))
    throw tooLarge(param, underBytes)
  return image
}

async function fetched(
  { fetchPublic }: InputDeps,
  { url, param, underBytes }: Extract<ImageInput, { readonly from: 'remote' }>,
  room: FetchRoom,
  signal: AbortSignal,
): Promise<SentImage> {
  const maxBytes = underBytes - 1
  room.take(maxBytes)
  try {
    const bytes = await fetchPublic(url, { maxBytes, timeoutMs: FETCH_TIMEOUT_MS, signal })
    room.give(maxBytes - bytes.length)
    const mediaType = imageMediaType(bytes)
    if (mediaType === undefined)
      return refuse(param, `\`${param}\` must be the URL of a PNG, JPEG or WebP picture`)
    return { from: 'upload', bytes, mediaType }
  } catch (error) {
    throw error instanceof FetchFault ? refusalOf(error, param, underBytes) : error
  }
}

function refusalOf(
  { reason, message }: FetchFault,
  param: string,
  underBytes: number,
): DomainError {
  switch (reason) {
    case 'too_large':
      return tooLarge(param, underBytes)
    case 'aborted':
      return new DomainError('overloaded', 'the gateway is stopping', {})
    case 'not_public':
    case 'timeout':
    case 'unreachable':
      return new DomainError('invalid_request', `\`${param}\` ${message}`, { param })
    default:
      return unreachable(reason)
  }
}

function tooLarge(param: string, underBytes = 0): DomainError {
  const said = `\`${param}\` must be under ${underBytes / 1024 / 1024} MB`
  return new DomainError('image_too_large', said, { param })
}

async function fitted(
  { catalog }: InputDeps,
  request: ImageRequest,
  base: SentImage | undefined,
): Promise<ImageRequest> {
  const fit = catalog.imageFamilyOf(request.model)?.fitBase?.(request)
  if (fit === undefined || base?.from !== 'upload') return request
  const sides = await sidesOf(base.bytes)
  return sides === undefined
    ? refuse('size', '`size` is required: the dimensions of the first picture cannot be read')
    : fit(sides)
}

/** All pictures fetched for running calls, in one process. */
const MAX_FETCHED_BYTES = 512 * 1024 * 1024

/** The part of that bound that one call uses. */
export interface FetchRoom {
  /** @throws DomainError `overloaded` when less is free */
  readonly take: (bytes: number) => void
  readonly give: (bytes: number) => void
  /** Ends the call's use. */
  readonly leave: () => void
}

/** Bounds the fetched pictures in a process's memory, beside the bodies of requests (P10). */
export function createFetchRooms(maxBytes = MAX_FETCHED_BYTES): {
  readonly enter: () => FetchRoom
} {
  let takenBytes = 0
  return {
    enter: () => {
      let mineBytes = 0
      let isOver = false
      const give = (bytes: number): void => {
        // Another fetch failed first: its bytes were released with the rest.
        if (isOver) return
        takenBytes -= bytes
        mineBytes -= bytes
      }
      return {
        take: (bytes) => {
          if (takenBytes + bytes > maxBytes)
            throw new DomainError('overloaded', 'Too many images are being fetched at once', {})
          takenBytes += bytes
          mineBytes += bytes
        },
        give,
        leave: () => {
          give(mineBytes)
          isOver = true
        },
      }
    },
  }
}
