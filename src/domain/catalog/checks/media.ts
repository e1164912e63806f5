import { Buffer } from 'node:buffer'
import { type TProperties, type TSchema, Type } from 'typebox'
import { isBase64 } from '../../../kernel/base64.ts'
import type { RawString } from '../../../kernel/raw-string.ts'
import { Tagged, RefusedMember } from '../../../kernel/body.ts'
import { textFault } from '../../../kernel/storable-text.ts'

/** The inputs of a video: the URL of each picture, video or audio, and the items that hold them. */

export const mediaKinds = ['image', 'video', 'audio'] as const

export type MediaKind = (typeof mediaKinds)[number]

/** The scheme of a reference to something in the asset library. */
export const ASSET_SCHEME = 'asset://'
const ASSET_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
const DATA_SCHEME = /^data:/i

/** An asset that a request refers to, and the role in which it uses it. */
export interface AssetReference {
  readonly assetId: string
  readonly kind: MediaKind
}

/** Ids of assets at an account, by their ids at the gateway. */
export type NativeAssetIds = ReadonlyMap<string, string>

/**
 * The body for upstream, without the model and the marker: written once the account is chosen, with
 * that account's ids in place of the gateway's.
 */
export type UpstreamBody = (nativeIds: NativeAssetIds) => Readonly<Record<string, unknown>>

/** The asset id of an `asset://` reference; undefined for any other URL. */
export function assetIdOf(url: string): string | undefined {
  return url.startsWith(ASSET_SCHEME) ? url.slice(ASSET_SCHEME.length) : undefined
}

/**
 * Describes the fault of a media URL; undefined if it is valid: `https://` or `http://` (upstream
 * fetches it, we never do), `asset://<id>`, and for images and audio a strict
 * `data:<mime>;base64,<payload>`.
 */
export function mediaUrlFault(url: string, kind: MediaKind): string | undefined {
  if (DATA_SCHEME.test(url)) return dataUriFault(url, kind)
  // Only the limit of the body bounds data URIs.
  const fault = textFault(url, MAX_URL_LENGTH)
  const assetId = assetIdOf(url)
  if (fault !== undefined || assetId === undefined)
    return fault ?? (isWebUrl(url) ? undefined : `must be ${allowed(kind)}`)
  return ASSET_ID.test(assetId)
    ? undefined
    : 'must be `asset://<asset_id>` with an existing asset id'
}

function dataUriFault(uri: string, kind: MediaKind): string | undefined {
  if (kind === 'video') return `must be ${allowed(kind)}; data URIs carry no video`
  const comma = uri.indexOf(',')
  const head = new RegExp(`^data:${kind}/[a-z0-9.+-]{1,64};base64$`, 'i')
  return comma !== -1 && head.test(uri.slice(0, comma)) && isBase64(uri.slice(comma + 1))
    ? undefined
    : `must be a data URI like data:${kind}/<type>;base64,<payload>`
}

function allowed(kind: MediaKind): string {
  const rest = kind === 'video' ? '' : `, a data:${kind}/… URI`
  return `a public https:// or http:// URL${rest} or asset://<asset_id>`
}

/** An item of the `content` of a video: the prompt, or one input of the video. */

/** @typeParam Url location of an item's media */
type ContentItem<Url> =
  | { readonly type: 'text'; readonly text: string }
  | ({ readonly type: `${MediaKind}_url`; readonly role?: string } & {
      readonly [Name in `${MediaKind}_url`]?: { readonly url: Url }
    })

const types = ['text', ...mediaKinds.map((kind) => `${kind}_url` as const)] as const

/**
 * The schema of an item, which may hold only the members of its type: a picture in a text item would not be
 * sent.
 *
 * @param text of the prompt
 * @param media of each kind: its URL, and the role it has
 */
