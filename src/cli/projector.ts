import { superviseChild } from '../../infra/embedded/supervised-child.ts'
import type { Supervised } from '../../infra/embedded/supervisor.ts'
import type { Config } from '../config.ts'
import type { Log } from '../kernel/log.ts'
import { programFile } from '../platform/program-files.ts'
import { boundedHeap, type HeapBounds } from '../platform/v8-flags.ts'
import { forward } from '../start/child-log.ts'
import { environmentOf } from '../start/child-stores.ts'
import { reportRestart, type Stores } from './stores.ts'

const READY_TIMEOUT_MS = 60_000

/** V8 by itself would keep 280 MiB at two thousand calls a second instead of 115; with growth by a third an event costs 5 % more. */
const HEAP: HeapBounds = { halfYoungMib: 8, growthPercent: 50 }

/**
 * Runs the projector in a separate process beside the API: projecting then does not block the event
 * loop that callers wait for, and runs at a lower priority.
 */
export function openProjector(
  config: Config,
  stores: Omit<Stores, 'close'>,
  log: Log,
  onGiveUp: (reason: string) => void,
): Supervised {
  return superviseChild({
    name: 'projector',
    modulePath: programFile('src/cli/projector-process.ts'),
    execArgv: boundedHeap(HEAP),
    args: () => [],
    env: environmentOf({ ...stores, namespace: config.namespace }),
    onLine: (line) => forward(log, 'projector', line),
    readyTimeoutMs: READY_TIMEOUT_MS,
    onRestart: (restart) => reportRestart(log, 'projector', restart),
    onGiveUp: (reason) => onGiveUp(`projector keeps failing: ${reason}`),
  })
}
