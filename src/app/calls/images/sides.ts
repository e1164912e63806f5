import type { Pixels } from '../../../domain/families/checks/pixels.ts'
import { loadSharp } from './sharp.ts'

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
