import { Type } from 'typebox'
import { imageUrlFault } from '../../../domain/catalog/checks/pictures.ts'
import { knownModel } from '../../../domain/catalog/checks/known-model.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/catalog/checks/media.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { NotBlank, readBody, RefusedMember } from '../../../kernel/body.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { type JsonObject, membersGiven, pickMembers } from '../../../kernel/json.ts'
import {
  resolveVideoCModel,
  type VideoCMode,
  type VideoCModel,
  videoCModels,
  videoCResolutions,
} from './models.ts'

/** The body of a `/provC` creation: a schema per mode, and the rules that depend on the model. */

/** The pictures of the modes that need some. */
const COUNTS = { img2video: [1, 1], 'start-end2video': [2, 2], reference2video: [1, 7] } as const
const NO_LIST = 'must be an array of URLs'
/** Positions by their number on the wire. */
const POSITIONS = ['top_left', 'top_right', 'bottom_right', 'bottom_left'] as const

const Prompt = Type.String({ maxLength: 2_000, ...NotBlank })
/** Upstream fetches it, we never do. */
const Picture = Type.String({ description: 'A URL or a data URI.', check: imageUrlFault })

function link(maxLength: number, description: string) {
  const check = (url: string) =>
    isWebUrl(url.trim()) ? undefined : 'must be a public https:// URL'
  const documented = { type: 'string', maxLength, format: 'uri', description }
  return Type.Optional(Type.String({ maxLength, check, documented }))
}

/**
 * The members of every mode; unknown fields are left out and are no error, because upstream ignores
 * them.
 */
const common = {
  duration: Type.Optional(
    Type.Unsafe<unknown>({
      documented: { type: 'integer', description: 'Seconds; allowed values depend on the model.' },
    }),
  ),
  resolution: Type.Optional(Type.Enum([...videoCResolutions])),
  audio: Type.Optional(
    Type.Boolean({ description: 'true: video with sound; only with the clipq3 models.' }),
  ),
  movement_amplitude: Type.Optional(Type.Enum(['auto', 'small', 'medium', 'large'])),
  bgm: Type.Optional(Type.Boolean()),
  seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
  off_peak: Type.Optional(
    Type.Boolean({ description: 'true: half the credits; the task may wait for hours.' }),
  ),
  watermark: Type.Optional(Type.Boolean()),
  wm_position: Type.Optional(
    Type.Enum([...POSITIONS, '1', '2', '3', '4', 1, 2, 3, 4], {
      words: `must be "1" to "4" or one of ${POSITIONS.join(', ')}`,
      // Clients are made of choices that have one type.
      documented: Type.Union([
        Type.Enum([...POSITIONS, '1', '2', '3', '4']),
        Type.Integer({ minimum: 1, maximum: 4 }),
      ]),
    }),
  ),
  callback_url: link(2_048, 'https:// URL whose host is publicly routable.'),
  wm_url: link(MAX_URL_LENGTH, 'URL of the watermark picture.'),
  meta_data: Type.Optional(Type.String({ maxLength: 8_192 })),
  /** The gateway keeps it with the task, so its bound is smaller than upstream's. */
  payload: Type.Optional(
    Type.String({ maxLength: 512, description: 'Returned by queries and callbacks.' }),
  ),
}

function imagesOf(mode: VideoCMode) {
  if (mode === 'text2video')
    return Type.Optional(
      Type.Array(Type.Unknown(), { words: NO_LIST, description: 'Must be empty.' }),
    )
  const [minItems, maxItems] = COUNTS[mode]
  const span = minItems === maxItems ? `exactly ${maxItems}` : `${minItems} to ${maxItems}`
  const count = `must have ${span} for ${mode}`
  const words = { type: NO_LIST, minItems: count, maxItems: count }
  return Type.Array(Picture, { minItems, maxItems, words })
}

