import { Gauge, type Registry } from 'prom-client'
import type { ReadModelState } from '../../app/read-models/states.ts'
import { withProbeTimeout, type Health } from './health.ts'

/** Lag of the read models behind the log; read at every scrape. */
export function useProjectionMetrics(registry: Registry, health: Health): void {
  const labelNames = ['projection'] as const
  let states: Promise<readonly ReadModelState[]> | undefined
  /** One query serves all gauges of a scrape; unknown figures are left out. */
  const look = (): Promise<readonly ReadModelState[]> => {
    states ??= withProbeTimeout(health.projections)
      .catch((): readonly ReadModelState[] => [])
      .finally(() => (states = undefined))
    return states
  }
  const gauge = (name: string, help: string, valueOf: (state: ReadModelState) => number): void => {
    const registered: Gauge<'projection'> = new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        registered.reset()
        for (const state of await look()) registered.set({ projection: state.name }, valueOf(state))
      },
    })
  }
  gauge(
    'tollgate_projection_lag_seconds',
    'Age of the oldest event that a read model has not processed yet.',
    ({ lagMs }) => lagMs / 1_000,
  )
  gauge(
    'tollgate_projection_position',
    'Position of the last event that a read model has processed; -1 before the first.',
    ({ position }) => Number(position ?? -1),
  )
  gauge(
    'tollgate_projection_stopped',
    '1 while a projection is stopped at an event that it cannot apply.',
    ({ stopped }) => (stopped === undefined ? 0 : 1),
  )
  gauge(
    'tollgate_projection_passed_over_events',
    'Events that a read model passed over because they contradict earlier ones: an end without its beginning, or a second one.',
    ({ passedOver }) => passedOver,
  )
}
