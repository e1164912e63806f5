import { createTaskProvider } from '../../kit/task/client.ts'
import { videoAWire } from './wire.ts'

/** The adapter of the `/provA` video family. */
export function createVideoAProvider(): ReturnType<typeof createTaskProvider> {
  return createTaskProvider(videoAWire)
}
