import { listModels } from '../models.ts'
import { createCallRunner } from '../runner.ts'
import type { RunningCalls } from '../running.ts'
import type { TextDeps } from './deps.ts'
import { createTextFamily } from './family.ts'
import type { TextUseCases } from './types.ts'

/** The synchronous text use cases. */
export function createTextUseCases(deps: TextDeps, running: RunningCalls): TextUseCases {
  const family = createTextFamily(deps)
  const runner = createCallRunner(deps, running)
  return {
    complete: (input) => runner.complete(family, input),
    stream: (input) => runner.stream(family, input),
    listModels: (principal) => Promise.resolve(listModels(deps.channels, principal)),
  }
}
