import type { Pixels } from '../../../domain/catalog/image-rules.ts'

/** Loads the library that reads pictures; a gateway without images never does. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  // No picture is read twice.
  sharp.cache(false)
  return sharp
}

/** A picture larger than this is not of one colour, whatever its format and size. */
export const LARGEST_BLACK_BYTES = 256 * 1024
/** Of 255: the noise that a lossy format may add to black. */
const BLACKEST = 8
/** A few rows show that nearly any picture is not black, at a hundredth of the cost of all rows. */
const FIRST_ROWS = 8

/**
 * Whether a picture is all black: some providers deliver that when their filter removed the
 * content. Only small files are checked; an unreadable one counts as not black.
 */
export async function isBlack(bytes: Uint8Array): Promise<boolean> {
  if (bytes.length > LARGEST_BLACK_BYTES) return false
  const sharp = await loadSharp()
  try {
    const { width, height, hasAlpha } = await sharp(bytes).metadata()
    const rows = { left: 0, top: 0, width, height: Math.min(height, FIRST_ROWS) }
    const first = await sharp(bytes).extract(rows).removeAlpha().raw().toBuffer()
    if (first.some((value) => value > BLACKEST)) return false
    const { channels } = await sharp(bytes).stats()
    const colours = hasAlpha ? channels.slice(0, -1) : channels
    return colours.every(({ max }) => max <= BLACKEST)
  } catch {
    return false
  }
}

/** Width and height of a picture, by its head; undefined when that cannot be read. */
export async function sidesOf(bytes: Uint8Array): Promise<Pixels | undefined> {
  const sharp = await loadSharp()
  try {
    const { width, height } = await sharp(bytes).metadata()
    return { width, height }
  } catch {
    return undefined
  }
}
