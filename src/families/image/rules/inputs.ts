import type { JsonObject } from '../../../kernel/json.ts'
import { isPresent, own, refuse } from '../../../domain/families/checks/fields.ts'
import { acceptImageBytes } from '../../../domain/families/checks/image-bytes.ts'
import { acceptImageReference } from '../../../domain/families/checks/image-reference.ts'
import type { ImageInput, ImageOrder, ImageUpload } from '../../../domain/families/image-rules.ts'

/** Pictures sent along, the base picture among them. */
export const MAX_INPUTS = 14
/** Of an uploaded picture: upstream takes no larger one. */
const MAX_UPLOAD_BYTES = 50 * 1024 * 1024

export interface EditInputs {
  readonly inputs: readonly ImageInput[]
  readonly mask: ImageInput | undefined
}

/** The pictures of an edit. @throws RequestError naming the member or part */
export function acceptEditInputs(order: ImageOrder): EditInputs {
  const found = order.form === 'json' ? ofJson(order.fields) : ofForm(order)
  const name = order.form === 'json' ? 'images' : 'image'
  if (found.inputs.length === 0) return refuse(name, `\`${name}\` must hold at least one picture`)
  if (found.inputs.length > MAX_INPUTS)
    return refuse(name, `\`${name}\` must hold at most ${MAX_INPUTS} pictures`)
  return found
}

function ofJson(fields: JsonObject): EditInputs {
  if (isPresent(fields, 'image')) refuse('image', '`image` is of forms: send `images`')
  const images = own(fields, 'images')
  if (images === undefined) return refuse('images', '`images` is required')
  if (!Array.isArray(images)) return refuse('images', '`images` must be an array')
  if (images.length > MAX_INPUTS)
    return refuse('images', `\`images\` must hold at most ${MAX_INPUTS} pictures`)
  const mask = own(fields, 'mask')
  return {
    inputs: images.map((image: unknown, index) => acceptImageReference(image, `images[${index}]`)),
    mask: mask === undefined ? undefined : acceptImageReference(mask, 'mask'),
  }
}

function ofForm({ uploads, fields }: ImageOrder): EditInputs {
  const texts = ['images', 'image', 'image[]', 'mask'].find((name) => isPresent(fields, name))
  if (texts !== undefined)
    refuse(texts, `\`${texts}\` takes no text: send files, as \`image\`, \`image[]\`, \`mask\``)
  const images = uploads.filter(({ name }) => name === 'image' || name === 'image[]')
  const masks = uploads.filter(({ name }) => name === 'mask')
  const other = uploads.find((upload) => !images.includes(upload) && !masks.includes(upload))
  if (other !== undefined)
    return refuse(
      other.name,
      `\`${other.name}\` takes no file: send \`image\`, \`image[]\`, \`mask\``,
    )
  if (masks.length > 1) return refuse('mask', '`mask` must be one picture')
  const [mask] = masks
  return { inputs: images.map(uploaded), mask: mask && uploaded(mask) }
}

function uploaded({ name, bytes }: ImageUpload): ImageInput {
  if (bytes.length >= MAX_UPLOAD_BYTES)
    return refuse(name, `\`${name}\` must be under ${MAX_UPLOAD_BYTES / 1024 / 1024} MiB`)
  return { from: 'upload', bytes, mediaType: acceptImageBytes(bytes, name) }
}
