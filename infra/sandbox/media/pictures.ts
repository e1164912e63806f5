import { readFileSync } from 'node:fs'
import sharp from 'sharp'
import { programFile } from '../../../src/platform/program-files.ts'

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

/** A still picture: H.264, 64 × 64, five seconds of 24 frames. */
const still = readFileSync(programFile('infra/sandbox/media/still.mp4'))
const SECONDS = 5
const MAX_SECONDS = 120

/** Where the file states its duration, whole or by frame: boxes, and bytes from their names on. */
const LENGTHS = [
  ['mvhd', 20],
  ['tkhd', 24],
  ['mdhd', 20],
  ['stts', 16],
] as const

const made = new Map<number, Buffer>()

/** A playable MP4 of so many whole seconds, 1 to 120: the same frames, shown as long as that takes. */
export function mp4OfSeconds(seconds: number): Buffer {
  const whole = Math.min(MAX_SECONDS, Math.max(1, Math.round(seconds)))
  const known = made.get(whole)
  if (known !== undefined) return known
  const bytes = Buffer.from(still)
  for (const [box, offset] of LENGTHS) {
    const at = bytes.indexOf(box) + offset
    bytes.writeUInt32BE((bytes.readUInt32BE(at) / SECONDS) * whole, at)
  }
  made.set(whole, bytes)
  return bytes
}
