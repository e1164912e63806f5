import { messageOf } from '../http/dotted-wire.ts'
import { Refusal } from '../http/wire.ts'
import { type Fields, isFields } from '../kit/body.ts'
import { sidesOf } from '../media/pictures.ts'

/** A request for pictures as this upstream understands it. */
export type DrawingOrder = Readonly<Awaited<ReturnType<typeof parseDrawing>>>

interface Model {
  readonly tiers: Readonly<Record<string, number>>
  readonly pixels: readonly [number, number]
  readonly references: number
  readonly groups: boolean
}

const FINE: Model = {
  tiers: { '2K': 2048, '3K': 3072, '4K': 4096 },
  pixels: [3_686_400, 16_777_216],
  references: 14,
  groups: true,
}
const MODELS: Readonly<Record<string, Model>> = {
  'drawing-5-0-260128': FINE,
  'drawing-5-0-lite-260128': FINE,
  'drawing-5-0-pro-260628': {
    tiers: { '1K': 1024, '1.5K': 1536, '2K': 2048 },
    pixels: [921_600, 4_624_220],
    references: 10,
    groups: false,
  },
}
const MAX_GROUP = 15

function refuse(param: string, message: string): never {
  throw new Refusal('InvalidParameter', message, param)
}

/** @throws Refusal */
export async function parseDrawing(body: Fields | null) {
  if (body === null) refuse('', 'The request body is not a JSON object.')
  const name = body['model']
  const model = typeof name === 'string' ? MODELS[name] : undefined
  if (typeof name !== 'string' || model === undefined)
    throw new Refusal(
      'InvalidEndpointOrModel.NotFound',
      `The model or endpoint ${String(name)} does not exist.`,
      'model',
    )
  const { prompt } = body
  if (typeof prompt !== 'string' || prompt === '') refuse('prompt', 'The prompt is missing.')
  if (body['n'] !== undefined) refuse('n', 'Unknown parameter n.')
  const references = await countReferences(body['image'], model)
  const isGroup = body['sequential_image_generation'] === 'auto'
  const searches = Array.isArray(body['tools']) && body['tools'].length > 0
  const stream = body['stream'] === true
  if (!model.groups && (isGroup || searches || stream))
    refuse('model', `The parameter is not supported by ${name}.`)
  const delivery = body['response_format'] ?? 'url'
  if (delivery !== 'url' && delivery !== 'b64_json') refuse('response_format', 'Invalid format.')
  const format = body['output_format'] ?? 'jpeg'
  if (format !== 'png' && format !== 'jpeg') refuse('output_format', 'Invalid output format.')
  const most = isGroup ? groupOf(body, references) : 1
  const { width, height } = sidesAsked(body['size'] ?? '2K', model)
  return {
    model: name,
    prompt,
    width,
    height,
    format,
    delivery,
    stream,
    most,
    isGroup,
    searches,
    references,
  }
}

function groupOf(body: Fields, references: number): number {
  const options = body['sequential_image_generation_options']
  const most = isFields(options) ? options['max_images'] : undefined
  const count = typeof most === 'number' ? most : MAX_GROUP
  if (!Number.isInteger(count) || count < 1 || count + references > MAX_GROUP)
    refuse('sequential_image_generation_options', 'max_images is out of range.')
  return count
}

function sidesAsked(size: unknown, { tiers, pixels }: Model) {
  const text = typeof size === 'string' ? size : ''
  const side = tiers[text]
  if (side !== undefined) return { width: side, height: side }
  const [, w, h] = /^(\d+)x(\d+)$/.exec(text) ?? []
  const [width, height] = [Number(w), Number(h)]
  const [fewest, most] = pixels
  if (!(width * height >= fewest && width * height <= most))
    refuse('size', `image size must be between ${fewest} and ${most} pixels`)
  return { width, height }
}

async function countReferences(image: unknown, model: Model): Promise<number> {
  if (image === undefined) return 0
  const images: readonly unknown[] = Array.isArray(image) ? image : [image]
  if (images.length > model.references) refuse('image', 'Too many reference images.')
  for (const one of images) await checkReference(one)
  return images.length
}

async function checkReference(image: unknown): Promise<void> {
  const text = typeof image === 'string' ? image : ''
  if (/^https?:\/\//.test(text)) return
  const [, type, data] = /^data:image\/(png|jpeg);base64,([A-Za-z0-9+/=]+)$/.exec(text) ?? []
  if (type === undefined || data === undefined)
    refuse('image', 'The parameter `image` is not valid: invalid url specified.')
  if ((await sidesOf(Buffer.from(data, 'base64'))) === null)
    refuse('image', messageOf('InvalidParameter'))
}
