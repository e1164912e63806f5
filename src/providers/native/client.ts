import { createTextProvider } from '../kit/text-client.ts'
import { nativeWire } from './wire.ts'

/** The adapter of native content generation (spec §2.3). */
export function createNativeProvider(): ReturnType<typeof createTextProvider> {
  return createTextProvider(nativeWire)
}
