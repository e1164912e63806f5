import sharp from 'sharp'

export type PictureFormat = 'png' | 'jpeg' | 'webp'

/** Pictures of one kind are the same bytes: making a large one takes long. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024
const kept = new Map<string, Buffer>()
let keptBytes = 0

/** A real picture: a gradient with grain, or black all over. Sides in pixels. */
export async function pictureOf(
  width: number,
  height: number,
  format: PictureFormat,
  isBlack = false,
): Promise<Buffer> {
  const key = `${width}x${height} ${format} ${isBlack}`
  const known = kept.get(key)
  if (known !== undefined) return known
  const image = isBlack
    ? sharp({ create: { width, height, channels: 3, background: 'black' } })
    : sharp(gradient(width, height))
  const bytes = await image.toFormat(format).toBuffer()
  if (keptBytes + bytes.length <= MAX_KEPT_BYTES) {
    kept.set(key, bytes)
    keptBytes += bytes.length
  }
  return bytes
}

function gradient(width: number, height: number): Buffer {
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
      '<defs><linearGradient id="g" x2="1" y2="1"><stop stop-color="#1b6ca8"/>' +
      '<stop offset="1" stop-color="#f2b134"/></linearGradient></defs>' +
      '<rect width="100%" height="100%" fill="url(#g)"/>' +
      '<circle cx="50%" cy="50%" r="20%" fill="#fff8"/></svg>',
  )
}

/** Width and height of a picture in bytes; null when it is none. */
export async function sidesOf(
  bytes: Buffer,
): Promise<{ readonly width: number; readonly height: number } | null> {
  try {
    const { width, height } = await sharp(bytes).metadata()
    return { width, height }
  } catch {
    return null
  }
}
