import { Type } from 'typebox'
import {
  contentItem,
  contentOf,
  isWebUrl,
  type LongText,
  MAX_URL_LENGTH,
  type MediaKind,
  mediaKinds,
  readStrictDataUri,
} from '../../../domain/catalog/checks/media.ts'
import { optionalChoice, refuse } from '../../../domain/catalog/checks/fields.ts'
import { knownModel } from '../../../domain/catalog/checks/known-model.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { RawString } from '../../../kernel/raw-string.ts'
import { NotBlank, readBody } from '../../../kernel/body.ts'
import { isPositiveInt64 } from '../../../kernel/int64.ts'
import { type JsonObject, membersGiven } from '../../../kernel/json.ts'
import { textFault } from '../../../kernel/storable-text.ts'
import {
  defaultVideoBResolution,
  resolveVideoBModel,
  type VideoBModel,
  videoBModels,
  videoBResolutions,
} from './models.ts'

/**
 * The body of a `/provB` video: its schema, and the rules that depend on the model or on several
 * members.
 */

const MIB = 1024 * 1024

const INLINE: Readonly<
  Record<MediaKind, { readonly types: readonly string[]; readonly maxDecodedBytes: number }>
> = {
  image: {
    types: ['jpeg', 'jpg', 'png', 'webp', 'heic', 'heif'].map((type) => `image/${type}`),
    maxDecodedBytes: 30 * MIB,
  },
  video: { types: ['video/mp4'], maxDecodedBytes: 50 * MIB },
  audio: { types: ['audio/wav', 'audio/mp3'], maxDecodedBytes: 15 * MIB },
}

/** The most items of each role in a request. */
const ROLES = {
  first_frame: 1,
  last_frame: 1,
  reference_image: 9,
  reference_video: 3,
  reference_audio: 3,
}

const RATIOS = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'] as const

const DATA = /^data:/i
const FILE = /^media_file:\/\/(\d+)$/

/** Describes the fault of a media URL, without resolving its host; undefined if it is valid. */
function urlFault(url: unknown, kind: MediaKind): string | undefined {
  if (url instanceof RawString) return dataUriFault(url, kind)
  if (typeof url !== 'string') return 'must be a string'
  if (DATA.test(url)) return dataUriFault(url, kind)
  const fault = textFault(url, MAX_URL_LENGTH)
  if (fault !== undefined || fileIdIn(url) !== undefined) return fault
  if (url.startsWith('https:') && isWebUrl(url)) return undefined
  return `must be a public https:// URL, a data:${kind}/… URI or media_file://<file_id>`
}

function dataUriFault(url: LongText, kind: MediaKind): string | undefined {
  const read = readStrictDataUri(url)
  const { types, maxDecodedBytes } = INLINE[kind]
  if (read === undefined)
    return `must be a data URI like data:${types[0]};base64,<payload>, in strict base64 and with no blank`
  if (!types.includes(read.mediaType)) return `must be a data URI of ${types.join(', ')}`
  if (read.decodedBytes > maxDecodedBytes)
    return `must be at most ${maxDecodedBytes / MIB} MiB decoded`
  return undefined
}

function fileIdIn(url: string): string | undefined {
  const fileId = FILE.exec(url)?.[1]
  return fileId !== undefined && isPositiveInt64(fileId) ? fileId : undefined
}

function urlOf(kind: MediaKind) {
  const description = 'Public https:// URL, data:<type>;base64,<payload> or media_file://<file_id>.'
  return Type.Unsafe<LongText>({
    check: (url: unknown) => urlFault(url, kind),
    documented: { type: 'string', description },
  })
}

const Prompt = Type.String({
  maxLength: 7_000,
  description: 'The prompt; only one item may have text.',
  ...NotBlank,
})

export const videoBBody = Type.Object(
  {
    model: Type.Enum(videoBModels.map(({ name }) => name)),
    content: Type.Array(
      contentItem<LongText>(Prompt, {
        image: {
          url: urlOf('image'),
          role: Type.Optional(
            Type.Enum(['first_frame', 'last_frame', 'reference_image'], { default: 'first_frame' }),
          ),
        },
        video: { url: urlOf('video'), role: Type.Enum(['reference_video']) },
        audio: { url: urlOf('audio'), role: Type.Enum(['reference_audio']) },
      }),
      { maxItems: 13, description: 'One text and at most 12 media items.' },
    ),
    duration: Type.Number({
      words: 'must be an integer',
      documented: { type: 'integer', description: 'Seconds; allowed values depend on the model.' },
    }),
    resolution: Type.Optional(
      Type.Unsafe<unknown>({
        documented: { enum: videoBResolutions, default: defaultVideoBResolution },
      }),
    ),
    ratio: Type.Optional(
      Type.Enum(['adaptive', ...RATIOS], {
        description: 'Required, and must not be `adaptive`, if `content` has only text.',
      }),
    ),
    callback_url: Type.Optional(
      Type.String({
        maxLength: 2_048,
        documented: {
          type: 'string',
          maxLength: 2_048,
          format: 'uri',
          description: 'https:// URL whose host is publicly routable.',
        },
      }),
    ),
  },
  {
    named: 'VideoBRequest',
    additionalProperties: true,
    examples: [
      {
        model: 'h3-video',
        content: [{ type: 'text', text: 'A lantern drifts over a lake' }],
        duration: 6,
        ratio: '16:9',
      },
    ],
  },
)

