import { Refusal } from '../http/wire.ts'
import type { Fields } from '../kit/body.ts'
import { Members } from '../kit/members.ts'
import { knownTo, type SandboxOptions } from '../options.ts'
import { type Content, parseContent } from './content.ts'

type Size = readonly [width: number, height: number]

const SIZES: Readonly<Record<string, Readonly<Record<string, Size>>>> = {
  '480p': {
    '16:9': [864, 496],
    '9:16': [496, 864],
    '1:1': [640, 640],
    '4:3': [752, 560],
    '3:4': [560, 752],
    '21:9': [992, 432],
  },
  '720p': {
    '16:9': [1280, 720],
    '9:16': [720, 1280],
    '1:1': [960, 960],
    '4:3': [1112, 834],
    '3:4': [834, 1112],
    '21:9': [1470, 630],
  },
  '1080p': {
    '16:9': [1920, 1088],
    '9:16': [1088, 1920],
    '1:1': [1440, 1440],
    '4:3': [1664, 1248],
    '3:4': [1248, 1664],
    '21:9': [2208, 944],
  },
  '4k': {
    '16:9': [3840, 2160],
    '9:16': [2160, 3840],
    '1:1': [2880, 2880],
    '4:3': [3326, 2494],
    '3:4': [2494, 3326],
    '21:9': [4398, 1886],
  },
}

/** Resolutions this upstream renders. */
export const RESOLUTIONS: readonly string[] = Object.keys(SIZES)

/** Picture ratios; `adaptive` besides. */
export const RATIOS: readonly string[] = Object.keys(SIZES['720p'] ?? {})

/** Width × height × (24 × seconds + 1) / 1024, rounded; `seconds` is output plus reference video. */
export function tokensOf(resolution: string, ratio: string, seconds: number): number {
  const size = SIZES[resolution]?.[ratio]
  if (size === undefined) throw new RangeError(`no size for ${resolution} ${ratio}`)
  return Math.round((size[0] * size[1] * (24 * seconds + 1)) / 1024)
}

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

const VERSIONED = /-\d{6}$/
const VIDEO_NAME = /^[a-z0-9][a-z0-9.-]*-video-[a-z0-9.-]+$/
const ENDPOINT = /^ep-[a-z0-9-]+$/
const MAX_NAME_LENGTH = 200

/** The versioned name this upstream answers with, or null for a model it does not know. */
function versionedModel(name: string, options: SandboxOptions): string | null {
  if (name.length > MAX_NAME_LENGTH) return null
  if (knownTo(options, name)) return name
  if (ENDPOINT.test(name) || (VIDEO_NAME.test(name) && VERSIONED.test(name))) return name
  if (!VIDEO_NAME.test(name)) return null
  if (name.includes('-2-5')) return `${name}-260628`
  return name.includes('-mini') ? `${name}-260615` : `${name}-260128`
}

/** Whether the stricter rules of the newer generation hold for a model. */
function isGeneration25(model: string): boolean {
  return /-2-5(?:-|$)/.test(model)
}

/** Models that render 480p and 720p only. */
function isSmall(model: string): boolean {
  return /-(?:fast|mini)(?:-|$)/.test(model)
}

const members = (body: Fields): Members =>
  new Members(body, {
    invalid: (name, why) =>
      new Refusal(
        `InvalidParameter.${name}`,
        `The parameter \`${name}\` specified in the request is not valid: ${why}.`,
        name,
      ),
  })

function parseModel(body: Members, options: SandboxOptions): readonly [string, string] {
  const requested = body.text('model')
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

function parseDuration(body: Members, model: string): number {
  const longest = isGeneration25(model) ? 30 : 15
  const duration = body.integer('duration', -1, longest) ?? 5
  if (duration !== -1 && duration < 4)
    throw body.invalid('duration', `it must be -1 or 4 to ${longest}`)
  return duration
}

function parseTools(body: Members): boolean {
  const tools = body.any('tools')
  if (tools === undefined) return false
  if (!Array.isArray(tools) || tools.length > 10)
    throw body.invalid('tools', 'it must be a short array')
  for (const tool of tools as readonly unknown[]) {
    const type = typeof tool === 'object' && tool !== null ? (tool as Fields)['type'] : undefined
    if (type !== 'web_search') throw body.invalid('tools', 'the only tool is web_search')
  }
  return tools.length > 0
}

function parseCallback(body: Members): string | null {
  const url = body.text('callback_url')
  if (url === null || url === '') return null
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw body.invalid('callback_url', 'it must be a URL')
  }
  return url
}

function parsePicture(
  body: Members,
  model: string,
  content: Content,
): { readonly ratio: string; readonly resolution: string } {
  const ratio = body.word('ratio', [...RATIOS, 'adaptive'])
  const resolution = body.word('resolution', RESOLUTIONS) ?? '720p'
  if (isSmall(model) && resolution !== '480p' && resolution !== '720p') {
    throw body.invalid('resolution', 'this model renders 480p and 720p')
  }
  if (isGeneration25(model) && content.hasFirstFrame && ratio !== null && ratio !== 'adaptive') {
    throw body.invalid('ratio', 'the output follows the first-frame image, use adaptive')
  }
  return { ratio: ratio ?? 'adaptive', resolution }
}

/** Reads a create request. @throws Refusal */
export function parseRequest(fields: Fields, options: SandboxOptions): VideoRequest {
  const body = members(fields)
  const [model, requestedModel] = parseModel(body, options)
  const content = parseContent(body.any('content'))
  const frames = isGeneration25(model) ? null : body.integer('frames', 29, 289)
  return {
    model,
    requestedModel,
    content,
    duration: parseDuration(body, model),
    frames,
    ...parsePicture(body, model, content),
    seed: body.integer('seed', -1, 4_294_967_295),
    generateAudio: body.flag('generate_audio') ?? true,
    draft: body.flag('draft') ?? false,
    returnLastFrame: body.flag('return_last_frame') ?? false,
    outputFormat: body.word('output_format', ['mp4', 'mov']),
    serviceTier: body.word('service_tier', ['default', 'flex']) ?? 'default',
    executionExpiresAfter: body.integer('execution_expires_after', 3600, 259_200) ?? 172_800,
    priority: body.integer('priority', 0, 9),
    safetyIdentifier: body.text('safety_identifier'),
    callbackUrl: parseCallback(body),
    webSearch: parseTools(body),
  }
}
