import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Counters of synchronous calls. Labels are few and bounded: never tenants, never models. */
export interface CallMetrics {
  /** Calls that came to an end, by family and how; refusals by their code. */
  readonly ended: Counter<'family' | 'outcome'>
  readonly estimated: Counter<'family' | 'why'>
  /** What failed calls probably cost us, at the prices their callers would have paid. */
  readonly absorbed: Counter<'family' | 'currency'>
  /** Settled calls that upstream answered with another model or tier of service than asked for. */
  readonly answeredOtherwise: Counter<'family' | 'what'>
  readonly attempts: Counter<'channel' | 'outcome'>
  readonly inFlight: Gauge
  /** From the provider's last byte until the settlement was durable. */
  readonly settleSeconds: Histogram
  /** Failures that were not written down because too many were waiting. */
  readonly unrecordedFailures: Counter
}

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3]

/** Registers them. */
export function createCallMetrics(registry: Registry): CallMetrics {
  const registers = [registry]
  return {
    ended: new Counter({
      name: 'tollgate_calls_ended_total',
      help: 'Calls by how they ended.',
      labelNames: ['family', 'outcome'],
      registers,
    }),
    estimated: new Counter({
      name: 'tollgate_calls_estimated_total',
      help: 'Calls settled from an estimate, by why.',
      labelNames: ['family', 'why'],
      registers,
    }),
    absorbed: new Counter({
      name: 'tollgate_calls_absorbed_amount_total',
      help: 'What failed calls probably cost us, in units of the currency, at our prices. A float.',
      labelNames: ['family', 'currency'],
      registers,
    }),
    answeredOtherwise: new Counter({
      name: 'tollgate_calls_answered_otherwise_total',
      help: 'Settled calls answered with another model or service tier than asked for.',
      labelNames: ['family', 'what'],
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
      help: 'Calls in flight, those whose caller has gone included.',
      registers,
    }),
    settleSeconds: new Histogram({
      name: 'tollgate_call_settle_seconds',
      help: 'Time until a settlement was durable.',
      buckets: SECONDS,
      registers,
    }),
    unrecordedFailures: new Counter({
      name: 'tollgate_call_failures_unrecorded_total',
      help: 'Failed calls that were not written down.',
      registers,
    }),
  }
}
