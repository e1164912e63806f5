import { Refusal } from '../http/dotted-errors.ts'
import type { Fields } from '../kit/body.ts'
import type { SandboxOptions } from '../options.ts'
import { isGeneration25, isSmall, versionedModel } from './models.ts'
import { type Content, parseContent } from './parse-content.ts'
import { RATIOS, RESOLUTIONS } from './tokens.ts'

/** A create request as far as this upstream reads it; what it does not know it ignores. */
export interface VideoRequest {
  readonly model: string
  readonly requestedModel: string
  readonly content: Content
  readonly duration: number
  readonly frames: number | null
  readonly ratio: string
  readonly resolution: string
  readonly seed: number | null
  readonly generateAudio: boolean
  readonly draft: boolean
  readonly returnLastFrame: boolean
  readonly outputFormat: string | null
  readonly serviceTier: string
  readonly executionExpiresAfter: number
  readonly priority: number | null
  readonly safetyIdentifier: string | null
  readonly callbackUrl: string | null
  readonly webSearch: boolean
}

const invalid = (name: string, why: string): Refusal =>
  new Refusal(
    `InvalidParameter.${name}`,
    `The parameter \`${name}\` specified in the request is not valid: ${why}.`,
    name,
  )

/** The body as an object. @throws Refusal */
export function parseBody(body: Buffer | null): Fields {
  let value: unknown
  try {
    value = JSON.parse(body?.toString('utf8') ?? '')
  } catch {
    throw new Refusal('InvalidParameter', 'The request body is not valid JSON.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal('InvalidParameter', 'The request body must be a JSON object.')
  }
  return value as Fields
}

/** null counts as absent, as this upstream reads it. */
function field(body: Fields, name: string): unknown {
  return Object.hasOwn(body, name) ? (body[name] ?? undefined) : undefined
}

function integer(body: Fields, name: string, min: number, max: number): number | null {
  const value = field(body, name)
  if (value === undefined) return null
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    throw invalid(name, `it must be an integer from ${min} to ${max}`)
  }
  return value
}

function flag(body: Fields, name: string, absent: boolean): boolean {
  const value = field(body, name)
  if (value === undefined) return absent
  if (typeof value !== 'boolean') throw invalid(name, 'it must be a boolean')
  return value
}

function text(body: Fields, name: string): string | null {
  const value = field(body, name)
  if (value === undefined) return null
  if (typeof value !== 'string') throw invalid(name, 'it must be a string')
  return value
}

function oneOf(body: Fields, name: string, allowed: readonly string[]): string | null {
  const value = text(body, name)
  if (value !== null && !allowed.includes(value)) {
    throw invalid(name, `it must be one of ${allowed.join(', ')}`)
  }
  return value
}

function parseModel(body: Fields, options: SandboxOptions): readonly [string, string] {
  const requested = text(body, 'model')
  if (requested === null || requested === '') {
    throw new Refusal(
      'MissingParameter.model',
      'The request is missing the `model` parameter.',
      'model',
    )
  }
  const model = versionedModel(requested, options)
  if (model === null) {
    throw new Refusal(
      'InvalidEndpointOrModel.NotFound',
      `The model or endpoint ${requested.slice(0, 100)} does not exist or you do not have access to it.`,
    )
  }
  return [model, requested]
}

function parseDuration(body: Fields, model: string): number {
  const longest = isGeneration25(model) ? 30 : 15
  const duration = integer(body, 'duration', -1, longest) ?? 5
  if (duration !== -1 && duration < 4) throw invalid('duration', `it must be -1 or 4 to ${longest}`)
  return duration
}

function parseTools(body: Fields): boolean {
  const tools = field(body, 'tools')
  if (tools === undefined) return false
  if (!Array.isArray(tools) || tools.length > 10) throw invalid('tools', 'it must be a short array')
  for (const tool of tools as readonly unknown[]) {
    const type = typeof tool === 'object' && tool !== null ? (tool as Fields)['type'] : undefined
    if (type !== 'web_search') throw invalid('tools', 'the only tool is web_search')
  }
  return tools.length > 0
}

function parseCallback(body: Fields): string | null {
  const url = text(body, 'callback_url')
  if (url === null || url === '') return null
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw invalid('callback_url', 'it must be a URL')
  }
  return url
}

function parsePicture(
  body: Fields,
  model: string,
  content: Content,
): { readonly ratio: string; readonly resolution: string } {
  const ratio = oneOf(body, 'ratio', [...RATIOS, 'adaptive'])
  const resolution = oneOf(body, 'resolution', RESOLUTIONS) ?? '720p'
  if (isSmall(model) && resolution !== '480p' && resolution !== '720p') {
    throw invalid('resolution', 'this model renders 480p and 720p')
  }
  if (isGeneration25(model) && content.hasFirstFrame && ratio !== null && ratio !== 'adaptive') {
    throw invalid('ratio', 'the output follows the first-frame image, use adaptive')
  }
  return { ratio: ratio ?? 'adaptive', resolution }
}

/** Reads a create request. @throws Refusal */
export function parseRequest(body: Fields, options: SandboxOptions): VideoRequest {
  const [model, requestedModel] = parseModel(body, options)
  const content = parseContent(field(body, 'content'))
  const frames = isGeneration25(model) ? null : integer(body, 'frames', 29, 289)
  return {
    model,
    requestedModel,
    content,
    duration: parseDuration(body, model),
    frames,
    ...parsePicture(body, model, content),
    seed: integer(body, 'seed', -1, 4_294_967_295),
    generateAudio: flag(body, 'generate_audio', true),
    draft: flag(body, 'draft', false),
    returnLastFrame: flag(body, 'return_last_frame', false),
    outputFormat: oneOf(body, 'output_format', ['mp4', 'mov']),
    serviceTier: oneOf(body, 'service_tier', ['default', 'flex']) ?? 'default',
    executionExpiresAfter: integer(body, 'execution_expires_after', 3600, 259_200) ?? 172_800,
    priority: integer(body, 'priority', 0, 9),
    safetyIdentifier: text(body, 'safety_identifier'),
    callbackUrl: parseCallback(body),
    webSearch: parseTools(body),
  }
}