function bodyOf(mode: VideoCMode, example: JsonObject) {
  const isDescribed = mode === 'text2video' || mode === 'reference2video'
  const models = videoCModels.filter(({ modes }) => modes.includes(mode)).map(({ name }) => name)
  const unwanted = RefusedMember(`is not supported for ${mode}: leave it out`)
  return Type.Object(
    {
      model: Type.Enum(models, { words: `must be one of ${models.join(', ')} for ${mode}` }),
      prompt: isDescribed ? Prompt : Type.Optional(Prompt),
      images: imagesOf(mode),
      ...common,
      style: mode === 'text2video' ? Type.Optional(Type.Enum(['general', 'anime'])) : unwanted,
      // A video from pictures has their aspect ratio.
      aspect_ratio: isDescribed
        ? Type.Optional(Type.Enum(['16:9', '9:16', '1:1', '4:3', '3:4']))
        : unwanted,
    },
    { additionalProperties: true, examples: [example] },
  )
}

const url = 'https://media.example.test/boat.png'
const [model, prompt] = ['clipq3-pro', 'a fox in the snow']

export const videoCBodies = {
  text2video: bodyOf('text2video', { model, prompt, duration: 5 }),
  img2video: bodyOf('img2video', { model, images: [url] }),
  'start-end2video': bodyOf('start-end2video', { model, images: [url, url] }),
  reference2video: bodyOf('reference2video', { model: 'clipq2', prompt, images: [url] }),
}

/** Members that a query shows again, besides the duration. */
export const shownMembers = [
  'resolution',
  'aspect_ratio',
  'style',
  'audio',
  'movement_amplitude',
  'bgm',
  'seed',
  'off_peak',
  'watermark',
] as const

export interface AcceptedVideoC {
  readonly model: VideoCModel
  readonly facts: TaskFacts
  /** The upstream body without `model` and `payload`: known fields only. */
  readonly upstreamBody: (known: {
    /** The URL in the form in which it was checked. */
    readonly callbackUrl: string | undefined
  }) => JsonObject
  /** The caller's marker of the task. */
  readonly payload: string | undefined
  /** `https:`; the caller of this function checks whether its host is public. */
  readonly callbackUrl: string | undefined
}

const known = knownModel(resolveVideoCModel)

/**
 * Accepts a creation body or refuses it.
 *
 * @throws DomainError `invalid_request`, `invalid_duration`: see `readBody`
 */
export function acceptVideoCRequest(mode: VideoCMode, sent: JsonObject): AcceptedVideoC {
  const body = readBody(videoCBodies[mode], sent)
  const model = known(body.model)
  const prompt: string | undefined = body.prompt
  const images: readonly unknown[] = body.images ?? []
  if (mode === 'text2video' && images.length > 0)
    refuseUnwanted('images', `must have no pictures for ${mode}`)
  if (body.audio === true && !model.hasAudio)
    refuseUnwanted('audio', `is not supported for ${model.name}: leave it out`)
  const settings = membersGiven({
    duration: acceptDuration(model, body.duration),
    ...pickMembers(body, shownMembers),
    wm_position: positionOf(body.wm_position),
  })
  const passedOn = membersGiven<unknown>({
    prompt,
    wm_url: body.wm_url?.trim(),
    meta_data: body.meta_data,
    images: images.length === 0 ? undefined : images,
  })
  return {
    model,
    facts: {
      inputs: { text: prompt === undefined ? 0 : 1, image: images.length },
      tools: [],
      settings: { mode, ...settings },
    },
    upstreamBody: ({ callbackUrl }) => ({
      ...settings,
      ...passedOn,
      ...membersGiven({ callback_url: callbackUrl }),
    }),
    payload: body.payload,
    callbackUrl: body.callback_url?.trim(),
  }
}

/** Refuses a member as if the schema did not have it. @throws DomainError always */
function refuseUnwanted(param: string, words: string): never {
  throw new DomainError('invalid_request', `\`${param}\` ${words}`, { param, keyword: 'not' })
}

function acceptDuration({ name, durationsS }: VideoCModel, value: unknown): number | undefined {
  const duration = durationsS.find((known) => known === value)
  if (duration !== undefined || value === undefined) return duration
  const longest = durationsS.length
  const inWords =
    durationsS[longest - 1] === longest
      ? `an integer from 1 to ${longest}`
      : durationsS.join(' or ')
  throw new DomainError('invalid_duration', `\`duration\` must be ${inWords} seconds for ${name}`, {
    param: 'duration',
  })
}

/** Reads a position as a number, a number in text, or a name; upstream expects the number. */
function positionOf(position: string | number | undefined): number | undefined {
  if (position === undefined) return undefined
  return POSITIONS.findIndex((name) => name === position) + 1 || Number(position)
}
