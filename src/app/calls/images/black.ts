import { loadSharp } from './sharp.ts'

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
