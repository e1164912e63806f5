import { refuse, text } from './fields.ts'
import { isWebUrl, MAX_URL_LENGTH } from './web-url.ts'

/** Where a reference image, video or audio comes from. */

export type MediaKind = 'image' | 'video' | 'audio'

/** Of a reference to something in the asset library. */
export const ASSET_SCHEME = 'asset://'
const ASSET_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
const DATA_SCHEME = /^data:/i
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** An asset a request names, and as what. */
export interface AssetReference {
  readonly assetId: string
  readonly kind: MediaKind
}

export interface MediaReference {
  readonly url: string
  /** Of an `asset://` reference. */
  readonly assetId: string | undefined
}

/**
 * Checks a media URL: `https://` or `http://` (upstream fetches it, we never do), `asset://<id>`,
 * and for images and audio a strict `data:<mime>;base64,<payload>`.
 *
 * @throws RequestError
 */
export function acceptMediaUrl(value: unknown, kind: MediaKind, param: string): MediaReference {
  if (typeof value !== 'string') return refuse(param, `\`${param}\` must be a string`)
  if (DATA_SCHEME.test(value)) return acceptDataUri(value, kind, param)
  // Data URIs are bounded by the body limit alone.
  const url = text(value, param, MAX_URL_LENGTH)
  if (url.startsWith(ASSET_SCHEME)) {
    const assetId = url.slice(ASSET_SCHEME.length)
    if (!ASSET_ID.test(assetId))
      return refuse(param, `\`${param}\` must be \`asset://<asset_id>\` with an existing asset id`)
    return { url, assetId }
  }
  if (!isWebUrl(url)) return refuse(param, `\`${param}\` must be ${allowed(kind)}`)
  return { url, assetId: undefined }
}

function acceptDataUri(value: string, kind: MediaKind, param: string): MediaReference {
  if (kind === 'video')
    return refuse(param, `\`${param}\` must be ${allowed(kind)}; data URIs carry no video`)
  const comma = value.indexOf(',')
  const head = new RegExp(`^data:${kind}/[a-z0-9.+-]{1,64};base64$`, 'i')
  if (comma === -1 || !head.test(value.slice(0, comma)) || !BASE64.test(value.slice(comma + 1)))
    return refuse(
      param,
      `\`${param}\` must be a data URI like data:${kind}/<type>;base64,<payload>`,
    )
  return { url: value, assetId: undefined }
}

function allowed(kind: MediaKind): string {
  const rest = kind === 'video' ? '' : `, a data:${kind}/… URI`
  return `a public https:// or http:// URL${rest} or asset://<asset_id>`
}
