import { countOf, isOn, wordOf, type Faults } from '../faults/vocabulary.ts'
import { messageOf } from '../http/dotted-errors.ts'
import type { DrawingAsk } from './parse.ts'

/** What one picture of an answer comes to. */
export type Drawn =
  | { readonly kind: 'made'; readonly index: number; readonly layer: object | null }
  | { readonly kind: 'failed'; readonly index: number; readonly error: DrawnError }

export interface DrawnError {
  readonly code: string
  readonly message: string
}

/** Tokens of a picture are its pixels by this. */
const PIXELS_OF_TOKEN = 256

export function errorOf(code: string): DrawnError {
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
