import { createTextProvider } from '../../kit/text/client.ts'
import { responsesWire } from './wire.ts'

/** The adapter of responses. */
export function createResponsesProvider(): ReturnType<typeof createTextProvider> {
  return createTextProvider(responsesWire)
}
