import { createTextProvider } from '../../kit/text/client.ts'
import { chatWire } from './wire.ts'

/** The adapter of chat completions. */
export function createChatProvider(): ReturnType<typeof createTextProvider> {
  return createTextProvider(chatWire)
}
