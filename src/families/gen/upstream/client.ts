import { createImageProvider } from '../../kit/image/client.ts'
import { genWire } from './wire.ts'

/** The adapter of the `gen-*` models. */
export function createGenProvider(): ReturnType<typeof createImageProvider> {
  return createImageProvider(genWire)
}
