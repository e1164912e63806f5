import type { Pixels } from '../../../domain/catalog/image-rules.ts'

/** What reads pictures; only a gateway that has seen an image pays for loading it. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  // No picture comes twice.
  sharp.cache(false)
  return sharp
}

/** No picture that is larger than this is one colour, whatever its format and its pixels. */
export const LARGEST_BLACK_BYTES = 256 * 1024
/** Of 255: what noise of a lossy format may leave of black. */
const BLACKEST = 8
/** Few rows tell nearly every picture from a black one, at a hundredth of the cost of all of them. */
const FIRST_ROWS = 8

/**
 * Whether a picture is black all over: how some providers deliver what their filter took away.
 * Only small files are looked into; one that cannot be read is not judged.
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

/** Width and height of a picture, as its head says; undefined when that cannot be read. */
export async function sidesOf(bytes: Uint8Array): Promise<Pixels | undefined> {
  const sharp = await loadSharp()
  try {
    const { width, height } = await sharp(bytes).metadata()
    return { width, height }
  } catch {
    return undefined
  }
}
