import { Refusal } from '../http/wire.ts'
import { type Fields, isFields, type ReadForm } from '../kit/body.ts'
import { sidesOf } from '../media/pictures.ts'

/** A request for pictures as this upstream understands it. */
export type ImageAsk = Readonly<Awaited<ReturnType<typeof parseImage>>>

const MODELS = new Set([
  'picture-2-2026-04-21',
  'picture-2.5-sunburst-2026-09-08',
  'picture-2.5-flare-2026-09-08',
])
const PARAMETERS = new Set(
  (
    'model prompt n size quality background output_format output_compression moderation stream ' +
    'partial_images user images mask input_fidelity'
  ).split(' '),
)
const FORMATS = ['png', 'jpeg', 'webp'] as const
const MAX_PROMPT = 32_000
const MAX_INPUTS = 16
const AUTO = { width: 1024, height: 1024 }

function refuse(param: string, message: string, code = 'invalid_value'): never {
  throw new Refusal(code, message, param)
}

/** A form's texts as the members a JSON body would have. */
export function fieldsOfForm({ texts }: ReadForm): Fields {
  return Object.fromEntries(
    [...texts].map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]),
  )
}

/** @throws Refusal */
export async function parseImage(body: Fields | null, files: ReadForm['files'] | null) {
  if (body === null) refuse('body', 'We could not parse the body of your request.')
  const model = body['model']
  if (typeof model !== 'string' || !MODELS.has(model))
    throw new Refusal('model_not_found', `The model '${String(model)}' does not exist.`, 'model')
  for (const name of Object.keys(body))
    if (!PARAMETERS.has(name)) refuse(name, `Unknown parameter: '${name}'.`, 'unknown_parameter')
  const { prompt } = body
  if (typeof prompt !== 'string' || prompt === '' || prompt.length > MAX_PROMPT)
    refuse('prompt', 'Invalid prompt.')
  const n = body['n'] ?? 1
  if (typeof n !== 'number' || !Number.isInteger(n) || n < 1 || n > 10) refuse('n', 'Invalid n.')
  const format = FORMATS.find((one) => one === (body['output_format'] ?? 'png'))
  if (format === undefined) refuse('output_format', 'Invalid output_format.')
  return {
    model,
    prompt,
    n,
    ...sidesAsked(body['size']),
    quality: qualityAsked(model, body['quality']),
    format,
    background: body['background'] === 'transparent' ? 'transparent' : 'opaque',
    inputs: await countInputs(body, files),
    // A form has it as text.
    stream: body['stream'] === true || body['stream'] === 'true',
    previews: typeof body['partial_images'] === 'number' ? body['partial_images'] : 0,
  }
}

function sidesAsked(size: unknown): { readonly width: number; readonly height: number } {
  if (size === undefined || size === 'auto') return AUTO
  const [, w, h] = /^(\d+)x(\d+)$/.exec(typeof size === 'string' ? size : '') ?? []
  const width = Number(w)
  const height = Number(h)
  const pixels = width * height
  const fits =
    Math.max(width, height) <= 3840 &&
    width % 16 === 0 &&
    height % 16 === 0 &&
    Math.max(width, height) <= 3 * Math.min(width, height) &&
    pixels >= 655_360 &&
    pixels <= 8_294_400
  if (!fits) refuse('size', `Invalid size '${JSON.stringify(size)}'.`)
  return { width, height }
}

function qualityAsked(model: string, quality: unknown): string {
  const known = ['low', 'medium', 'high', 'auto']
  if (model.includes('2.5')) known.push('xhigh', 'max')
  const asked = quality ?? 'auto'
  if (typeof asked !== 'string' || !known.includes(asked))
    refuse(
      'quality',
      `Invalid value: '${JSON.stringify(asked)}'. Supported values are: ${known.join()}.`,
    )
  return asked === 'auto' ? 'medium' : asked
}

async function countInputs(body: Fields, files: ReadForm['files'] | null): Promise<number> {
  if (files !== null) {
    for (const { name, bytes, type } of files)
      if ((await sidesOf(bytes)) === null || !/^image\/(png|jpeg|webp)$/.test(type))
        refuse(name, 'Invalid image file or mode for image.', 'invalid_image_file')
    return inRange(files.length)
  }
  const images = body['images']
  if (images === undefined) return 0
  if (!Array.isArray(images)) refuse('images', 'images must be an array.')
  for (const image of images as readonly unknown[])
    if (!isFields(image) || typeof image['image_url'] !== 'string')
      refuse('images', 'Each image must have an image_url or a file_id.')
  return inRange(images.length + (body['mask'] === undefined ? 0 : 1))
}

function inRange(count: number): number {
  if (count < 1 || count > MAX_INPUTS + 1) refuse('image', `Between 1 and ${MAX_INPUTS} images.`)
  return count
}
