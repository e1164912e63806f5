import { Buffer } from 'node:buffer'
import { imageMediaType } from '../../../domain/families/checks/image-bytes.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { type ImageAnswer, type ImageItem, ProviderError } from '../../ports.ts'
import { isBlack } from './black.ts'
import type { ImageDeps } from './deps.ts'
import type { ImageCallInput } from './types.ts'

/**
 * The body a caller gets of an answer: pictures are looked at, and kept where a URL was asked for.
 *
 * @throws DomainError `suspected_black_image`; ProviderError for a picture that is none
 */
export async function deliver(
  deps: Pick<ImageDeps, 'keepImage'>,
  { request }: ImageCallInput,
  { createdS, items, shown }: ImageAnswer,
  nowS: number,
): Promise<JsonObject> {
  const data: JsonObject[] = []
  // One after another: each may be many megabytes.
  for (const item of items) data.push(await delivered(deps, item, request.delivery))
  return { created: createdS ?? nowS, data, ...shown }
}

async function delivered(
  { keepImage }: Pick<ImageDeps, 'keepImage'>,
  item: ImageItem,
  delivery: 'url' | 'b64_json',
): Promise<JsonObject> {
  if ('error' in item) return { error: item.error }
  const { picture, shown } = item
  if (!('base64' in picture)) throw unreadable()
  const bytes = Buffer.from(picture.base64, 'base64')
  const mediaType = imageMediaType(bytes)
  if (mediaType === undefined) throw unreadable()
  if (await isBlack(bytes))
    throw new DomainError('suspected_black_image', 'The image is black all over', {})
  if (delivery === 'b64_json') return { b64_json: picture.base64, ...shown }
  if (keepImage === undefined)
    throw new DomainError('image_url_not_available', 'There is no place to keep images in', {})
  return { url: await keepImage(bytes, mediaType), ...shown }
}

function unreadable(): ProviderError {
  return new ProviderError(
    'malformed',
    'certain',
    'The model service gave an image that cannot be read.',
  )
}
