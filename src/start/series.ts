import { Gauge, type Registry } from 'prom-client'
import type { CallMetrics } from '../app/calls/metrics.ts'
import type { ChannelDirectory } from '../app/channels/directory.ts'
import type { TaskMetrics } from '../app/metrics.ts'
import { providerErrorKinds } from '../app/ports/provider.ts'
import { reportNotes } from '../domain/catalog/call-rules.ts'
import type { Catalog } from '../domain/catalog/catalog.ts'
import { observedStatuses } from '../domain/task/observation.ts'
import { currencies } from '../kernel/money.ts'
import { beginAtZero } from '../platform/counters.ts'

/** The series of metrics that a process knows from its start on, because it knows the values of their labels. */

/** Begins the counters of calls at 0, for the channels that calls are sent to. */
export function beginCallSeries(
  metrics: CallMetrics,
  {
    channels,
    catalog,
  }: {
    readonly channels: Pick<ChannelDirectory, 'all'>
    readonly catalog: Pick<Catalog, 'callFamilyOf'>
  },
): CallMetrics {
  const own = channels.all.filter(({ family }) => catalog.callFamilyOf(family) !== undefined)
  const families = [...new Set(own.map(({ family }) => family))]
  beginAtZero(metrics.ended, { family: families, outcome: ['completed', 'disconnected', 'failed'] })
  beginAtZero(metrics.absorbed, { family: families, currency: currencies })
  beginAtZero(metrics.answeredOtherwise, { family: families, what: ['model', 'service_tier'] })
  const outcome = ['success', 'neutral', ...providerErrorKinds]
  for (const { id: channel, family } of own) {
    beginAtZero(metrics.attempts, { channel: [channel], outcome })
    beginAtZero(metrics.estimated, {
      family: [family],
      channel: [channel],
      why: ['completed', 'disconnected'],
    })
    for (const note of reportNotes) metrics.reportsDoubted.inc({ family, channel, ...note }, 0)
  }
  return metrics
}

/** Begins the counters of tasks at 0, and registers the figures that each process reads of itself at every scrape. */
export function beginTaskSeries(
  metrics: TaskMetrics,
  registry: Registry,
  {
    channels,
    background,
  }: {
    readonly channels: Pick<ChannelDirectory, 'all' | 'health'>
    readonly background: { readonly pending: () => number }
  },
): TaskMetrics {
  beginAtZero(metrics.polls, { outcome: [...observedStatuses, 'gone', ...providerErrorKinds] })
  beginAtZero(metrics.successesWithheld, { why: ['ceiling', 'missing'] })
  beginAtZero(metrics.statusesUnknown, { word: ['other'] })
  beginAtZero(metrics.nativeIdsRepeated, { channel: channels.all.map(({ id }) => id) })
  for (const outcome of ['accepted', 'refused', 'uncertain'])
    metrics.createOverhead.zero({ outcome })
  const late: Gauge = new Gauge({
    name: 'tollgate_late_appends',
    help: 'Facts that wait for the event log.',
    registers: [registry],
    collect: () => late.set(background.pending()),
  })
  showChannels(registry, channels)
  return metrics
}

const BREAKER_LEVEL = { closed: 0, half_open: 1, open: 2 } as const

function showChannels(registry: Registry, channels: Pick<ChannelDirectory, 'health'>): void {
  const breakers: Gauge<'channel'> = new Gauge({
    name: 'tollgate_channel_breaker',
    help: 'Breaker of a channel in this process: 0 closed, 1 half open, 2 open.',
    labelNames: ['channel'],
    registers: [registry],
    collect() {
      for (const { id, breaker } of channels.health())
        breakers.set({ channel: id }, BREAKER_LEVEL[breaker])
    },
  })
  const shut: Gauge<'channel'> = new Gauge({
    name: 'tollgate_channel_shut_users',
    help: 'Users for whom this process closed a channel, because their own calls fail there.',
    labelNames: ['channel'],
    registers: [registry],
    collect() {
      for (const { id, shutUsers } of channels.health()) shut.set({ channel: id }, shutUsers)
    },
  })
}
