import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { isPresent, oneOf, own, refuse, text } from '../../../domain/families/checks/fields.ts'
import {
  acceptMediaUrl,
  ASSET_SCHEME,
  type AssetReference,
  type MediaKind,
} from '../../../domain/families/checks/media-reference.ts'
import type { VideoAModel } from './models.ts'

/** The `content` array of a `/provA` task. */

/** Of any model; the 2.5 models have their own, lower counts. */
export const maxContentItems = 100
const MAX_PROMPT_LENGTH = 100_000

/** Of the 2.5 models. */
const MEDIA_LIMITS_2_5 = { image: 30, video: 10, audio: 10, total: 50 } as const

const ROLES: Readonly<Record<MediaKind, readonly string[]>> = {
  image: ['reference_image', 'first_frame', 'last_frame'],
  video: ['reference_video'],
  audio: ['reference_audio'],
}

export interface AcceptedContent {
  /** As upstream gets it: known members only, in the caller's order. */
  readonly items: readonly JsonObject[]
  /** How many items of each kind. */
  readonly inputs: Readonly<Record<Item['kind'], number>>
  /** Without repetition. */
  readonly assets: readonly AssetReference[]
  readonly hasFrames: boolean
}

type Item =
  | { readonly kind: 'text'; readonly text: string; readonly param: string }
  | {
      readonly kind: MediaKind
      readonly url: string
      readonly assetId: string | undefined
      readonly role: string | undefined
      readonly param: string
    }

/**
 * Checks `content` and folds `references.audio` into it.
 *
 * @throws RequestError
 */
export function acceptContent(body: JsonObject, model: VideoAModel): AcceptedContent {
  const value = own(body, 'content')
  if (!Array.isArray(value))
    return refuse('content', '`content` is required and must be an array of items')
  if (value.length > maxContentItems)
    return refuse('content', `\`content\` must have at most ${maxContentItems} items`)
  const items = [
    ...value.map((item: unknown, index) => acceptItem(item, `content[${index}]`)),
    ...acceptReferences(body, model),
  ]
  if (!items.some((item) => item.kind !== 'text' || item.text.trim() !== ''))
    return refuse('content', '`content` must have a non-empty text prompt or a reference')
  checkFrames(items, model)
  if (model.generation === '2.5') checkMediaCounts(items)
  return summarise(items)
}

const LOCATORS = ['text', 'image_url', 'video_url', 'audio_url'] as const

/**
 * An item of `content` holds what its type says and nothing else: a picture in a text item would not
 * be sent. @throws RequestError naming the member
 */
function refuseOtherLocators(item: JsonObject, type: unknown, param: string): void {
  const own = LOCATORS.find((name) => name === type)
  const other = LOCATORS.find((name) => name !== own && isPresent(item, name))
  if (own !== undefined && other !== undefined && isPresent(item, own))
    refuse(
      `${param}.${other}`,
      `\`${param}.${other}\` must be in an item of its own, whose \`type\` is ${other}`,
    )
}

function acceptItem(value: unknown, param: string): Item {
  if (!isJsonObject(value)) return refuse(param, `\`${param}\` must be an object`)
  const type = own(value, 'type')
  refuseOtherLocators(value, type, param)
  switch (type) {
    case 'text':
      return acceptText(value, param)
    case 'image_url':
      return acceptMedia(value, 'image', param)
    case 'video_url':
      return acceptMedia(value, 'video', param)
    case 'audio_url':
      return acceptMedia(value, 'audio', param)
    default:
      return refuse(
        `${param}.type`,
        `\`${param}.type\` must be one of text, image_url, video_url, audio_url`,
      )
  }
}

function acceptText(value: JsonObject, param: string): Item {
  if (isPresent(value, 'role'))
    return refuse(`${param}.role`, `\`${param}.role\` must be absent: text items have no role`)
  return {
    kind: 'text',
    text: text(own(value, 'text'), `${param}.text`, MAX_PROMPT_LENGTH),
    param,
  }
}

function acceptMedia(value: JsonObject, kind: MediaKind, param: string): Item {
  const locator = own(value, `${kind}_url`)
  const locatorParam = `${param}.${kind}_url`
  if (!isJsonObject(locator))
    return refuse(locatorParam, `\`${locatorParam}\` must be an object with a \`url\``)
  const reference = acceptMediaUrl(own(locator, 'url'), kind, `${locatorParam}.url`)
  const given = own(value, 'role')
  const role = ROLES[kind].find((candidate) => candidate === given)
  if (given !== undefined && role === undefined)
    return refuse(
      `${param}.role`,
      `\`${param}.role\` must be ${oneOf(ROLES[kind])} for ${kind}_url items, or absent`,
    )
  return { kind, ...reference, role, param }
}

