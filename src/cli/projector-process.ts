import { constants, setPriority } from 'node:os'
import { announceFailure, announceReady, onStopRequest } from '../../infra/embedded/child.ts'
import { createEventLog } from '../eventlog/log/client.ts'
import { releaseStartMemory } from '../platform/v8-flags.ts'
import { storesOfParent } from '../start/child-stores.ts'
import { startProjector } from '../start/projector.ts'
import { childLogger as logger } from './child-logger.ts'
import { messageOf } from './explain.ts'

/** The projector as a child process of `serve`, which has created the tables; where its stores are comes in its environment. */

/** A store that is gone must not keep the process: a batch and its checkpoint are one transaction. */
const STOP_TIMEOUT_MS = 3_000

async function run(): Promise<void> {
  const stopped = new Promise<void>((resolve) =>
    onStopRequest(() => {
      setTimeout(() => process.exit(0), STOP_TIMEOUT_MS)
      resolve()
    }),
  )
  // On a busy machine callers come before the read models.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const { eventStoreUrl: url, databaseUrl, namespace } = storesOfParent()
  // Alive from here on: it waits for stores that are away, and needs no restart.
  announceReady('')
  const log = createEventLog({ url, namespace, log: logger })
  releaseStartMemory()
  const projector = startProjector({ databaseUrl, log, logger })
  await stopped
  await projector.stop()
  await log.close()
}

run().then(
  () => process.exit(0),
  (error: unknown) => {
    announceFailure(messageOf(error))
    process.exit(1)
  },
)
