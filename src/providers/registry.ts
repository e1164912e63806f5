import type { TaskProvider } from '../app/ports.ts'
import type { TaskFamily } from '../domain/task/events.ts'
import { createVideoAProvider } from './video-a/client.ts'

/** Every upstream family there is: a further one is a folder and a line here. */
export function createProviders(): {
  readonly tasks: ReadonlyMap<TaskFamily, TaskProvider>
  /** Closes every connection; calls in flight fail. */
  readonly close: () => Promise<void>
} {
  const videoA = createVideoAProvider()
  return {
    tasks: new Map<TaskFamily, TaskProvider>([['video-a', videoA]]),
    close: () => videoA.close(),
  }
}
