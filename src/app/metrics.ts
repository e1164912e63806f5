import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { EventLogObserver } from '../eventlog/log/types.ts'

/** Prometheus metrics of the program. Labels are few and bounded: never ids of tenants or tasks. */

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Counters of the task use cases and policies. */
export interface TaskMetrics {
  readonly created: Counter<'model' | 'outcome'>
  /** Ended tasks, by outcome. */
  readonly ended: Counter<'model' | 'status'>
  readonly createOverhead: Histogram<'outcome'>
  readonly upstreamCalls: Counter<'channel' | 'operation' | 'outcome'>
  readonly upstreamSeconds: Histogram<'channel' | 'operation'>
  /** Uncertain submissions by outcome. */
  readonly reconciled: Counter<'outcome'>
  readonly polls: Counter<'outcome'>
  /** Tasks that ended unseen at their deadline, or appeared after they were given up. */
  readonly possibleCostLeaks: Counter
  /** Tasks whose success is withheld: its usage is missing, or above what the request can cost. */
  readonly successesWithheld: Counter<'why'>
  /** Tasks whose status has been unknown for ten minutes, and each ten minutes more. */
  readonly statusesUnknown: Counter<'word'>
  readonly nativeIdsRepeated: Counter<'channel'>
  readonly renderedOtherwise: Counter<'family' | 'what'>
  readonly policyFailures: Counter<'policy'>
  /** Open tasks: `poll` or `reconcile`, all and due. */
  readonly openTasks: Gauge<'kind' | 'state'>
  readonly awaitingUsageDeadline: Gauge<'kind'>
}

/** A registry with the process's own metrics, under the names that dashboards expect. */
export function createMetricsRegistry(lostLogLines: () => number = () => 0): Registry {
  const registry = new Registry()
  // The library's own interval of 10 ms would be a sixth of an idle gateway's processor time.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 1_000 })
  const lost: Counter = new Counter({
    name: 'tollgate_log_lines_lost_total',
    help: 'Lines of the log of this process that were lost, because they could not be written fast enough.',
    registers: [registry],
    collect() {
      lost.reset()
      lost.inc(lostLogLines())
    },
  })
  return registry
}

export function createTaskMetrics(registry: Registry): TaskMetrics {
  const registers = [registry]
  return {
    ...createCallMetrics(registers),
    ...createPolicyMetrics(registers),
    ...createBacklogMetrics(registers),
  }
}

/** Metrics of creations, ends, and the calls to upstream for them. */
function createCallMetrics(registers: Registry[]) {
  return {
    created: new Counter({
      name: 'tollgate_tasks_created_total',
      help: 'Task creations by outcome.',
      labelNames: ['model', 'outcome'],
      registers,
    }),
    ended: new Counter({
      name: 'tollgate_tasks_ended_total',
      help: 'Tasks that ended.',
      labelNames: ['model', 'status'],
      registers,
    }),
    createOverhead: new Histogram({
      name: 'tollgate_task_create_overhead_seconds',
      help: 'Duration of a task creation, without the time of the provider.',
      labelNames: ['outcome'],
      buckets: SECONDS,
      registers,
    }),
    upstreamCalls: new Counter({
      name: 'tollgate_upstream_calls_total',
      help: 'Requests to providers by channel, operation and outcome.',
      labelNames: ['channel', 'operation', 'outcome'],
      registers,
    }),
    upstreamSeconds: new Histogram({
      name: 'tollgate_upstream_call_seconds',
      help: 'Duration of requests to providers.',
      labelNames: ['channel', 'operation'],
      buckets: SECONDS,
      registers,
    }),
  }
}

/** Metrics of the policies. */
function createPolicyMetrics(registers: Registry[]) {
  return {
    reconciled: new Counter({
      name: 'tollgate_submissions_reconciled_total',
      help: 'Attempts to resolve uncertain submissions, by result.',
      labelNames: ['outcome'],
      registers,
    }),
    polls: new Counter({
      name: 'tollgate_polls_total',
      help: 'Polls of tasks, by result.',
      labelNames: ['outcome'],
      registers,
    }),
    possibleCostLeaks: new Counter({
      name: 'tollgate_possible_cost_leaks_total',
      help: 'Tasks that expired before the gateway saw them end, were given up by an operator, or were found at the provider after they had failed: the provider may bill them.',
      registers,
    }),
    successesWithheld: new Counter({
      name: 'tollgate_task_successes_withheld_total',
      help: 'Tasks whose success is withheld and polled again, because its usage is missing or above its ceiling.',
      labelNames: ['why'],
      registers,
    }),
    statusesUnknown: new Counter({
      name: 'tollgate_task_statuses_unknown_total',
      help: 'Times that a task had a status of its provider that the gateway does not know for ten minutes, by the first 20 words; the others count as other.',
      labelNames: ['word'],
      registers,
    }),
    nativeIdsRepeated: new Counter({
      name: 'tollgate_task_native_ids_repeated_total',
      help: 'Tasks to which the provider gave the native id of an earlier task: they fail and are not billed.',
      labelNames: ['channel'],
      registers,
    }),
    policyFailures: new Counter({
      name: 'tollgate_policy_failures_total',
      help: 'Failed rounds of a policy; they are retried.',
      labelNames: ['policy'],
      registers,
    }),
    renderedOtherwise: new Counter({
      name: 'tollgate_task_rendered_otherwise_total',
      help: 'Settled tasks for which the provider reports another resolution or duration than requested.',
      labelNames: ['family', 'what'],
      registers,
    }),
  }
}

/** Metrics of tasks that have not ended. */
function createBacklogMetrics(registers: Registry[]) {
  return {
    openTasks: new Gauge({
      name: 'tollgate_open_tasks',
      help: 'Tasks that have not ended, those of them that are due to be polled, and those that the provider has made without a usage that can be believed.',
      labelNames: ['kind', 'state'],
      registers,
    }),
    awaitingUsageDeadline: new Gauge({
      name: 'tollgate_tasks_awaiting_usage_deadline_seconds',
      help: 'Time until the first task that awaits its usage expires as a possible cost leak; absent without such a task.',
      labelNames: ['kind'],
      registers,
    }),
  }
}

/** Metrics of the event log client. */
export function eventLogMetrics(registry: Registry): EventLogObserver {
  const registers = [registry]
  const appends = new Counter({
    name: 'tollgate_log_appends_total',
    help: 'Appends by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const events = new Counter({
    name: 'tollgate_log_appended_events_total',
    help: 'Events appended.',
    registers,
  })
  const retries = new Counter({
    name: 'tollgate_log_append_retries_total',
    help: 'Retries of appends.',
    registers,
  })
  const seconds = new Histogram({
    name: 'tollgate_log_append_seconds',
    help: 'Duration of an append with all its retries.',
    buckets: SECONDS,
    registers,
  })
  const subscriptions = new Counter({
    name: 'tollgate_log_subscription_changes_total',
    help: 'Subscriptions to the log by event: opened, caught up, dropped, stalled.',
    labelNames: ['kind'],
    registers,
  })
  const healthy = new Gauge({
    name: 'tollgate_log_healthy',
    help: '1 while the event log answers.',
    registers,
  })
  healthy.set(1)
  return {
    appended: (append) => {
      appends.inc({ outcome: append.outcome })
      if (append.outcome === 'ok') events.inc(append.events)
      if (append.tries > 1) retries.inc(append.tries - 1)
      seconds.observe(append.durationMs / 1_000)
    },
    subscription: (change) => subscriptions.inc({ kind: change.kind }),
    healthChanged: (now) => healthy.set(now ? 1 : 0),
  }
}
