import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { createJournal, newInstanceId, type JournalObserver } from '../../eventlog/journal.ts'
import { openSpool } from '../../eventlog/spool.ts'
import type { EventLog } from '../../eventlog/types.ts'
import { startExchanging } from '../exchanging.ts'
import type { CallDeps } from './deps.ts'
import { createTextUseCases, type RunningTextUseCases } from './use-cases.ts'

export interface StartedCalls {
  readonly calls: RunningTextUseCases
  /**
   * Takes no more calls, waits for those in flight until the deadline, settles what is left, then
   * flushes the journal; what only the spool took waits there for the next start.
   */
  readonly stop: (deadlineMs: number) => Promise<void>
}

/** Opens the journal over its spool and starts the text use cases on it. */
export async function startTextCalls(
  deps: Omit<CallDeps, 'journal' | 'log'> & {
    readonly log: EventLog
    readonly registry: Registry
    /** Belongs to this process alone. */
    readonly spoolDirectory: string
  },
): Promise<StartedCalls> {
  const { registry, spoolDirectory, ...rest } = deps
  const instanceId = newInstanceId(deps.clock.nowMs())
  const { logger } = deps
  const spool = await openSpool({ directory: spoolDirectory, instanceId, logger })
  const journal = createJournal({
    log: deps.log,
    instanceId,
    clock: deps.clock,
    logger,
    spool,
    observer: journalMetrics(registry, () => journal.spooled()),
  })
  const calls = createTextUseCases({ ...rest, journal })
  const telling = startExchanging({
    exchange: () => deps.funds.exchange(journal.spooled() > 0),
    of: 'holds of text calls',
    logger,
  })
  return {
    calls,
    stop: async (deadlineMs) => {
      await calls.close(deadlineMs)
      await telling.stop()
      await journal.close()
    },
  }
}

/** How well group commit works, and whether anything waits in the spool. */
function journalMetrics(registry: Registry, spooled: () => number): JournalObserver {
  const registers = [registry]
  const batches = new Counter({
    name: 'tollgate_journal_batches_total',
    help: 'Appends of the journal by where they went.',
    labelNames: ['outcome'],
    registers,
  })
  const events = new Counter({
    name: 'tollgate_journal_events_total',
    help: 'Settlements and failures the journal took; over batches: how many share an append.',
    labelNames: ['outcome'],
    registers,
  })
  const seconds = new Histogram({
    name: 'tollgate_journal_batch_seconds',
    help: 'Time of one append of the journal.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  })
  const waiting: Gauge = new Gauge({
    name: 'tollgate_spool_batches',
    help: 'Batches waiting in the local spool.',
    registers,
    collect: () => waiting.set(spooled()),
  })
  return {
    batch: (batch) => {
      batches.inc({ outcome: batch.outcome })
      events.inc({ outcome: batch.outcome }, batch.events)
      seconds.observe(batch.durationMs / 1_000)
    },
  }
}
