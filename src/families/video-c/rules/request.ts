import { acceptImageDataUri, isDataUri } from '../../../domain/families/checks/data-uri.ts'
import {
  optionalBoolean,
  optionalChoice,
  optionalInteger,
  own,
  type RequestErrorCode,
  text,
} from '../../../domain/families/checks/fields.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/families/checks/web-url.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { type JsonObject, membersGiven } from '../../../kernel/json.ts'
import {
  resolveVideoCModel,
  type VideoCMode,
  type VideoCModel,
  videoCModels,
  videoCResolutions,
} from './models.ts'

/** Refusals that say what is wrong in this family's own word; one without is a field that is invalid. */

type Reason = 'FieldInvalid' | 'FieldLacking' | 'FieldUnwanted' | 'FieldItemCountOutOfRange'

/** @throws RequestError always */
export function refuseField(
  param: string,
  message: string,
  code: RequestErrorCode = 'invalid_request',
  reason: Reason = 'FieldInvalid',
): never {
  throw new DomainError(code, message, { param, reason })
}

/** @throws RequestError always */
function lacking(param: string): never {
  return refuseField(param, `\`${param}\` is required`, 'invalid_request', 'FieldLacking')
}

/** The pictures of a `/provC` creation: as many as its mode is made after. */

const COUNTS: Readonly<Record<VideoCMode, { readonly min: number; readonly max: number }>> = {
  text2video: { min: 0, max: 0 },
  img2video: { min: 1, max: 1 },
  'start-end2video': { min: 2, max: 2 },
  reference2video: { min: 1, max: 7 },
}

/** @throws RequestError */
function acceptImages(mode: VideoCMode, value: unknown): readonly string[] {
  const { min, max } = COUNTS[mode]
  if (value === undefined) return min === 0 ? [] : lacking('images')
  if (!Array.isArray(value)) return refuseField('images', '`images` must be an array of URLs')
  if (value.length < min || value.length > max)
    return refuseField(
      'images',
      `\`images\` must have ${inWords(min, max)} for ${mode}`,
      'invalid_request',
      max === 0 ? 'FieldUnwanted' : 'FieldItemCountOutOfRange',
    )
  return value.map((image: unknown, index) => acceptImage(image, `images[${index}]`))
}

function inWords(min: number, max: number): string {
  if (max === 0) return 'no pictures'
  return min === max ? `exactly ${max}` : `${min} to ${max}`
}

/** Upstream fetches it, we never do. */
function acceptImage(value: unknown, param: string): string {
  if (typeof value === 'string' && isDataUri(value)) {
    acceptImageDataUri(value, param)
    return value
  }
  const url = text(value, param, MAX_URL_LENGTH)
  if (isWebUrl(url)) return url
  return refuseField(
    param,
    `\`${param}\` must be a public https:// or http:// URL or a data:image/… URI`,
  )
}

/** All field and combination rules of a `/provC` creation. */

export interface AcceptedVideoC {
  readonly model: VideoCModel
  readonly facts: TaskFacts
  /**
   * What upstream gets, without `model` and `payload`. Only fields we know: it ignores others, so they
   * are left out and never an error.
   */
  readonly upstreamBody: JsonObject
  /** What the caller wants the task to be known by. */
  readonly payload: string | undefined
  /** `https:`; whether its host is public is for the caller of this function to find out. */
  readonly callbackUrl: string | undefined
}

const MAX_PROMPT_CHARACTERS = 2_000
/** It is kept with the task, unlike what upstream would take. */
const MAX_PAYLOAD_LENGTH = 512
const MAX_CALLBACK_URL_LENGTH = 2_048
const MAX_META_DATA_LENGTH = 8_192
const MAX_SEED = 2 ** 31 - 1
const AMPLITUDES = ['auto', 'small', 'medium', 'large'] as const
const RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'] as const
/** By their number on the wire. */
const WATERMARK_POSITIONS = ['top_left', 'top_right', 'bottom_right', 'bottom_left'] as const

/**
 * Accepts a creation body or refuses it naming the first offending field.
 *
 * @throws RequestError; `details.reason` is this family's word for what is wrong
 */