/** `references.audio` of the overseas mini: strings or `{url}`. */
function acceptReferences(body: JsonObject, model: VideoAModel): readonly Item[] {
  if (!isPresent(body, 'references')) return []
  if (model.region !== 'overseas' || model.tier !== 'mini')
    return refuse(
      'references',
      `\`references\` is not supported by ${model.name}: put references into \`content\``,
    )
  const references = own(body, 'references')
  if (!isJsonObject(references))
    return refuse('references', '`references` must be an object with `audio`')
  const unknown = Object.keys(references).find((name) => name !== 'audio')
  if (unknown !== undefined)
    return refuse('references', '`references` takes only `audio`: put others into `content`')
  if (!isPresent(references, 'audio')) return []
  const audio = own(references, 'audio')
  if (!Array.isArray(audio) || audio.length > maxContentItems)
    return refuse(
      'references.audio',
      `\`references.audio\` must be an array of at most ${maxContentItems} URLs or {url} objects`,
    )
  return audio.map((entry: unknown, index): Item => {
    const param = `references.audio[${index}]`
    const reference = isJsonObject(entry)
      ? acceptMediaUrl(own(entry, 'url'), 'audio', `${param}.url`)
      : acceptMediaUrl(entry, 'audio', param)
    return { kind: 'audio', ...reference, role: 'reference_audio', param }
  })
}

/**
 * First and last frames. An image without a role is passed on as it is: upstream decides
 * what it means. A video or audio item can only be a reference.
 */
function checkFrames(items: readonly Item[], model: VideoAModel): void {
  const withRole = (role: string): readonly Item[] =>
    items.filter((item) => item.kind === 'image' && item.role === role)
  const first = withRole('first_frame')
  const last = withRole('last_frame')
  for (const extra of [first[1], last[1]])
    if (extra) refuse(`${extra.param}.role`, '`content` must have each frame role at most once')
  if (model.generation !== '2.5') return
  if (last[0] && !first[0])
    refuse(`${last[0].param}.role`, '`last_frame` needs a `first_frame` in `content`')
  if (!first[0]) return
  const reference = items.find(
    (item) => item.kind === 'video' || item.kind === 'audio' || isReferenceImage(item),
  )
  if (reference)
    refuse(reference.param, 'first and last frames must not be mixed with reference items')
}

function isReferenceImage(item: Item): boolean {
  return item.kind === 'image' && item.role === 'reference_image'
}

function checkMediaCounts(items: readonly Item[]): void {
  const media = items.filter((item) => item.kind !== 'text')
  for (const kind of ['image', 'video', 'audio'] as const) {
    const limit = MEDIA_LIMITS_2_5[kind]
    if (media.filter((item) => item.kind === kind).length > limit)
      refuse('content', `\`content\` must have at most ${limit} ${kind}_url items for this model`)
  }
  if (media.length > MEDIA_LIMITS_2_5.total)
    refuse('content', `\`content\` must have at most ${MEDIA_LIMITS_2_5.total} media items`)
}

function summarise(items: readonly Item[]): AcceptedContent {
  const count = (kind: Item['kind']): number => items.filter((item) => item.kind === kind).length
  return {
    items: items.map(toUpstreamItem),
    inputs: {
      text: count('text'),
      image: count('image'),
      video: count('video'),
      audio: count('audio'),
    },
    assets: assetsOf(items),
    hasFrames: items.some(
      (item) =>
        item.kind === 'image' && (item.role === 'first_frame' || item.role === 'last_frame'),
    ),
  }
}

/** An asset that is named as two kinds of thing is told twice: one of them is wrong. */
function assetsOf(items: readonly Item[]): readonly AssetReference[] {
  const named = items.flatMap((item) =>
    item.kind === 'text' || item.assetId === undefined
      ? []
      : [[`${item.kind} ${item.assetId}`, { assetId: item.assetId, kind: item.kind }] as const],
  )
  return [...new Map(named).values()]
}

/** The items with upstream's ids for assets, by ours. */
export function withNativeAssets(
  items: readonly JsonObject[],
  nativeIds: ReadonlyMap<string, string>,
): readonly JsonObject[] {
  return items.map((item) =>
    Object.fromEntries(
      Object.entries(item).map(([name, value]) => [name, withNativeUrl(value, nativeIds)]),
    ),
  )
}

function withNativeUrl(value: unknown, nativeIds: ReadonlyMap<string, string>): unknown {
  const url = isJsonObject(value) ? value['url'] : undefined
  const nativeId =
    typeof url === 'string' && url.startsWith(ASSET_SCHEME)
      ? nativeIds.get(url.slice(ASSET_SCHEME.length))
      : undefined
  return nativeId === undefined ? value : { url: `${ASSET_SCHEME}${nativeId}` }
}

function toUpstreamItem(item: Item): JsonObject {
  if (item.kind === 'text') return { type: 'text', text: item.text }
  const locator = { [`${item.kind}_url`]: { url: item.url } }
  const role = item.role === undefined ? {} : { role: item.role }
  return { type: `${item.kind}_url`, ...role, ...locator }
}
