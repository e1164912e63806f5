/** No picture that is larger than this is one colour, whatever its format and its pixels. */
export const LARGEST_BLACK_BYTES = 256 * 1024
/** Of 255: what noise of a lossy format may leave of black. */
const BLACKEST = 8

/**
 * Whether a picture is black all over: how some providers deliver what their filter took away.
 * Only small files are looked into; one that cannot be read is not judged.
 */
export async function isBlack(bytes: Uint8Array): Promise<boolean> {
  if (bytes.length > LARGEST_BLACK_BYTES) return false
  // Only a gateway that has seen an image pays for loading it.
  const { default: sharp } = await import('sharp')
  try {
    const { channels, isOpaque } = await sharp(bytes).stats()
    const colours = isOpaque ? channels : channels.slice(0, -1)
    return colours.every(({ max }) => max <= BLACKEST)
  } catch {
    return false
  }
}
