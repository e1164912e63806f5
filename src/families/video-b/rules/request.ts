import { optionalChoice, own, refuse } from '../../../domain/families/checks/fields.ts'
import type { LongText } from '../../../domain/families/checks/strict-data-uri.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { unreachable } from '../../../kernel/assert.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { acceptContent, type AcceptedContent, type MediaItem } from './content.ts'
import {
  defaultVideoBResolution,
  resolveVideoBModel,
  type VideoBModel,
  videoBModels,
} from './models.ts'

/** All field and combination rules of a `/provB` video. */

interface AcceptedVideoB {
  readonly model: VideoBModel
  readonly facts: TaskFacts
  readonly prompt: string
  readonly media: readonly MediaItem[]
  /** As upstream gets them: it wants all of them, whatever the caller left out. */
  readonly settings: {
    readonly duration: number
    readonly resolution: string
    readonly ratio: string
  }
}

const CONCRETE_RATIOS = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'] as const
const RATIOS = ['adaptive', ...CONCRETE_RATIOS] as const

/**
 * Accepts a creation body or refuses it naming the first offending field. Fields nobody knows are
 * left out.
 *
 * @throws RequestError `invalid_request` or `invalid_duration`; `details.param` is the field's path
 */
export function acceptVideoBRequest(body: JsonObject): AcceptedVideoB {
  const model = acceptModel(body)
  const duration = acceptDuration(body, model)
  const resolution =
    optionalChoice(body, 'resolution', model.resolutions, ` for ${model.name}`) ??
    defaultVideoBResolution
  const content = acceptContent(body, model)
  const settings = { duration, resolution, ratio: acceptRatio(body, content) }
  const { inputs, prompt, media } = content
  return { model, facts: { inputs, tools: [], settings }, prompt, media, settings }
}

function acceptModel(body: JsonObject): VideoBModel {
  const name = own(body, 'model')
  if (typeof name !== 'string' || name === '')
    return refuse('model', '`model` is required and must be a string')
  const names = videoBModels.map((known) => known.name).join(', ')
  return (
    resolveVideoBModel(name) ??
    refuse('model', `\`model\` is not a model of this interface; use one of ${names}`)
  )
}

function acceptDuration(body: JsonObject, model: VideoBModel): number {
  const value = own(body, 'duration')
  if (value === undefined) return refuse('duration', '`duration` is required')
  if (typeof value !== 'number') return refuse('duration', '`duration` must be an integer')
  const { min, max } = model.durationS
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value
  return refuse(
    'duration',
    `\`duration\` must be an integer from ${min} to ${max} seconds for ${model.name}`,
    'invalid_duration',
  )
}

/** A picture or a reference may say what the sides are; words alone do not. */
function acceptRatio(body: JsonObject, { mode }: AcceptedContent): string {
  const ratio = optionalChoice(body, 'ratio', RATIOS)
  switch (mode) {
    case 'text':
      if (ratio === undefined || ratio === 'adaptive')
        return refuse(
          'ratio',
          `\`ratio\` must be one of ${CONCRETE_RATIOS.join(', ')} when \`content\` has only text`,
        )
      return ratio
    case 'frames':
      if (ratio !== undefined && ratio !== 'adaptive')
        return refuse(
          'ratio',
          '`ratio` must be adaptive, or absent, when `content` has a first or last frame',
        )
      return 'adaptive'
    case 'reference':
      return ratio ?? 'adaptive'
    default:
      return unreachable(mode)
  }
}

/**
 * What upstream gets, without `model`: every setting, and each item with its role. `urlOf` says where
 * the media of an item is for upstream.
 */
export function upstreamBodyOf(
  { prompt, media, settings }: AcceptedVideoB,
  urlOf: (item: MediaItem) => LongText,
  callbackUrl: string | undefined,
): JsonObject {
  return {
    content: [
      { type: 'text', text: prompt },
      ...media.map((item) => ({
        type: `${item.kind}_url`,
        role: item.role,
        [`${item.kind}_url`]: { url: urlOf(item) },
      })),
    ],
    ...settings,
    ...(callbackUrl === undefined ? {} : { callback_url: callbackUrl }),
  }
}
