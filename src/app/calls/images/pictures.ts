import pLimit from 'p-limit'
import type { Pixels } from '../../../domain/catalog/image-rules.ts'

/** Loads the library that reads pictures; a gateway without images never does. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  // No picture is read twice.
  sharp.cache(false)
  return sharp
}

/**
 * Maximum pixels of a decoded picture: twice those of the largest that a model makes. A file of a
 * few kilobytes may have hundreds of millions, and each million takes 15 ms.
 */
const MOST_DECODED_PIXELS = 2 * 4_096 * 4_096
/** Pixels of a picture whose head is read. */
const MOST_PIXELS = 16_383 * 16_383
/**
 * Pictures that are decoded in parallel: decoding uses threads that file access and name resolution
 * need too.
 */
const decoding = pLimit(2)

/** A picture larger than this is not of one colour, whatever its format and size. */
export const LARGEST_BLACK_BYTES = 256 * 1024
/** The noise that a lossy format may add to black, of 255. */
const BLACKEST = 8
/** A few rows show that nearly any picture is not black, at a hundredth of the cost of all rows. */
const FIRST_ROWS = 8

/**
 * Whether a picture is all black: some providers deliver that when their filter removed the
 * content. Only small files are checked; an unreadable one counts as not black. A small file with
 * far more pixels than a model makes is `oversized`.
 */
export async function lookOf(bytes: Uint8Array): Promise<'black' | 'not black' | 'oversized'> {
  if (bytes.length > LARGEST_BLACK_BYTES) return 'not black'
  const sharp = await loadSharp()
  try {
    const { width, height, hasAlpha } = await sharp(bytes, {
      limitInputPixels: MOST_PIXELS,
    }).metadata()
    if (width * height > MOST_DECODED_PIXELS) return 'oversized'
    const decoded = () => sharp(bytes, { limitInputPixels: MOST_DECODED_PIXELS })
    return await decoding(async () => {
      const rows = { left: 0, top: 0, width, height: Math.min(height, FIRST_ROWS) }
      const first = await decoded().extract(rows).removeAlpha().raw().toBuffer()
      if (first.some((value) => value > BLACKEST)) return 'not black'
      const { channels } = await decoded().stats()
      const colours = hasAlpha ? channels.slice(0, -1) : channels
      return colours.every(({ max }) => max <= BLACKEST) ? 'black' : 'not black'
    })
  } catch {
    return 'not black'
  }
}

/** Width and height of a picture, by its head; undefined when that cannot be read. */
export async function sidesOf(bytes: Uint8Array): Promise<Pixels | undefined> {
  const sharp = await loadSharp()
  try {
    const { width, height } = await sharp(bytes, { limitInputPixels: MOST_PIXELS }).metadata()
    return { width, height }
  } catch {
    return undefined
  }
}
