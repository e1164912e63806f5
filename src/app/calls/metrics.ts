import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { JournalObserver } from '../../eventlog/journal/journal.ts'
import type { SetAside } from '../../eventlog/journal/set-aside.ts'
import type { SpoolState } from '../../eventlog/journal/spool.ts'
import { beginAtZero } from '../../platform/counters.ts'

/** Counters of synchronous calls. Labels are few and bounded: never tenants, never models. */
export interface CallMetrics {
  /** Ended calls, by family and outcome; refusals by their code. */
  readonly ended: Counter<'family' | 'outcome'>
  readonly estimated: Counter<'family' | 'channel' | 'why'>
  /**
   * Probable cost of failed calls for the operator, at the prices their callers would have paid.
   */
  readonly absorbed: Counter<'family' | 'currency'>
  /** Settled calls that upstream answered with another model or service tier than requested. */
  readonly answeredOtherwise: Counter<'family' | 'what'>
  /** Irregularities of the usage that upstream reported for settled calls. */
  readonly reportsDoubted: Counter<'family' | 'channel' | 'what' | 'why'>
  readonly attempts: Counter<'channel' | 'outcome'>
  readonly inFlight: Gauge
  /** From the provider's last byte until the settlement was durable. */
  readonly settleSeconds: Histogram
  /** Failures that were not recorded because too many were waiting. */
  readonly unrecordedFailures: Counter
}

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3]

/** Registers them. */
export function createCallMetrics(registry: Registry): CallMetrics {
  const registers = [registry]
  return {
    ended: new Counter({
      name: 'tollgate_calls_ended_total',
      help: 'Calls by outcome.',
      labelNames: ['family', 'outcome'],
      registers,
    }),
    estimated: new Counter({
      name: 'tollgate_calls_estimated_total',
      help: 'Calls settled from an estimate, by reason.',
      labelNames: ['family', 'channel', 'why'],
      registers,
    }),
    absorbed: new Counter({
      name: 'tollgate_calls_absorbed_amount_total',
      help: 'Probable provider cost of failed calls, in units of the currency, at our prices. A float.',
      labelNames: ['family', 'currency'],
      registers,
    }),
    answeredOtherwise: new Counter({
      name: 'tollgate_calls_answered_otherwise_total',
      help: 'Settled calls whose answer had another model or service tier than requested.',
      labelNames: ['family', 'what'],
      registers,
    }),
    reportsDoubted: new Counter({
      name: 'tollgate_calls_reports_doubted_total',
      help: 'Settled calls whose reported usage was corrected, by figure and reason.',
      labelNames: ['family', 'channel', 'what', 'why'],
      registers,
    }),
    attempts: new Counter({
      name: 'tollgate_call_attempts_total',
      help: 'Attempts at calls by channel and outcome.',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
    inFlight: new Gauge({
      name: 'tollgate_calls_in_flight',
      help: 'Running calls, including those whose caller has disconnected.',
      registers,
    }),
    settleSeconds: new Histogram({
      name: 'tollgate_call_settle_seconds',
      help: 'Time until a settlement is durable.',
      buckets: SECONDS,
      registers,
    }),
    unrecordedFailures: new Counter({
      name: 'tollgate_call_failures_unrecorded_total',
      help: 'Failed calls that could not be recorded.',
      registers,
    }),
  }
}

/** Metrics of group commit. */
export function journalMetrics(registry: Registry): JournalObserver {
  const registers = [registry]
  const batches = new Counter({
    name: 'tollgate_journal_batches_total',
    help: 'Appends of the journal by destination.',
    labelNames: ['outcome'],
    registers,
  })
  const events = new Counter({
    name: 'tollgate_journal_events_total',
    help: 'Settlements and failures that the journal accepted; divided by its batches, the number per append.',
    labelNames: ['outcome'],
    registers,
  })
  const seconds = new Histogram({
    name: 'tollgate_journal_batch_seconds',
    help: 'Duration of one append of the journal.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  })
  for (const counter of [batches, events])
    beginAtZero(counter, { outcome: ['log', 'spool', 'rejected'] })
  return {
    batch: (batch) => {
      batches.inc({ outcome: batch.outcome })
      events.inc({ outcome: batch.outcome }, batch.events)
      seconds.observe(batch.durationMs / 1_000)
    },
  }
}

/** The spool's contents, for operators. */
export interface Backlog extends Omit<SpoolState, 'oldestAtMs'> {
  /** Age of the oldest record; 0 when nothing waits. */
  readonly ageMs: number
}

export function backlogAt({ oldestAtMs, ...state }: SpoolState, nowMs: number): Backlog {
  return { ...state, ageMs: oldestAtMs === undefined ? 0 : Math.max(0, nowMs - oldestAtMs) }
}

/** Registers metrics of the spool, read at every scrape. */
export function useBacklogMetrics(registry: Registry, backlog: () => Backlog): void {
  const gauge = (name: string, help: string, value: (backlog: Backlog) => number): void => {
    const registered: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: () => registered.set(value(backlog())),
    })
  }
  gauge('tollgate_spool_batches', 'Batches that wait in the local spool.', ({ batches }) => batches)
  gauge(
    'tollgate_spool_records',
    'Settlements and failures that wait in the local spool.',
    ({ records }) => records,
  )
  gauge('tollgate_spool_bytes', 'Size of the local spool on disk.', ({ sizeBytes }) => sizeBytes)
  gauge(
    'tollgate_spool_unwritable',
    '1 while the local spool cannot be written: calls are refused.',
    ({ fault }) => (fault === undefined ? 0 : 1),
  )
  gauge(
    'tollgate_spool_limit_bytes',
    'Maximum size of the local spool.',
    ({ maxBytes }) => maxBytes,
  )
  gauge(
    'tollgate_spool_oldest_seconds',
    'Age of the oldest record in the local spool; 0 when it is empty.',
    ({ ageMs }) => ageMs / 1_000,
  )
}

/** Registers how much of the spool waits for an operator. */
export function useSetAsideMetrics(registry: Registry, count: () => Promise<SetAside>): void {
  const gauge = (name: string, help: string, of: keyof SetAside): void => {
    const registered: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      // A failed count must not fail the whole scrape.
      collect: async () =>
        registered.set(
          await count().then(
            (counted) => counted[of],
            () => Number.NaN,
          ),
        ),
    })
  }
  gauge(
    'tollgate_spool_refused_records',
    'Settlements and failures that the log permanently refused and no operator has decided on.',
    'refused',
  )
  gauge(
    'tollgate_spool_damaged_records',
    'Damaged parts of the spool, kept until an operator deletes their files.',
    'damaged',
  )
}
