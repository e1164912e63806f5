import { listModels } from '../models.ts'
import type { RunningCalls } from '../running.ts'
import { streamCall } from '../stream.ts'
import { completeCall } from '../whole.ts'
import type { TextDeps } from './deps.ts'
import { createTextFamily } from './family.ts'
import type { TextUseCases } from './types.ts'

/** The synchronous text use cases. */
export function createTextUseCases(deps: TextDeps, running: RunningCalls): TextUseCases {
  const family = createTextFamily(deps)
  return {
    complete: (input) =>
      running.run(input.family, (stopped) => completeCall(deps, family, input, stopped)),
    stream: (input) =>
      running.run(input.family, async (stopped) => {
        const { streamed, pump } = await streamCall(deps, family, input, stopped)
        running.watch(pump)
        return streamed
      }),
    listModels: (principal) => Promise.resolve(listModels(deps.channels, principal)),
  }
}
