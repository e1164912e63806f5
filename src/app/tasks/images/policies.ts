import type { PolicySet, WorkerSettings } from '../../queue/worker.ts'
import type { ImageTaskDeps } from './deps.ts'
import { createFinishRound } from './finish.ts'
import { createImageMaker } from './work.ts'

/** Interval at which an idle policy looks for work. */
const MAKE_IDLE_MS = 250
/** Equal to the longest pause of polls, whose statement then looks for images too. */
const LONGEST_MAKE_IDLE_MS = 600
const FINISH_IDLE_MS = 2_000

/** The image policies, which the workers run together with the others. */
export function imagePolicies(deps: ImageTaskDeps, settings: WorkerSettings): PolicySet {
  const maker = createImageMaker(deps, settings)
  return {
    policies: [
      {
        name: 'make-images',
        idleMs: MAKE_IDLE_MS,
        longestIdleMs: LONGEST_MAKE_IDLE_MS,
        round: maker.round,
      },
      {
        name: 'finish-images',
        idleMs: FINISH_IDLE_MS,
        round: createFinishRound(deps, settings, maker.making),
      },
    ],
    drain: maker.drain,
  }
}
