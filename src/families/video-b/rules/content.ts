import { refuseOtherLocators } from '../../../domain/families/checks/content-item.ts'
import { isPresent, oneOf, own, refuse, text } from '../../../domain/families/checks/fields.ts'
import {
  type LongText,
  readStrictDataUri,
} from '../../../domain/families/checks/strict-data-uri.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/families/checks/web-url.ts'
import { AsciiText } from '../../../kernel/ascii-text.ts'
import { isPositiveInt64 } from '../../../kernel/int64.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { VideoBModel } from './models.ts'

/** Where the media of a `/provB` request comes from. */

type MediaKind = 'image' | 'video' | 'audio'

type Locator =
  /** Whether its host is public is for whoever may resolve it to find out. */
  | { readonly from: 'web'; readonly url: string }
  | { readonly from: 'data'; readonly url: LongText }
  /** Of a file that was uploaded. */
  | { readonly from: 'file'; readonly fileId: string }

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

const DATA = /^data:/i
const FILE = /^media_file:\/\/(\d+)$/

/** @throws RequestError naming `param` */
function acceptLocator(value: unknown, kind: MediaKind, param: string): Locator {
  if (value instanceof AsciiText || (typeof value === 'string' && DATA.test(value)))
    return acceptDataUri(value, kind, param)
  const url = text(value, param, MAX_URL_LENGTH)
  if (url.startsWith('https:') && isWebUrl(url)) return { from: 'web', url }
  const fileId = FILE.exec(url)?.[1]
  if (fileId !== undefined && isPositiveInt64(fileId)) return { from: 'file', fileId }
  return refuse(
    param,
    `\`${param}\` must be a public https:// URL, a data:${kind}/… URI or media_file://<file_id>`,
  )
}

function acceptDataUri(url: LongText, kind: MediaKind, param: string): Locator {
  const read = readStrictDataUri(url)
  const { types, maxDecodedBytes } = INLINE[kind]
  if (read === undefined)
    return refuse(
      param,
      `\`${param}\` must be a data URI like data:${types[0]};base64,<payload>, in strict base64 and with no blank`,
    )
  if (!types.includes(read.mediaType))
    return refuse(param, `\`${param}\` must be a data URI of ${types.join(', ')}`)
  if (read.decodedBytes > maxDecodedBytes)
    return refuse(param, `\`${param}\` must be at most ${maxDecodedBytes / MIB} MiB decoded`)
  return { from: 'data', url }
}

/** The `content` array of a `/provB` video. */

const MAX_ITEMS = 13
const MAX_PROMPT_CHARACTERS = 7_000

/** How many of each role one request may have. */
const ROLES: Readonly<Record<MediaKind, Readonly<Record<string, number>>>> = {
  image: { first_frame: 1, last_frame: 1, reference_image: 9 },
  video: { reference_video: 3 },
  audio: { reference_audio: 3 },
}

/** What a request shows of its video: nothing, its frames, or what it is to look like. */
type VideoBMode = 'text' | 'frames' | 'reference'

export interface MediaItem {
  readonly kind: MediaKind
  readonly role: string
  readonly locator: Locator
  /** Path of its URL in the body. */
  readonly param: string
}

export interface AcceptedContent {
  readonly prompt: string
  /** In the caller's order. */
  readonly media: readonly MediaItem[]
  readonly mode: VideoBMode
  readonly inputs: Readonly<Record<'text' | MediaKind, number>>
}

/** @throws RequestError */
export function acceptContent(body: JsonObject, model: VideoBModel): AcceptedContent {
  const value = own(body, 'content')
  if (!Array.isArray(value))
    return refuse('content', '`content` is required and must be an array of items')
  if (value.length > MAX_ITEMS)
    return refuse('content', `\`content\` must have at most ${MAX_ITEMS} items`)
  const prompts: string[] = []
  const media: MediaItem[] = []
  for (const [index, item] of value.entries()) {
    const param = `content[${index}]`
    if (!isJsonObject(item)) return refuse(param, `\`${param}\` must be an object`)
    const kind = kindOf(own(item, 'type'), param)
    refuseOtherLocators(item, own(item, 'type'), param)
    if (kind === 'text') prompts.push(acceptPrompt(item, param))
    else media.push(acceptMedia(item, kind, param))
  }
  const [prompt] = prompts
  if (prompt === undefined || prompts.length > 1)
    return refuse('content', '`content` must have exactly one text item')
  checkRoles(media)
  const mode = modeOf(media, model)
  const count = (kind: MediaKind): number => media.filter((item) => item.kind === kind).length
  const inputs = { text: 1, image: count('image'), video: count('video'), audio: count('audio') }
  return { prompt, media, mode, inputs }
}

function kindOf(type: unknown, param: string): 'text' | MediaKind {
  switch (type) {
    case 'text':
      return 'text'
    case 'image_url':
      return 'image'
    case 'video_url':
      return 'video'
    case 'audio_url':
      return 'audio'
    default:
      return refuse(
        `${param}.type`,
        `\`${param}.type\` must be one of text, image_url, video_url, audio_url`,
      )
  }
}

function acceptPrompt(item: JsonObject, param: string): string {
  if (isPresent(item, 'role'))
    return refuse(`${param}.role`, `\`${param}.role\` must be absent: text items have no role`)
  const prompt = text(own(item, 'text'), `${param}.text`, MAX_PROMPT_CHARACTERS)
  if (prompt.trim() === '') return refuse(`${param}.text`, `\`${param}.text\` must not be empty`)
  return prompt
}

function acceptMedia(item: JsonObject, kind: MediaKind, param: string): MediaItem {
  const roles = Object.keys(ROLES[kind])
  const given = own(item, 'role')
  const named = given === undefined && kind === 'image' ? 'first_frame' : given
  const role = roles.find((known) => known === named)
  if (role === undefined)
    return refuse(
      `${param}.role`,
      `\`${param}.role\` must be ${oneOf(roles)} for ${kind}_url items`,
    )
  const holder = own(item, `${kind}_url`)
  const holderParam = `${param}.${kind}_url`
  if (!isJsonObject(holder))
    return refuse(holderParam, `\`${holderParam}\` must be an object with a \`url\``)
  const urlParam = `${holderParam}.url`
  return { kind, role, locator: acceptLocator(own(holder, 'url'), kind, urlParam), param: urlParam }
}

function checkRoles(media: readonly MediaItem[]): void {
  for (const limits of Object.values(ROLES))
    for (const [role, limit] of Object.entries(limits))
      if (media.filter((item) => item.role === role).length > limit)
        refuse('content', `\`content\` must have at most ${limit} of the role ${role}`)
}

function modeOf(media: readonly MediaItem[], model: VideoBModel): VideoBMode {
  if (media.length === 0) return 'text'
  const isReference = ({ role }: MediaItem): boolean => role.startsWith('reference_')
  const references = media.filter(isReference)
  if (references.length === 0) return 'frames'
  if (!model.takesReferences)
    return refuse(
      'content',
      `${model.name} takes no reference material: leave it out of \`content\``,
    )
  if (references.length < media.length)
    return refuse('content', 'first and last frames must not be mixed with reference items')
  if (references.every(({ kind }) => kind === 'audio'))
    return refuse(
      'content',
      '`reference_audio` needs a `reference_image` or `reference_video` beside it',
    )
  return 'reference'
}
