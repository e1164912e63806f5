import type { Static } from 'typebox'
import { optionalChoice, refuse } from '../../../domain/catalog/checks/fields.ts'
import { knownModel } from '../../../domain/catalog/checks/known-model.ts'
import {
  ASSET_SCHEME,
  assetIdOf,
  type AssetReference,
  contentOf,
  type MediaKind,
  mediaKinds,
  type NativeAssetIds,
} from '../../../domain/catalog/checks/media.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { readBody } from '../../../kernel/body.ts'
import { type JsonObject, membersGiven } from '../../../kernel/json.ts'
import { videoABody } from './body.ts'
import { resolveVideoAModel, type VideoAModel } from './models.ts'
import { WEB_SEARCH } from './pricing.ts'

/**
 * A creation of a `/provA` task: the rules that depend on the model or on several members, and the
 * upstream body.
 */

/** The most media that the 2.5 models take. */
const MEDIA_LIMITS_2_5 = { image: 30, video: 10, audio: 10 } as const
const MAX_MEDIA_2_5 = 50

type Body = Static<typeof videoABody>

export interface AcceptedVideoA {
  readonly model: VideoAModel
  readonly facts: TaskFacts
  /**
   * The normalised upstream body without `model` and `safety_identifier`. It has known fields only:
   * upstream silently ignores unknown ones, so they are left out and are no error.
   */
  readonly upstreamBody: (known: {
    /** The URL in the form in which it was checked. */
    readonly callbackUrl: string | undefined
    readonly nativeIds: NativeAssetIds
  }) => JsonObject
  readonly safetyIdentifier: string | undefined
  readonly executionExpiresAfterS: number | undefined
  /** Trimmed, `https:`; the caller of this function checks whether its host is public. */
  readonly callbackUrl: string | undefined
  /** Without repetition. */
  readonly assets: readonly AssetReference[]
  /** The project of the assets, if the caller names one. */
  readonly projectName: string | undefined
}

interface MediaItem {
  readonly kind: MediaKind
  readonly url: string
  readonly role?: string | undefined
  /** Path of the item in the body. */
  readonly param: string
}

type Item = MediaItem | { readonly kind: 'text'; readonly text: string; readonly param: string }

const known = knownModel(resolveVideoAModel)

/**
 * Accepts a creation body or refuses it.
 *
 * @throws DomainError `invalid_request`, or `invalid_duration` for a number out of range: see `readBody`
 */
export function acceptVideoARequest(sent: JsonObject): AcceptedVideoA {
  // `callback_url` wins over its compatibility alias; only the winner is checked.
  const isGiven = (sent['callback_url'] ?? undefined) !== undefined
  const winner = isGiven ? { CallbackURL: undefined } : {}
  const body = readBody(videoABody, { ...sent, ...winner })
  const model = known(body.model)
  const items = [
    ...body.content.flatMap((item, index) => contentOf(item, index) ?? []),
    ...referencesIn(body, model),
  ]
  const media = items.filter((item) => item.kind !== 'text')
  if (!items.some((item) => item.kind !== 'text' || item.text.trim() !== ''))
    refuse('content', '`content` must have a non-empty text prompt or a reference')
  checkFrames(media, model)
  if (model.generation === '2.5') checkMediaCounts(media)
  const settings = membersGiven(settingsOf(body, model))
  const isFramed =
    model.generation === '2.5' && media.some(({ role }) => role?.endsWith('_frame') === true)
  // First and last frames of the 2.5 models follow the frame.
  if (isFramed && (body.ratio ?? 'adaptive') !== 'adaptive')
    refuse('ratio', '`ratio` must be adaptive when `content` has a first or last frame')
  const searches = searchesWeb(body, model, media)
  const callbackUrl = (body.callback_url ?? body.CallbackURL)?.trim()
  const counts = mediaKinds.map((kind) => [kind, media.filter((item) => item.kind === kind).length])
  const inputs = { text: items.length - media.length, ...Object.fromEntries(counts) }
  return {
    model,
    facts: { inputs, tools: searches ? [WEB_SEARCH] : [], settings },
    upstreamBody: (known) => ({
      content: items.map((item) => toUpstreamItem(item, known.nativeIds)),
      ...settings,
      // An absent ratio would be upstream's choice; frames leave it none.
      ...(isFramed ? { ratio: 'adaptive' } : {}),
      ...(searches ? { tools: [{ type: WEB_SEARCH }] } : {}),
      ...membersGiven({ callback_url: known.callbackUrl }),
    }),
    safetyIdentifier: body.safety_identifier,
    executionExpiresAfterS: body.execution_expires_after,
    callbackUrl,
    assets: assetsOf(media),
    projectName: body.ProjectName,
  }
}

function refuseOf(name: string, model: VideoAModel, elsewhere = 'leave it out'): never {
  return refuse(name, `\`${name}\` is not supported by ${model.name}: ${elsewhere}`)
}

