import type { FastifyRequest } from 'fastify'
import { answerCall, frameOf, NO_TOKENS, addCall, type Asker } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn, wordOf, countOf } from '../faults/vocabulary.ts'
import { dottedWire, newRequestId, messageOf } from '../http/dotted-wire.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamFrame } from '../http/stream.ts'
import { idInPath, type Wire } from '../http/wire.ts'
import { type Fields, textIn } from '../kit/body.ts'
import { IdMaker } from '../kit/clock.ts'
import { signedFile, signUrl, wholeFile } from '../media/files.ts'
import { taskHandlers } from '../tasks/run.ts'
import { type DrawingOrder, parseDrawing } from './parse.ts'
import { type PictureFormat, pictureOf } from '../media/pictures.ts'

/** The outcome of one picture of an answer. */
type Drawn =
  | { readonly kind: 'made'; readonly index: number; readonly layer: object | null }
  | { readonly kind: 'failed'; readonly index: number; readonly error: object }

/** Tokens of a picture are its pixels by this. */
const PIXELS_OF_TOKEN = 256

function errorOf(code: string): object {
  return { code, message: `${messageOf(code)} Request id: 0217673230720sandbox` }
}

/**
 * Decides an answer: a group continues after a picture that moderation refused, and stops at an
 * internal error.
 */
function planDrawing(order: DrawingOrder, faults: Faults): readonly Drawn[] {
  if (wordOf(faults, 'no-image') !== null) return []
  const layers = order.isGroup ? 1 : (countOf(faults, 'layers') ?? 1)
  const count = order.isGroup
    ? Math.min(countOf(faults, 'group-size') ?? order.most, order.most)
    : layers
  const failing = countOf(faults, 'some-fail') ?? 0
  const stop = countOf(faults, 'group-stop') ?? count
  const drawn: Drawn[] = []
  for (let index = 0; index < count; index += 1) {
    if (index >= stop) {
      drawn.push({ kind: 'failed', index, error: errorOf('InternalServiceError') })
      break
    }
    if (index < failing)
      drawn.push({ kind: 'failed', index, error: errorOf('OutputImageSensitiveContentDetected') })
    else drawn.push({ kind: 'made', index, layer: layers > 1 ? layerOf(index, order) : null })
  }
  return drawn
}

function layerOf(index: number, { width, height }: DrawingOrder): object {
  return {
    z_index: index,
    bounding_box: { absolute: [0, 0, width, height], normalized: [0, 0, 1, 1] },
    name: index === 0 ? 'base' : `layer ${index}`,
    description: 'a part of the picture',
  }
}

function drawingUsage(order: DrawingOrder, drawn: readonly Drawn[], faults: Faults) {
  const made = drawn.filter(({ kind }) => kind === 'made').length
  const tokens = made * Math.ceil((order.width * order.height) / PIXELS_OF_TOKEN)
  const searches = order.searches ? (countOf(faults, 'tool-searches') ?? 1) : null
  return {
    generated_images: isOn(faults, 'zero-usage') ? 0 : made,
    output_tokens: tokens,
    total_tokens: tokens,
    input_images: order.references,
    ...(searches === null ? {} : { tool_usage: { web_search: searches } }),
  }
}

/** Path under which result files are served. */
const PICTURES_PATH = '/media/art-b'

/** Pixels of the largest picture that is made. */
const MOST_PIXELS = 4_096 * 4_096
const NAME = /^[a-z0-9]{8,40}-\d{1,3}-(\d{1,5})x(\d{1,5})(-black)?(-half)?\.(png|jpeg)$/

/** The properties of a picture by the name of its file, so that the sandbox need not store it. */
function fileName(id: string, index: number, order: DrawingOrder, faults: Faults): string {
  const black = isOn(faults, 'black') || (isOn(faults, 'one-black') && index === 0)
  const marks = `${black ? '-black' : ''}${isOn(faults, 'other-size') ? '-half' : ''}`
  return `${id}-${index}-${order.width}x${order.height}${marks}.${order.format}`
}

/** The bytes of a file; null if there is none. */
async function bytesOf(name: string): Promise<Buffer | null> {
  const [, width, height, black, half, format] = NAME.exec(name) ?? []
  if (width === undefined || Number(width) * Number(height) > MOST_PIXELS) return null
  const by = half === undefined ? 1 : 2
  const sides = [Number(width) / by, Number(height) / by] as const
  return pictureOf(
    Math.ceil(sides[0]),
    Math.ceil(sides[1]),
    format as PictureFormat,
    black !== undefined,
  )
}

const FAMILY = 'art-b'

/** An accepted request and everything that its answer is made of. */
interface Drawing {
  readonly kit: FamilyKit
  readonly order: DrawingOrder
  readonly id: string
  readonly created: number
  readonly drawn: readonly Drawn[]
  /** Null: reports none. */
  readonly usage: object | null
  readonly faults: Faults
}

