import { AsciiText } from '../../../kernel/ascii-text.ts'
import { isPositiveInt64 } from '../../../kernel/int64.ts'
import { refuse, text } from '../../../domain/families/checks/fields.ts'
import {
  type LongText,
  readStrictDataUri,
} from '../../../domain/families/checks/strict-data-uri.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/families/checks/web-url.ts'

/** Where the media of a `/provB` request comes from. */

export type MediaKind = 'image' | 'video' | 'audio'

export type Locator =
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
export function acceptLocator(value: unknown, kind: MediaKind, param: string): Locator {
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
