import type { FastifyInstance } from 'fastify'
import { answerCall, frameOf, NO_TOKENS, addCall, type Asker } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { StreamFrame } from '../http/stream.ts'
import { type Wire, Refusal } from '../http/wire.ts'
import { readForm, textIn, type Fields, isFields, type ReadForm } from '../kit/body.ts'
import { IdMaker } from '../kit/clock.ts'
import { pictureOf, sidesOf } from '../media/pictures.ts'
import { errorObject, textHeaders, textWire } from '../text/wire.ts'

/** A request for pictures as this upstream understands it. */
type ImageAsk = Readonly<Awaited<ReturnType<typeof parseImage>>>

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
function fieldsOfForm({ texts }: ReadForm): Fields {
  return Object.fromEntries(
    [...texts].map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]),
  )
}

/** @throws Refusal */
async function parseImage(body: Fields | null, files: ReadForm['files'] | null) {
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

const FAMILY = 'image'
const TOKENS_OF_MEGAPIXEL: Readonly<Record<string, number>> = {
  low: 272,
  medium: 1056,
  high: 4160,
  xhigh: 8320,
  max: 16_640,
}
const TOKENS_OF_INPUT = 323

function usageOf(order: ImageAsk, faults: Faults) {
  const text = isOn(faults, 'zero-usage') ? 0 : Math.ceil(order.prompt.length / 4)
  const image = order.inputs * TOKENS_OF_INPUT
  const megapixels = (order.width * order.height) / 1_048_576
  const each = Math.round(megapixels * (TOKENS_OF_MEGAPIXEL[order.quality] ?? 0))
  const output = isOn(faults, 'zero-usage') ? 0 : (countOf(faults, 'tokens') ?? order.n * each)
  const cached = countOf(faults, 'cached-tokens')
  return {
    input_tokens: text + image,
    output_tokens: output,
    total_tokens: text + image + output,
    input_tokens_details: {
      text_tokens: text,
      image_tokens: image,
      ...(cached === null ? {} : { cached_tokens: cached }),
    },
    output_tokens_details: { image_tokens: output, text_tokens: 0 },
  }
}

type Op = 'create' | 'edit'

/** Previews, then the picture with its usage. */
function* framesOf(
  events: string,
  fields: object,
  previews: number,
  reported: object,
): Iterable<StreamFrame> {
  const frame = (type: string, more: object, last: boolean): StreamFrame =>
    frameOf({ type, ...fields, ...more }, { event: type, usage: last && 'usage' in reported, last })
  for (let index = 0; index < previews; index += 1)
    yield frame(`${events}.partial_image`, { partial_image_index: index }, false)
  yield frame(`${events}.completed`, reported, true)
}

/** Makes pictures. */
function make(
  { kit, wire, ids }: { readonly kit: FamilyKit; readonly wire: Wire; readonly ids: IdMaker },
  order: ImageAsk,
  op: Op,
  asker: Asker,
  faults: Faults,
) {
  const usage = usageOf(order, faults)
  const quality = wordOf(faults, 'quality') ?? order.quality
  const size = `${order.width}x${order.height}`
  // An error after the finished picture does not invalidate it.
  const breaks = order.stream && (countOf(faults, 'error-after') ?? Infinity) <= order.previews
  const isMade = wordOf(faults, 'fail') === null && !breaks
  const { input_tokens, output_tokens } = usage
  const accepted = {
    id: ids.next('img_'),
    model: order.model,
    stream: order.stream,
    breaksBy: breaks ? 'server_error' : null,
    usage: { ...NO_TOKENS, input_tokens, output_tokens },
    wireUsage: usage,
    pictures: { count: isMade ? order.n : 0, size, quality },
  }
  return answerCall(kit, wire, { asker, faults }, accepted, async ({ facts }) => {
    const bytes = await pictureOf(order.width, order.height, order.format, isOn(faults, 'black'))
    const b64_json = bytes.toString('base64')
    const reported = isOn(faults, 'no-usage') ? {} : { usage }
    const created = Math.floor(kit.clock.nowMs() / 1000)
    const headers = textHeaders(ids.next('req_'), faults)
    const { format: output_format, background } = order
    if (!order.stream) {
      const data = Array.from({ length: order.n }, () => ({ b64_json }))
      const body = { created, data, background, output_format, quality, size, ...reported }
      return { headers, body, usage: 'usage' in reported }
    }
    const fields = { b64_json, size, quality, background, output_format, created_at: created }
    const events = `image_${op === 'create' ? 'generation' : 'edit'}`
    const error = { type: 'error', error: errorObject(facts.failCode ?? 'server_error') }
    return {
      headers,
      eol: '\n',
      frames: framesOf(events, fields, order.previews, reported),
      failure: () => frameOf(error, { event: 'error', last: true }),
    }
  })
}

/** The Images API: generations, and edits as JSON or as a form. */
export const image: SandboxFamily = {
  name: FAMILY,
  register: (app: FastifyInstance, kit) => {
    const ids = new IdMaker(kit.random)
    const wire = textWire(FAMILY, kit, ids)
    const add = (path: string, op: Op): void =>
      addCall(app, kit, wire, `/images/v1/images/${path}`, async (json, request) => {
        const form = await readForm(request.body, request.headers['content-type'] ?? '')
        const body = form === null ? json : fieldsOfForm(form)
        return {
          op,
          model: body && textIn(body, 'model'),
          body,
          userText: (body && textIn(body, 'prompt')) ?? '',
          perform: async (asker, faults) => {
            const order = await parseImage(body, form?.files ?? null)
            return make({ kit, wire, ids }, order, op, asker, faults)
          },
        }
      })
    add('generations', 'create')
    add('edits', 'edit')
  },
}