/** Makes pictures. */
async function create(
  { kit, wire, ids }: { readonly kit: FamilyKit; readonly wire: Wire; readonly ids: IdMaker },
  body: Fields | null,
  asker: Asker,
  faults: Faults,
) {
  const order = await parseDrawing(body)
  const drawn = planDrawing(order, faults)
  const usage = drawingUsage(order, drawn, faults)
  const breaks = order.stream && faults.has('error-after')
  const isMade = !breaks && !faults.has('fail') && !faults.has('no-image')
  const id = ids.next('')
  const accepted = {
    id,
    model: order.model,
    stream: order.stream,
    breaksBy: breaks ? 'InternalServiceError' : null,
    failCode: wordOf(faults, 'no-image'),
    usage: { ...NO_TOKENS, output_tokens: usage.output_tokens },
    wireUsage: usage,
    pictures: {
      count: isMade ? usage.generated_images : 0,
      size: `${order.width}x${order.height}`,
    },
    toolCalls: { web_search: usage.tool_usage?.web_search ?? 0 },
  }
  return answerCall(kit, wire, { asker, faults }, accepted, async ({ facts }) => {
    const reported = isOn(faults, 'no-usage') ? null : usage
    const created = Math.floor(kit.clock.nowMs() / 1000)
    const drawing = { kit, order, id, created, drawn, usage: reported, faults }
    if (!order.stream) {
      const whole = await wholeBody(drawing)
      return { headers: idHeader(kit), body: whole, usage: reported !== null }
    }
    const frames = await framesOf(drawing)
    const error = { error: errorOf(facts.failCode ?? 'InternalServiceError') }
    return { headers: idHeader(kit), frames, failure: () => frameOf(error, { last: true }) }
  })
}

function idHeader(kit: FamilyKit): Readonly<Record<string, string>> {
  return { 'x-request-id': newRequestId(kit) }
}

/** The answer's entry for one picture, in base64 or by URL. */
async function resultOf({ kit, order, id, faults }: Drawing, drawn: Drawn): Promise<object> {
  if (drawn.kind === 'failed') return { error: drawn.error }
  const name = fileName(id, drawn.index, order, faults)
  const place =
    order.delivery === 'url'
      ? { url: signUrl(kit, `${PICTURES_PATH}/${name}`, kit.clock.nowMs()) }
      : { b64_json: ((await bytesOf(name)) ?? Buffer.alloc(0)).toString('base64') }
  const size = `${order.width}x${order.height}`
  return { ...place, size, output_format: order.format, ...drawn.layer }
}

async function wholeBody(drawing: Drawing): Promise<object> {
  const { order, created, drawn, usage, faults } = drawing
  const data: object[] = []
  for (const one of drawn) data.push(await resultOf(drawing, one))
  const noImage = wordOf(faults, 'no-image')
  return {
    model: order.model,
    ...(isOn(faults, 'created-at') ? { created_at: created } : { created }),
    data,
    ...(noImage === null ? {} : { error: errorOf(noImage) }),
    ...(usage === null ? {} : { usage }),
  }
}

async function framesOf(drawing: Drawing): Promise<readonly StreamFrame[]> {
  const { order, created, drawn, usage } = drawing
  const frame = (type: string, more: object, end: Partial<StreamFrame> = {}): StreamFrame =>
    frameOf({ type, model: order.model, created, ...more }, { event: type, ...end })
  const frames: StreamFrame[] = []
  for (const one of drawn) {
    const word = one.kind === 'made' ? 'partial_succeeded' : 'partial_failed'
    const picture = await resultOf(drawing, one)
    frames.push(frame(`image_generation.${word}`, { image_index: one.index, ...picture }))
  }
  const end = usage === null ? {} : { usage }
  const last = { usage: usage !== null, last: true }
  frames.push(frame('image_generation.completed', end, last), frameOf('[DONE]', { last: true }))
  return frames
}

/** One file of a result. Its signed URL is the only right that a reader needs. */
function pictureFile(kit: FamilyKit, request: FastifyRequest): Promise<Answer> {
  return signedFile(kit, request, PICTURES_PATH, async (name) => {
    const bytes = await bytesOf(name)
    return bytes && wholeFile(bytes, name.endsWith('.png') ? 'image/png' : 'image/jpeg')
  })
}

/** The image upstream with versioned models: pictures one by one, in groups and streams. */
export const artB: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const ids = new IdMaker(kit.random)
    const wire = dottedWire(kit, FAMILY, 'prompt')
    addCall(app, kit, wire, '/api/v3/images/generations', (body) => ({
      userText: (body && textIn(body, 'prompt')) ?? '',
      perform: (asker, faults) => create({ kit, wire, ids }, body, asker, faults),
    }))
    const file = (request: FastifyRequest): Promise<Answer> => pictureFile(kit, request)
    app.get(`${PICTURES_PATH}/:id`, taskHandlers(kit, wire).open('media', file, idInPath))
  },
}