export function contentItem<Url>(
  text: TSchema,
  media: Readonly<Record<MediaKind, { readonly url: TSchema; readonly role: TSchema }>>,
) {
  const item = (type: string, members: TProperties) => {
    const others = types
      .filter((other) => other !== type)
      .map((other) => [
        other,
        RefusedMember(`must be in a separate item, whose \`type\` is ${other}`),
      ])
    const all = { type: Type.Literal(type), ...Object.fromEntries(others), ...members }
    return Type.Object(all, { additionalProperties: true })
  }
  return Tagged<ContentItem<Url>>('type', [
    item('text', { role: RefusedMember('must be absent: text items have no role'), text }),
    ...mediaKinds.map((kind) => {
      const { url, role } = media[kind]
      const words = 'must be an object with a `url`'
      return item(`${kind}_url`, { role, [`${kind}_url`]: Type.Object({ url }, { words }) })
    }),
  ])
}

/** The content of an item; `param` is its path. */
export function contentOf<Url>(item: ContentItem<Url>, index: number) {
  const param = `content[${index}]`
  if (item.type === 'text') return { kind: 'text', text: item.text, param } as const
  for (const kind of mediaKinds) {
    const url = item[`${kind}_url`]?.url
    if (url !== undefined) return { kind, url, role: item.role, param } as const
  }
  return undefined
}

/** The length of the longest web URL. */
export const MAX_URL_LENGTH = 8_192

/**
 * Whether a text is an `https:` or `http:` URL as every reader takes it; its host is not checked.
 */
export function isWebUrl(url: string): boolean {
  // The parser accepts blanks and missing slashes that an upstream would refuse.
  if (!/^https?:\/\/[^\s/]/i.test(url) || /[\s\p{Cc}]/u.test(url)) return false
  return URL.canParse(url)
}

/** Data URIs that have only a media type and base64, with their decoded sizes. */

/** A text of a body; a long one may still be raw bytes. */
export type LongText = string | RawString

/** No accepted data URI has a longer head. */
const MAX_HEAD_LENGTH = 128
const STRICT_HEAD = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+);base64$/
/** Characters read in one step: whole groups of four. */
const CHUNK_CHARACTERS = 192 * 1024

interface StrictDataUri {
  /** In small letters. */
  readonly mediaType: string
  readonly decodedBytes: number
}

/**
 * `data:<type>;base64,<payload>` without a blank or a parameter, its payload whole and in the one way
 * there is to write it; undefined for any other text.
 */
export function readStrictDataUri(uri: LongText): StrictDataUri | undefined {
  const start = uri.slice(0, MAX_HEAD_LENGTH)
  const comma = start.indexOf(',')
  const mediaType = STRICT_HEAD.exec(start.slice(0, Math.max(0, comma)))?.[1]
  const decodedBytes = mediaType === undefined ? undefined : decodedLength(uri, comma + 1)
  return mediaType === undefined || decodedBytes === undefined
    ? undefined
    : { mediaType, decodedBytes }
}

/** Bytes of the base64 from an index on; undefined when it is empty or not strictly base64. */
function decodedLength(uri: LongText, from: number): number | undefined {
  const { length } = uri
  if (length === from || (length - from) % 4 !== 0) return undefined
  let decodedBytes = 0
  // The decoded bytes are thrown away: a copy of the whole would double the memory.
  const read = Buffer.allocUnsafe((CHUNK_CHARACTERS / 4) * 3)
  for (let at = from; at < length; at += CHUNK_CHARACTERS) {
    const chunk = uri.slice(at, Math.min(at + CHUNK_CHARACTERS, length))
    const expected = expectedBytes(chunk, at + CHUNK_CHARACTERS >= length)
    // The decoder also accepts the URL alphabet and skips other characters, so such a text decodes
    // to fewer bytes.
    if (chunk.includes('-') || chunk.includes('_')) return undefined
    if (read.write(chunk, 'base64') !== expected) return undefined
    decodedBytes += expected
  }
  return isCanonicalEnd(uri.slice(length - 4, length)) ? decodedBytes : undefined
}

/** The bytes of whole groups of four; only the last group may end in padding. */
function expectedBytes(chunk: string, isLast: boolean): number {
  const padding = isLast ? (/={1,2}$/.exec(chunk.slice(-2))?.[0].length ?? 0) : 0
  return (chunk.length / 4) * 3 - padding
}

/** The unused bits of the last character must be zero. */
function isCanonicalEnd(group: string): boolean {
  return Buffer.from(group, 'base64').toString('base64') === group
}
