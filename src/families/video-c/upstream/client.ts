import { createTaskProvider } from '../../kit/task/client.ts'
import { videoCWire } from './wire.ts'

/** The adapter of the `/provC` video family. */
export function createVideoCProvider(): ReturnType<typeof createTaskProvider> {
  return createTaskProvider(videoCWire)
}
