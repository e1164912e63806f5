import { isProjectName } from '../../../domain/asset/project-name.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { isJsonObject, type JsonObject, membersGiven } from '../../../kernel/json.ts'
import {
  isPresent,
  optionalBoolean,
  optionalChoice,
  optionalInteger,
  own,
  refuse,
  text,
} from '../../../domain/families/checks/fields.ts'
import { acceptContent, type AcceptedContent, withNativeAssets } from './content.ts'
import { WEB_SEARCH } from './pricing.ts'
import { resolveVideoAModel, videoAModels, type VideoAModel } from './models.ts'

/** All field and combination rules of a `/provA` task creation. */

export interface AcceptedVideoA {
  readonly model: VideoAModel
  readonly facts: TaskFacts
  /**
   * What upstream gets, normalised, without `model` and `safety_identifier`. Only fields we know:
   * upstream silently ignores unknown ones, so they are left out and never an error.
   */
  readonly upstreamBody: JsonObject & { readonly content: AcceptedContent['items'] }
  readonly safetyIdentifier: string | undefined
  readonly executionExpiresAfterS: number | undefined
  /** Trimmed, `https:`; whether its host is public is for the caller of this function to find out. */
  readonly callbackUrl: string | undefined
  readonly assets: AcceptedContent['assets']
  /** The project that the assets must be of, where the caller names one. */
  readonly projectName: string | undefined
}

const RATIOS = ['adaptive', '16:9', '9:16', '1:1', '4:3', '3:4', '21:9'] as const

/** Refused on presence, even when null: they are not sent, or upstream ignores them silently. */
const FORBIDDEN = ['frames', 'frames_per_second', 'framespersecond', 'frame_rate', 'fps'] as const
/** Which the 2.0 models take. */
const FORBIDDEN_2_5 = [...FORBIDDEN, 'seed', 'camera_fixed'] as const

/** What a caller may ask an execution to take at most, in seconds; upstream has it on every model. */
export const EXPIRES_AFTER_S = { min: 3_600, max: 259_200 } as const
const MAX_PRIORITY = 9
const SEED = { min: -1, max: 2 ** 32 - 1 } as const
const MAX_SAFETY_IDENTIFIER_LENGTH = 512
const MAX_CALLBACK_URL_LENGTH = 2_048

/** The body for upstream with its ids for assets, by ours. */
export function videoAWithAssets(
  { upstreamBody }: Pick<AcceptedVideoA, 'upstreamBody'>,
  nativeIds: ReadonlyMap<string, string>,
): AcceptedVideoA['upstreamBody'] {
  return { ...upstreamBody, content: withNativeAssets(upstreamBody.content, nativeIds) }
}

type Settings = Record<string, string | number | boolean | undefined>

/**
 * Accepts a creation body or refuses it naming the first offending field.
 *
 * @throws RequestError `invalid_request`, or `invalid_duration` for a number out of range; its
 *   `details.param` is the field's path
 */
export function acceptVideoARequest(body: JsonObject): AcceptedVideoA {
  const model = acceptModel(body)
  refuseForbidden(body, model)
  const content = acceptContent(body, model)
  const settings = acceptSettings(body, model)
  if (model.generation === '2.5' && content.hasFrames) checkFrameRatio(settings)
  const webSearch = acceptTools(body, model, content)
  const callbackUrl = acceptCallbackUrl(body)
  const safetyIdentifier = acceptSafetyIdentifier(body)
  const sent = membersGiven(settings)
  return {
    model,
    facts: {
      inputs: content.inputs,
      tools: webSearch ? [WEB_SEARCH] : [],
      settings: sent,
    },
    upstreamBody: {
      content: content.items,
      ...sent,
      // An absent ratio would be upstream's choice; frames leave it none.
      ...(model.generation === '2.5' && content.hasFrames ? { ratio: 'adaptive' } : {}),
      ...(webSearch ? { tools: [{ type: WEB_SEARCH }] } : {}),
      ...(callbackUrl === undefined ? {} : { callback_url: callbackUrl }),
    },
    safetyIdentifier,
    executionExpiresAfterS: settings['execution_expires_after'],
    callbackUrl,
    assets: content.assets,
    projectName: acceptProjectName(body),
  }
}

function acceptModel(body: JsonObject): VideoAModel {
  const name = own(body, 'model')
  if (typeof name !== 'string' || name === '')
    return refuse('model', '`model` is required and must be a string')
  const model = resolveVideoAModel(name)
  if (model) return model
  const names = videoAModels.map((known) => known.name).join(', ')
  return refuse('model', `\`model\` is not a model of this interface; use one of ${names}`)
}

function acceptProjectName(body: JsonObject): string | undefined {
  if (!isPresent(body, 'ProjectName')) return undefined
  const name = own(body, 'ProjectName')
  if (typeof name === 'string' && isProjectName(name)) return name
  return refuse('ProjectName', '`ProjectName` must be 1 to 64 letters, digits, `_`, `-` or `.`')
}

function refuseForbidden(body: JsonObject, model: VideoAModel): void {
  for (const name of model.generation === '2.5' ? FORBIDDEN_2_5 : FORBIDDEN)
    if (isPresent(body, name))
      refuse(name, `\`${name}\` is not supported by ${model.name}: leave it out`)
}

