import type { Registry } from 'prom-client'
import { createJournal, newInstanceId } from '../../eventlog/journal/journal.ts'
import { createSetAsideCount, type SetAside } from '../../eventlog/journal/set-aside.ts'
import { openSpool, spoolIdentity } from '../../eventlog/journal/spool.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { startExchangeLoop } from '../queue/exchange-loop.ts'
import type { TenantPrices } from '../finance/prices/tenant-prices.ts'
import { createCountedRefusals } from './counted-refusals.ts'
import type { CallDeps } from './deps.ts'
import {
  type Backlog,
  backlogAt,
  journalMetrics,
  useBacklogMetrics,
  useSetAsideMetrics,
} from './metrics.ts'
import { createRunningCalls, type RunningCalls } from './running-calls.ts'

export interface StartedCalls {
  /** The dependencies of every family's use cases. */
  readonly deps: CallDeps
  readonly running: RunningCalls
  /** Records on local disk that wait for the log. */
  readonly backlog: () => Backlog
  /** Records of the spool that wait for an operator. */
  readonly setAside: () => Promise<SetAside>
  /**
   * Refuses new calls, waits for those in flight until the deadline, settles the remaining ones,
   * then flushes the journal; records that are only in the spool wait there for the next start.
   */
  readonly stop: (deadlineMs: number) => Promise<void>
}

/** Opens the journal over its spool, which every synchronous call uses. */
export async function startCalls(
  deps: Omit<CallDeps, 'journal' | 'log'> & {
    readonly log: EventLog
    readonly prices: Pick<TenantPrices, 'renew'>
    readonly registry: Registry
    /** Belongs to this process alone. */
    readonly spoolDirectory: string
  },
): Promise<StartedCalls> {
  const { registry, spoolDirectory, ...rest } = deps
  const { clock, logger } = deps
  const instanceId = newInstanceId(clock.nowMs())
  const spool = await openSpool({ directory: spoolDirectory, instanceId, logger, clock })
  const journal = createJournal({
    log: deps.log,
    instanceId,
    logger,
    spool,
    observer: journalMetrics(registry),
  })
  const backlog = () => backlogAt(journal.backlog(), clock.nowMs())
  useBacklogMetrics(registry, backlog)
  const setAside = createSetAsideCount(spoolDirectory)
  useSetAsideMetrics(registry, setAside)
  const refusals = createCountedRefusals(journal)
  const callDeps: CallDeps = {
    ...rest,
    journal: { ...journal, record: refusals.record },
  }
  const running = createRunningCalls(callDeps)
  const spoolId = await spoolIdentity(spoolDirectory, clock.nowMs())
  /** Whether the log has the spooled records of earlier processes, and all replicas know it. */
  let hasEmptied = false
  const sharing = startExchangeLoop({
    exchange: async () => {
      await journal.lookForRoom()
      deps.funds.lookAtLedger()
      deps.prices.renew()
      const isSpooling = journal.spooled() > 0
      await deps.gauges.exchange(isSpooling ? spoolId : undefined)
      if (isSpooling || hasEmptied) return
      await deps.gauges.spoolEmptied(spoolId)
      hasEmptied = true
    },
    of: 'holds and numbers of calls',
    logger,
  })
  return {
    deps: callDeps,
    running,
    backlog,
    setAside,
    stop: async (deadlineMs) => {
      if (!(await running.close(deadlineMs)))
        logger.error({ calls: running.inFlight() }, 'calls open at the end are not billed')
      await sharing.stop()
      refusals.flush()
      await journal.close()
    },
  }
}
