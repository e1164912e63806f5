import type { Fields } from '../kit/body.ts'
import { Refusal } from './errors.ts'

/** A creation as far as this upstream reads it; what it does not know it ignores. */
export interface VideoRequest {
  readonly mode: Mode
  readonly model: string
  readonly prompt: string
  readonly images: number
  readonly duration: number
  readonly resolution: string
  readonly aspectRatio: string
  readonly movementAmplitude: string
  readonly bgm: boolean
  readonly seed: number | null
  readonly payload: string
  readonly offPeak: boolean
  readonly watermark: boolean
  readonly callbackUrl: string | null
}

export const modes = ['text2video', 'img2video', 'start-end2video', 'reference2video'] as const
export type Mode = (typeof modes)[number]

const MODEL = /^reel(?:q3-turbo|q3-pro|q2|q2-pro-fast|q2-pro|q2-turbo|q1|q1-classic|2\.0|1\.5)$/
const IMAGES: Readonly<Record<Mode, readonly [min: number, max: number]>> = {
  text2video: [0, 0],
  img2video: [1, 1],
  'start-end2video': [2, 2],
  reference2video: [1, 7],
}
const RATIOS = ['16:9', '9:16', '1:1', '3:4', '4:3']
const MAX_PROMPT_CHARACTERS = 2_000
const MAX_PAYLOAD_CHARACTERS = 1_048_576

const invalid = (name: string, why: string): Refusal =>
  new Refusal('FieldInvalid', `field ${name} is invalid: ${why}`)

/** The body as an object. @throws Refusal */
export function parseBody(body: Buffer | null): Fields {
  let value: unknown
  try {
    value = JSON.parse(body?.toString('utf8') ?? '')
  } catch {
    throw new Refusal('BadRequest', 'body is not valid JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refusal('BadRequest', 'body must be an object')
  return value as Fields
}

function field(body: Fields, name: string): unknown {
  return Object.hasOwn(body, name) ? (body[name] ?? undefined) : undefined
}

function text(body: Fields, name: string, absent: string, maxLength = 8_192): string {
  const value = field(body, name)
  if (value === undefined) return absent
  if (typeof value !== 'string') throw invalid(name, 'it must be a string')
  if (Array.from(value).length > maxLength) throw invalid(name, 'it is too long')
  return value
}

function oneOf(body: Fields, name: string, allowed: readonly string[], absent: string): string {
  const value = text(body, name, absent)
  if (!allowed.includes(value)) throw invalid(name, `it must be one of ${allowed.join(', ')}`)
  return value
}

function flag(body: Fields, name: string): boolean {
  const value = field(body, name) ?? false
  if (typeof value !== 'boolean') throw invalid(name, 'it must be a boolean')
  return value
}

function integer(body: Fields, name: string, min: number, max: number): number | null {
  const value = field(body, name)
  if (value === undefined) return null
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max)
    throw invalid(name, `it must be an integer from ${min} to ${max}`)
  return value
}

function parseImages(body: Fields, mode: Mode): number {
  const images = field(body, 'images') ?? []
  if (!Array.isArray(images) || !images.every((image) => typeof image === 'string'))
    throw invalid('images', 'it must be an array of strings')
  const [min, max] = IMAGES[mode]
  if (images.length < min || images.length > max)
    throw new Refusal('FieldItemCountOutOfRange', `field images must have ${min} to ${max} items`)
  return images.length
}

function parseModel(body: Fields): string {
  const model = text(body, 'model', '')
  if (model === '') throw new Refusal('FieldLacking', 'field model is lacking')
  if (!MODEL.test(model)) throw new Refusal('ModelUnavailable', `model ${model} is unavailable`)
  return model
}

/** @throws Refusal */
export function parseRequest(mode: Mode, body: Fields): VideoRequest {
  const model = parseModel(body)
  const prompt = text(body, 'prompt', '', MAX_PROMPT_CHARACTERS)
  if (prompt === '' && (mode === 'text2video' || mode === 'reference2video'))
    throw new Refusal('FieldLacking', 'field prompt is lacking')
  const callbackUrl = text(body, 'callback_url', '')
  if (callbackUrl !== '' && !URL.canParse(callbackUrl)) throw invalid('callback_url', 'no URL')
  // A number on this wire, unlike what callers of others write.
  integer(body, 'wm_position', 1, 4)
  text(body, 'wm_url', '')
  return {
    mode,
    model,
    prompt,
    images: parseImages(body, mode),
    duration: integer(body, 'duration', 1, 16) ?? (/^reel\d/.test(model) ? 4 : 5),
    resolution: oneOf(body, 'resolution', ['540p', '720p', '1080p'], '720p'),
    aspectRatio: oneOf(body, 'aspect_ratio', RATIOS, '16:9'),
    movementAmplitude: oneOf(
      body,
      'movement_amplitude',
      ['auto', 'small', 'medium', 'large'],
      'auto',
    ),
    bgm: flag(body, 'bgm'),
    seed: integer(body, 'seed', 0, 2 ** 31 - 1),
    payload: text(body, 'payload', '', MAX_PAYLOAD_CHARACTERS),
    offPeak: flag(body, 'off_peak'),
    watermark: flag(body, 'watermark'),
    callbackUrl: callbackUrl === '' ? null : callbackUrl,
  }
}
