import { createTaskProvider } from '../../kit/task/client.ts'
import { videoBWire } from './wire.ts'

/** The adapter of the `/provB` video family. */
export function createVideoBProvider(): ReturnType<typeof createTaskProvider> {
  return createTaskProvider(videoBWire)
}