function acceptSettings(
  body: JsonObject,
  model: VideoAModel,
): Settings & { readonly execution_expires_after: number | undefined } {
  return {
    duration: acceptDuration(body, model),
    ratio: optionalChoice(body, 'ratio', RATIOS),
    resolution: optionalChoice(body, 'resolution', model.resolutions, ` for ${model.name}`),
    generate_audio: optionalBoolean(body, 'generate_audio'),
    watermark: optionalBoolean(body, 'watermark'),
    return_last_frame: optionalBoolean(body, 'return_last_frame'),
    execution_expires_after: optionalInteger(
      body,
      'execution_expires_after',
      EXPIRES_AFTER_S.min,
      EXPIRES_AFTER_S.max,
    ),
    priority: optionalInteger(body, 'priority', 0, MAX_PRIORITY),
    output_format: acceptOutputFormat(body, model),
    service_tier: acceptServiceTier(body, model),
    draft: acceptDraft(body, model),
    // Upstream's own; ours only forbids them on 2.5.
    ...(model.generation === '2.0'
      ? {
          seed: optionalInteger(body, 'seed', SEED.min, SEED.max),
          camera_fixed: optionalBoolean(body, 'camera_fixed'),
        }
      : {}),
  }
}

function acceptDuration(body: JsonObject, model: VideoAModel): number {
  const value = own(body, 'duration')
  if (value === undefined) return refuse('duration', '`duration` is required')
  if (typeof value !== 'number') return refuse('duration', '`duration` must be an integer')
  const { min, max } = model.durationS
  if (Number.isSafeInteger(value) && (value === -1 || (value >= min && value <= max))) return value
  return refuse(
    'duration',
    `\`duration\` must be an integer from ${min} to ${max} seconds, or -1, for ${model.name}`,
    'invalid_duration',
  )
}

/** A 2.0 model renders MP4 and has no such option: asking for what it does anyway is harmless. */
function acceptOutputFormat(body: JsonObject, model: VideoAModel): string | undefined {
  if (model.generation === '2.5') return optionalChoice(body, 'output_format', ['mp4', 'mov'])
  optionalChoice(body, 'output_format', ['mp4'], ` for ${model.name}`)
  return undefined
}

/** 2.5 and overseas models refuse it; the domestic 2.0 models take `flex`. */
function acceptServiceTier(body: JsonObject, model: VideoAModel): string | undefined {
  const choices =
    model.generation === '2.0' && model.region === 'domestic' ? ['default', 'flex'] : ['default']
  return optionalChoice(body, 'service_tier', choices, ` for ${model.name}`)
}

function acceptDraft(body: JsonObject, model: VideoAModel): boolean | undefined {
  const draft = optionalBoolean(body, 'draft')
  if (draft === true && (model.generation === '2.5' || model.region === 'overseas'))
    return refuse('draft', `\`draft\` must be false for ${model.name}`)
  return draft
}

/** First and last frames of the 2.5 models follow the frame; absent means adaptive. */
function checkFrameRatio(settings: Settings): void {
  if (settings['ratio'] !== undefined && settings['ratio'] !== 'adaptive')
    refuse('ratio', '`ratio` must be adaptive when `content` has a first or last frame')
}

/** @returns whether the task may search the web */
function acceptTools(body: JsonObject, model: VideoAModel, content: AcceptedContent): boolean {
  const tools = own(body, 'tools')
  if (tools === undefined) return false
  if (!Array.isArray(tools)) return refuse('tools', '`tools` must be an array')
  if (tools.length === 0) return false
  if (model.region !== 'domestic' || model.generation !== '2.5')
    return refuse('tools', `\`tools\` is not supported by ${model.name}: leave it out`)
  const tool: unknown = tools[0]
  if (tools.length > 1 || !isJsonObject(tool) || own(tool, 'type') !== WEB_SEARCH)
    return refuse('tools', '`tools` must be [{"type": "web_search"}]')
  const { image, video, audio } = content.inputs
  if (image + video + audio > 0)
    return refuse('tools', '`tools` needs text-only `content`: leave out either')
  return true
}

/** `callback_url` wins over its compatibility alias; only the winner is looked at. */
function acceptCallbackUrl(body: JsonObject): string | undefined {
  const param = isPresent(body, 'callback_url') ? 'callback_url' : 'CallbackURL'
  const value = own(body, param)
  if (value === undefined) return undefined
  const url = text(value, param, MAX_CALLBACK_URL_LENGTH).trim()
  if (url === '') return refuse(param, `\`${param}\` must not be empty`)
  if (!/^https:\/\/[^\s/]/i.test(url) || /[\s\p{Cc}]/u.test(url) || !URL.canParse(url))
    return refuse(param, `\`${param}\` must be a public https:// URL`)
  return url
}

function acceptSafetyIdentifier(body: JsonObject): string | undefined {
  const value = own(body, 'safety_identifier')
  if (value === undefined) return undefined
  const identifier = text(value, 'safety_identifier', MAX_SAFETY_IDENTIFIER_LENGTH)
  if (identifier.trim() === '')
    return refuse('safety_identifier', '`safety_identifier` must not be empty')
  return identifier
}