function settingsOf(body: Body, model: VideoAModel) {
  const { duration, ratio, generate_audio, watermark, return_last_frame, draft } = body
  const { execution_expires_after, priority, seed, camera_fixed } = body
  const is20 = model.generation === '2.0'
  const isDomestic20 = is20 && model.region === 'domestic'
  for (const name of ['seed', 'camera_fixed'] as const)
    if (!is20 && body[name] !== undefined) refuseOf(name, model)
  const { min, max } = model.durationS
  if (!Number.isSafeInteger(duration) || (duration !== -1 && (duration < min || duration > max))) {
    const inWords = `an integer from ${min} to ${max} seconds, or -1, for ${model.name}`
    refuse('duration', `\`duration\` must be ${inWords}`, 'invalid_duration')
  }
  if (draft === true && !isDomestic20) refuse('draft', `\`draft\` must be false for ${model.name}`)
  const choiceOf = (name: string, choices: readonly string[]) =>
    optionalChoice(body, name, choices, ` for ${model.name}`)
  const format = choiceOf('output_format', is20 ? ['mp4'] : ['mp4', 'mov'])
  return {
    duration,
    ratio,
    resolution: choiceOf('resolution', model.resolutions),
    generate_audio,
    watermark,
    return_last_frame,
    execution_expires_after,
    priority,
    // A 2.0 model always renders MP4 and has no such option: asking for MP4 is harmless.
    output_format: is20 ? undefined : format,
    service_tier: choiceOf('service_tier', isDomestic20 ? ['default', 'flex'] : ['default']),
    draft,
    // An upstream rule; the gateway only forbids them on 2.5.
    seed,
    camera_fixed,
  }
}

/** Reads `references.audio`: strings or `{url}`. */
function referencesIn({ references }: Body, model: VideoAModel): readonly MediaItem[] {
  if (references === undefined) return []
  if (model.region !== 'overseas' || model.tier !== 'mini')
    refuseOf('references', model, 'put references into `content`')
  return (references.audio ?? []).map((entry, index) => ({
    kind: 'audio',
    url: typeof entry === 'string' ? entry : entry.url,
    role: 'reference_audio',
    param: `references.audio[${index}]`,
  }))
}

/**
 * First and last frames. An image without a role is passed on unchanged: upstream decides its
 * meaning. A video or audio item can only be a reference.
 */
function checkFrames(media: readonly MediaItem[], model: VideoAModel): void {
  const [first, last] = ['first_frame', 'last_frame'].map((role) => {
    const [frame, extra] = media.filter((item) => item.role === role)
    if (extra) refuse(`${extra.param}.role`, '`content` must have each frame role at most once')
    return frame
  })
  if (model.generation !== '2.5') return
  if (last && !first)
    refuse(`${last.param}.role`, '`last_frame` needs a `first_frame` in `content`')
  const reference = media.find(({ kind, role }) => kind !== 'image' || role === 'reference_image')
  if (first && reference)
    refuse(reference.param, 'first and last frames must not be mixed with reference items')
}

function checkMediaCounts(media: readonly MediaItem[]): void {
  for (const kind of mediaKinds) {
    const limit = MEDIA_LIMITS_2_5[kind]
    if (media.filter((item) => item.kind === kind).length > limit)
      refuse('content', `\`content\` must have at most ${limit} ${kind}_url items for this model`)
  }
  if (media.length > MAX_MEDIA_2_5)
    refuse('content', `\`content\` must have at most ${MAX_MEDIA_2_5} media items`)
}

/** Whether the task may search the web. */
function searchesWeb(
  { tools = [] }: Body,
  model: VideoAModel,
  media: readonly MediaItem[],
): boolean {
  if (tools.length === 0) return false
  if (model.region !== 'domestic' || model.generation !== '2.5') refuseOf('tools', model)
  if (media.length > 0) refuse('tools', '`tools` is allowed only with text-only `content`')
  return true
}

/** An asset in two roles of different kinds is listed twice: one of them is wrong. */
function assetsOf(media: readonly MediaItem[]): readonly AssetReference[] {
  const named = media.flatMap(({ kind, url }) => {
    const assetId = assetIdOf(url)
    return assetId === undefined ? [] : [[`${kind} ${assetId}`, { assetId, kind }] as const]
  })
  return [...new Map(named).values()]
}

/** Known members only, and the account's id of an asset in place of the gateway's. */
function toUpstreamItem(item: Item, nativeIds: NativeAssetIds): JsonObject {
  if (item.kind === 'text') return { type: 'text', text: item.text }
  const role = item.role === undefined ? {} : { role: item.role }
  const nativeId = nativeIds.get(assetIdOf(item.url) ?? '')
  const url = nativeId === undefined ? item.url : `${ASSET_SCHEME}${nativeId}`
  return { type: `${item.kind}_url`, ...role, [`${item.kind}_url`]: { url } }
}
