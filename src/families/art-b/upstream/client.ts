import { createImageProvider } from '../../kit/image/client.ts'
import { artBWire } from './wire.ts'

/** The adapter of the `artB-*` models. */
export function createArtBProvider(): ReturnType<typeof createImageProvider> {
  return createImageProvider(artBWire)
}
