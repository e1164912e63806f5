import { createImageProvider } from '../../kit/image/client.ts'
import { imageWire } from './wire.ts'

/** The adapter of the `image-*` models. */
export function createImagesProvider(): ReturnType<typeof createImageProvider> {
  return createImageProvider(imageWire)
}
