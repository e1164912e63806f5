import { createTextProvider } from '../../kit/text/client.ts'
import { nativeWire } from './wire.ts'

/** The adapter of native content generation. */
export function createNativeProvider(): ReturnType<typeof createTextProvider> {
  return createTextProvider(nativeWire)
}
