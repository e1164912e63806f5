import { programFile } from '../../../src/platform/program-files.ts'
import { boundedHeap, type HeapBounds } from '../../../src/platform/v8-flags.ts'
import { spaceLackOf } from '../disk-space.ts'
import { superviseChild } from '../supervised-child.ts'
import type { SupervisedChild, SuperviseChildOptions } from '../supervised-child.ts'
import { logSpaceLack } from './space.ts'

/** Opening replays at most the database's own log, which is bounded; this leaves ample room. */
const READY_TIMEOUT_MS = 60_000

/**
 * An event and its buffers are done with in milliseconds, so that few are copied. The buffers of every event count as
 * memory of the process, and V8 would collect a heap that begins small again and again; with twice as much it takes the
 * same processor time.
 */
const HEAP: HeapBounds = { halfYoungMib: 4, firstOldMib: 32 }

/** LevelDB ends its process so where it took a length from a damaged block. */
const ABORTED = /ended by SIG(?:ABRT|SEGV|BUS)/

/** Options of the caller; the rest follows from `root`. */
type EventStoreOptions = Partial<Omit<SuperviseChildOptions, 'name' | 'modulePath' | 'args'>> &
  Pick<SuperviseChildOptions, 'onLine'> & {
    /** Folder of the log, below the data directory. */
    readonly root: string
  }

/** Runs the embedded event store; its address stays valid over restarts. */
export function superviseEventStore(options: EventStoreOptions): SupervisedChild {
  const { root, ...rest } = options
  return superviseChild({
    readyTimeoutMs: READY_TIMEOUT_MS,
    ...rest,
    name: 'event store',
    waitsFor: (reason) => logSpaceLack(root) ?? spaceLackOf(root, 0, reason),
    execArgv: boundedHeap(HEAP),
    modulePath: programFile('infra/embedded/eventstore/main.ts'),
    args: (_last, ended = '') => {
      const mayBeDamaged = ABORTED.test(ended)
      return ['--data', root, ...(mayBeDamaged ? ['--check-tables'] : [])]
    },
  })
}