type Locator =
  /** Another check, which may resolve names, makes sure that the host is public. */
  | { readonly from: 'web'; readonly url: string }
  | { readonly from: 'data'; readonly url: LongText }
  /** A file that was uploaded. */
  | { readonly from: 'file'; readonly fileId: string }

export interface MediaItem {
  readonly kind: MediaKind
  readonly role: string
  readonly locator: Locator
  /** Path of its URL in the body. */
  readonly param: string
}

/** The media inputs of a request: none, frames, or references. */
type VideoBMode = 'text' | 'frames' | 'reference'

interface AcceptedVideoB {
  readonly model: VideoBModel
  readonly facts: TaskFacts
  /** In the caller's order. */
  readonly media: readonly MediaItem[]
  /** The settings for upstream, which requires all of them, even those that the caller omitted. */
  readonly settings: {
    readonly duration: number
    readonly resolution: string
    readonly ratio: string
  }
  /** The upstream body without `model`: every setting, and each item with its role. */
  readonly upstreamBody: (known: {
    /** The URL in the form in which it was checked. */
    readonly callbackUrl: string | undefined
    /** The media URL of an item for upstream. */
    readonly urlOf: (item: MediaItem) => LongText
  }) => JsonObject
  /** The caller of this function checks whether its host is public. */
  readonly callbackUrl: string | undefined
}

const known = knownModel(resolveVideoBModel)

/**
 * Accepts a creation body or refuses it. Unknown fields are left out.
 *
 * @throws DomainError `invalid_request`, `invalid_duration`: see `readBody`
 */
export function acceptVideoBRequest(sent: JsonObject): AcceptedVideoB {
  const body = readBody(videoBBody, sent)
  const model = known(body.model)
  const duration = acceptDuration(body.duration, model)
  const resolution =
    optionalChoice(body, 'resolution', model.resolutions, ` for ${model.name}`) ??
    defaultVideoBResolution
  const items = body.content.map(contentOf)
  const [prompt, ...more] = items.flatMap((item) => (item?.kind === 'text' ? [item.text] : []))
  if (prompt === undefined || more.length > 0)
    return refuse('content', '`content` must have exactly one text item')
  const media = items.flatMap((item): readonly MediaItem[] => {
    if (item === undefined || item.kind === 'text') return []
    const { kind, url, role = 'first_frame' } = item
    return [{ kind, role, locator: locatorOf(url), param: `${item.param}.${kind}_url.url` }]
  })
  checkRoles(media)
  const settings = { duration, resolution, ratio: ratioOf(body.ratio, modeOf(media, model)) }
  const counts = mediaKinds.map((kind) => [kind, media.filter((item) => item.kind === kind).length])
  const inputs = { text: 1, ...Object.fromEntries(counts) }
  const facts = { inputs, tools: [], settings }
  const upstreamBody: AcceptedVideoB['upstreamBody'] = ({ callbackUrl, urlOf }) => ({
    content: [
      { type: 'text', text: prompt },
      ...media.map((item) => ({
        type: `${item.kind}_url`,
        role: item.role,
        [`${item.kind}_url`]: { url: urlOf(item) },
      })),
    ],
    ...settings,
    ...membersGiven({ callback_url: callbackUrl }),
  })
  return { model, facts, media, settings, upstreamBody, callbackUrl: body.callback_url }
}

function acceptDuration(duration: number, { name, durationS: { min, max } }: VideoBModel): number {
  if (Number.isSafeInteger(duration) && duration >= min && duration <= max) return duration
  const inWords = `an integer from ${min} to ${max} seconds for ${name}`
  return refuse('duration', `\`duration\` must be ${inWords}`, 'invalid_duration')
}

function locatorOf(url: LongText): Locator {
  if (typeof url !== 'string' || DATA.test(url)) return { from: 'data', url }
  const fileId = fileIdIn(url)
  return fileId === undefined ? { from: 'web', url } : { from: 'file', fileId }
}

function checkRoles(media: readonly MediaItem[]): void {
  for (const [role, limit] of Object.entries(ROLES))
    if (media.filter((item) => item.role === role).length > limit)
      refuse('content', `\`content\` must have at most ${limit} of the role ${role}`)
}

function modeOf(media: readonly MediaItem[], model: VideoBModel): VideoBMode {
  if (media.length === 0) return 'text'
  const references = media.filter(({ role }) => role.startsWith('reference_'))
  if (references.length === 0) return 'frames'
  if (!model.takesReferences)
    return refuse(
      'content',
      `${model.name} does not accept reference items: leave them out of \`content\``,
    )
  if (references.length < media.length)
    return refuse('content', 'first and last frames must not be mixed with reference items')
  if (references.every(({ kind }) => kind === 'audio'))
    return refuse(
      'content',
      '`reference_audio` needs a `reference_image` or `reference_video` in `content`',
    )
  return 'reference'
}

/** A picture or a reference may determine the ratio; text alone does not. */
function ratioOf(ratio: string | undefined, mode: VideoBMode): string {
  const isConcrete = ratio !== undefined && ratio !== 'adaptive'
  if (mode === 'text' && !isConcrete)
    return refuse(
      'ratio',
      `\`ratio\` must be one of ${RATIOS.join(', ')} when \`content\` has only text`,
    )
  if (mode === 'frames' && isConcrete)
    return refuse(
      'ratio',
      '`ratio` must be adaptive, or absent, when `content` has a first or last frame',
    )
  return ratio ?? 'adaptive'
}
