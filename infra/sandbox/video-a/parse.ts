import { Refusal } from '../http/wire.ts'
import { type Fields, Members } from '../kit/body.ts'
import { knownTo, type SandboxOptions } from '../options.ts'
import { type Content, parseContent } from './content.ts'

/** Picture ratios; `adaptive` besides. */
const RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9']

/** Width and height by resolution and ratio. */
const SIZES: Readonly<Record<string, string>> = {
  '480p': '864x496 496x864 640x640 752x560 560x752 992x432',
  '720p': '1280x720 720x1280 960x960 1112x834 834x1112 1470x630',
  '1080p': '1920x1088 1088x1920 1440x1440 1664x1248 1248x1664 2208x944',
  '4k': '3840x2160 2160x3840 2880x2880 3326x2494 2494x3326 4398x1886',
}

/** Width × height × (24 × seconds + 1) / 1024, rounded; `seconds` is output plus reference video. */
export function tokensOf(resolution: string, ratio: string, seconds: number): number {
  const size = SIZES[resolution]?.split(' ')[RATIOS.indexOf(ratio)]
  if (size === undefined) throw new RangeError(`no size for ${resolution} ${ratio}`)
  const [width = 0, height = 0] = size.split('x').map(Number)
  return Math.round((width * height * (24 * seconds + 1)) / 1024)
}

/** A create request as far as this upstream reads it; what it does not know it ignores. */
export type VideoRequest = Readonly<ReturnType<typeof parseRequest>>

const VERSIONED = /-\d{6}$/
const VIDEO_NAME = /^[a-z0-9][a-z0-9.-]{0,199}-video-[a-z0-9.-]+$/
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
  const resolution = body.word('resolution', Object.keys(SIZES)) ?? '720p'
  if (isSmall(model) && resolution !== '480p' && resolution !== '720p') {
    throw body.invalid('resolution', 'this model renders 480p and 720p')
  }
  if (isGeneration25(model) && content.hasFirstFrame && ratio !== null && ratio !== 'adaptive') {
    throw body.invalid('ratio', 'the output follows the first-frame image, use adaptive')
  }
  return { ratio: ratio ?? 'adaptive', resolution }
}

/** Reads a create request. @throws Refusal */
export function parseRequest(fields: Fields, options: SandboxOptions) {
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