export function acceptVideoCRequest(mode: VideoCMode, body: JsonObject): AcceptedVideoC {
  const model = acceptModel(mode, body)
  const prompt = acceptPrompt(mode, body)
  const images = acceptImages(mode, own(body, 'images'))
  const settings = membersGiven({
    duration: acceptDuration(model, body),
    resolution: optionalChoice(body, 'resolution', videoCResolutions),
    aspect_ratio: acceptRatio(mode, body),
    style: acceptStyle(mode, body),
    audio: acceptAudio(model, body),
    movement_amplitude: optionalChoice(body, 'movement_amplitude', AMPLITUDES),
    bgm: optionalBoolean(body, 'bgm'),
    seed: optionalInteger(body, 'seed', 0, MAX_SEED),
    off_peak: optionalBoolean(body, 'off_peak'),
    watermark: optionalBoolean(body, 'watermark'),
    wm_position: acceptWatermarkPosition(body),
  })
  const callbackUrl = acceptUrl(body, 'callback_url', MAX_CALLBACK_URL_LENGTH)
  const passedOn = membersGiven({
    prompt,
    wm_url: acceptUrl(body, 'wm_url', MAX_URL_LENGTH),
    meta_data: optionalText(body, 'meta_data', MAX_META_DATA_LENGTH),
    callback_url: callbackUrl,
  })
  return {
    model,
    facts: {
      inputs: { text: prompt === undefined ? 0 : 1, image: images.length },
      tools: [],
      settings: { mode, ...settings },
    },
    upstreamBody: { ...settings, ...passedOn, ...(images.length === 0 ? {} : { images }) },
    payload: optionalText(body, 'payload', MAX_PAYLOAD_LENGTH),
    callbackUrl,
  }
}

function acceptModel(mode: VideoCMode, body: JsonObject): VideoCModel {
  const name = own(body, 'model')
  if (name === undefined) return lacking('model')
  const model = typeof name === 'string' ? resolveVideoCModel(name) : undefined
  if (model?.modes.includes(mode) === true) return model
  const names = videoCModels.filter(({ modes }) => modes.includes(mode)).map((known) => known.name)
  return refuseField('model', `\`model\` must be one of ${names.join(', ')} for ${mode}`)
}

function acceptPrompt(mode: VideoCMode, body: JsonObject): string | undefined {
  const value = own(body, 'prompt')
  if (value === undefined)
    return mode === 'text2video' || mode === 'reference2video' ? lacking('prompt') : undefined
  const prompt = text(value, 'prompt', MAX_PROMPT_CHARACTERS)
  if (prompt.trim() === '') return refuseField('prompt', '`prompt` must not be empty')
  return prompt
}

function acceptDuration(model: VideoCModel, body: JsonObject): number | undefined {
  const value = own(body, 'duration')
  if (value === undefined) return undefined
  const duration = model.durationsS.find((known) => known === value)
  if (duration !== undefined) return duration
  return refuseField(
    'duration',
    `\`duration\` must be ${durationsInWords(model)} seconds for ${model.name}`,
    'invalid_duration',
  )
}

function durationsInWords({ durationsS }: VideoCModel): string {
  const longest = durationsS.length
  return durationsS[longest - 1] === longest
    ? `an integer from 1 to ${longest}`
    : durationsS.join(' or ')
}

/** What is made after pictures has their shape. */
function acceptRatio(mode: VideoCMode, body: JsonObject): string | undefined {
  const ratio = optionalChoice(body, 'aspect_ratio', RATIOS)
  if (ratio === undefined || mode === 'text2video' || mode === 'reference2video') return ratio
  return unwanted('aspect_ratio', mode)
}

function acceptStyle(mode: VideoCMode, body: JsonObject): string | undefined {
  const style = optionalChoice(body, 'style', ['general', 'anime'])
  return style === undefined || mode === 'text2video' ? style : unwanted('style', mode)
}

function acceptAudio(model: VideoCModel, body: JsonObject): boolean | undefined {
  const audio = optionalBoolean(body, 'audio')
  return audio === true && !model.hasAudio ? unwanted('audio', model.name) : audio
}

/** Its number, also as text, or its name; upstream takes the number. */
function acceptWatermarkPosition(body: JsonObject): number | undefined {
  const value = own(body, 'wm_position')
  if (value === undefined) return undefined
  const index = WATERMARK_POSITIONS.findIndex(
    (name, at) => value === name || value === at + 1 || value === String(at + 1),
  )
  if (index >= 0) return index + 1
  return refuseField(
    'wm_position',
    `\`wm_position\` must be "1" to "4" or one of ${WATERMARK_POSITIONS.join(', ')}`,
  )
}

function acceptUrl(body: JsonObject, name: string, maxCharacters: number): string | undefined {
  const url = optionalText(body, name, maxCharacters)?.trim()
  if (url === undefined || isWebUrl(url)) return url
  return refuseField(name, `\`${name}\` must be a public https:// URL`)
}

function optionalText(body: JsonObject, name: string, maxCharacters: number): string | undefined {
  const value = own(body, name)
  return value === undefined ? undefined : text(value, name, maxCharacters)
}

function unwanted(name: string, forWhat: string): never {
  return refuseField(
    name,
    `\`${name}\` is not supported for ${forWhat}: leave it out`,
    'invalid_request',
    'FieldUnwanted',
  )
}
