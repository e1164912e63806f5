import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { acceptImageDataUri, isDataUri } from '../../../domain/families/checks/data-uri.ts'
import { own, refuse, text } from '../../../domain/families/checks/fields.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/families/checks/web-url.ts'
import type { ImageInput } from '../../../domain/families/image-rules.ts'
import type { ArtBModel } from './models.ts'

/**
 * The pictures sent along as `image`: one, or a list; each a public URL or a complete data URI.
 * @throws RequestError naming the picture, DomainError `invalid_image_url`
 */
export function acceptReferences(fields: JsonObject, model: ArtBModel): readonly ImageInput[] {
  const value = own(fields, 'image')
  if (value === undefined) return []
  if (!Array.isArray(value)) return [reference(value, 'image')]
  if (value.length === 0) return refuse('image', '`image` must hold at least one picture')
  if (value.length > model.maxReferences)
    return refuse(
      'image',
      `\`image\` must hold at most ${model.maxReferences} pictures with ${model.name}`,
    )
  return value.map((url: unknown, index) => reference(url, `image[${index}]`))
}

function reference(value: unknown, param: string): ImageInput {
  if (typeof value === 'string' && isDataUri(value)) {
    acceptImageDataUri(value, param)
    if (/^data:image\/webp/i.test(value))
      return refuse(param, `\`${param}\` must be a PNG or JPEG picture as a data URI`)
    return { from: 'url', url: value, param }
  }
  if (typeof value !== 'string') return refuse(param, `\`${param}\` must be a string`)
  // Base64 without its head may be of any length: it is a URL that is none, and not a long one.
  if (!/^https?:/i.test(value)) throw notUrl(param)
  const url = text(value, param, MAX_URL_LENGTH)
  if (!isWebUrl(url)) throw notUrl(param)
  return { from: 'url', url, param }
}

/** In the words of this family's upstream, which clients look for. */
function notUrl(param: string): DomainError {
  return new DomainError(
    'invalid_image_url',
    `invalid url specified: \`${param}\` must be a public https:// or http:// URL, or a data URI like data:image/png;base64,<payload>`,
    { param },
  )
}
