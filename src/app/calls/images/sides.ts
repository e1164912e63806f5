import type { Pixels } from '../../../domain/families/checks/pixels.ts'

/** Width and height of a picture, as its head says; undefined when that cannot be read. */
export async function sidesOf(bytes: Uint8Array): Promise<Pixels | undefined> {
  // Only a gateway that has seen an image pays for loading it.
  const { default: sharp } = await import('sharp')
  try {
    const { width, height } = await sharp(bytes).metadata()
    return { width, height }
  } catch {
    return undefined
  }
}
