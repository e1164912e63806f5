import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { JournalObserver } from '../../eventlog/journal/journal.ts'
import type { SpoolState } from '../../eventlog/journal/spool.ts'

/** How well group commit works. */
export function journalMetrics(registry: Registry): JournalObserver {
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
  return {
    batch: (batch) => {
      batches.inc({ outcome: batch.outcome })
      events.inc({ outcome: batch.outcome }, batch.events)
      seconds.observe(batch.durationMs / 1_000)
    },
  }
}

/** What waits in the spool, as operators see it. */
export interface Backlog extends Omit<SpoolState, 'oldestAtMs'> {
  /** Of the oldest record; 0 when nothing waits. */
  readonly ageMs: number
}

export function backlogAt({ oldestAtMs, ...state }: SpoolState, nowMs: number): Backlog {
  return { ...state, ageMs: oldestAtMs === undefined ? 0 : Math.max(0, nowMs - oldestAtMs) }
}

/** What waits in the spool, asked at every scrape. */
export function useBacklogMetrics(registry: Registry, backlog: () => Backlog): void {
  const gauge = (name: string, help: string, value: (backlog: Backlog) => number): void => {
    const registered: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: () => registered.set(value(backlog())),
    })
  }
  gauge('tollgate_spool_batches', 'Batches waiting in the local spool.', ({ batches }) => batches)
  gauge(
    'tollgate_spool_records',
    'Settlements and failures waiting in the local spool.',
    ({ records }) => records,
  )
  gauge('tollgate_spool_bytes', 'Size of the local spool on disk.', ({ sizeBytes }) => sizeBytes)
  gauge(
    'tollgate_spool_limit_bytes',
    'Size at which the local spool takes no more.',
    ({ maxBytes }) => maxBytes,
  )
  gauge(
    'tollgate_spool_oldest_seconds',
    'Age of the oldest record in the local spool; 0 when it is empty.',
    ({ ageMs }) => ageMs / 1_000,
  )
}

/** What the log refused for good and an operator has not decided on, asked at every scrape. */
export function useRefusedMetric(registry: Registry, count: () => Promise<number>): void {
  const registered: Gauge = new Gauge({
    name: 'tollgate_spool_refused_records',
    help: 'Settlements and failures that the log refused for good and no operator has decided on.',
    registers: [registry],
    // One that cannot be counted must not take all other metrics with it.
    collect: async () => registered.set(await count().catch(() => Number.NaN)),
  })
}
