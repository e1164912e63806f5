import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import { messageOf } from '../http/dotted-wire.ts'
import { type PictureFormat, pictureOf } from '../media/pictures.ts'
import type { DrawingAsk } from './parse.ts'

/** What one picture of an answer comes to. */
export type Drawn =
  | { readonly kind: 'made'; readonly index: number; readonly layer: object | null }
  | { readonly kind: 'failed'; readonly index: number; readonly error: object }

/** Tokens of a picture are its pixels by this. */
const PIXELS_OF_TOKEN = 256

export function errorOf(code: string): object {
  return { code, message: `${messageOf(code)} Request id: 0217673230720sandbox` }
}

/** Decides an answer: a group goes on after a picture that moderation took, and stops at a fault inside. */
export function planDrawing(ask: DrawingAsk, faults: Faults): readonly Drawn[] {
  if (wordOf(faults, 'no-image') !== null) return []
  const layers = ask.isGroup ? 1 : (countOf(faults, 'layers') ?? 1)
  const count = ask.isGroup ? Math.min(countOf(faults, 'group-size') ?? ask.most, ask.most) : layers
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
    else drawn.push({ kind: 'made', index, layer: layers > 1 ? layerOf(index, ask) : null })
  }
  return drawn
}

function layerOf(index: number, { width, height }: DrawingAsk): object {
  return {
    z_index: index,
    bounding_box: { absolute: [0, 0, width, height], normalized: [0, 0, 1, 1] },
    name: index === 0 ? 'base' : `layer ${index}`,
    description: 'a part of the picture',
  }
}

export function drawingUsage(ask: DrawingAsk, drawn: readonly Drawn[], faults: Faults) {
  const made = drawn.filter(({ kind }) => kind === 'made').length
  const tokens = made * Math.ceil((ask.width * ask.height) / PIXELS_OF_TOKEN)
  const searches = ask.searches ? (countOf(faults, 'tool-searches') ?? 1) : null
  return {
    generated_images: isOn(faults, 'zero-usage') ? 0 : made,
    output_tokens: tokens,
    total_tokens: tokens,
    input_images: ask.references,
    ...(searches === null ? {} : { tool_usage: { web_search: searches } }),
  }
}

/** Path under which result files are served. */
export const PICTURES_PATH = '/media/art-b'

const NAME = /^[a-z0-9]{8,40}-\d{1,3}-(\d{1,5})x(\d{1,5})(-black)?(-half)?\.(png|jpeg)$/

/** What one picture of an answer is, by the name of its file: nothing has to be kept of it. */
export function fileName(id: string, index: number, ask: DrawingAsk, faults: Faults): string {
  const black = isOn(faults, 'black') || (isOn(faults, 'one-black') && index === 0)
  const marks = `${black ? '-black' : ''}${isOn(faults, 'other-size') ? '-half' : ''}`
  return `${id}-${index}-${ask.width}x${ask.height}${marks}.${ask.format}`
}

/** The bytes of a file of that name; null when there is none. */
export async function bytesOf(name: string): Promise<Buffer | null> {
  const [, width, height, black, half, format] = NAME.exec(name) ?? []
  if (width === undefined) return null
  const by = half === undefined ? 1 : 2
  const sides = [Number(width) / by, Number(height) / by] as const
  return pictureOf(
    Math.ceil(sides[0]),
    Math.ceil(sides[1]),
    format as PictureFormat,
    black !== undefined,
  )
}
