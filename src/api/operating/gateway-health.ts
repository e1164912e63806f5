import { Gauge, type Registry } from 'prom-client'
import type { ChannelDirectory } from '../../app/channels/directory.ts'
import type { TaskDeps } from '../../app/tasks/deps.ts'
import { clockFault, type SteadyClock } from '../../kernel/clock.ts'
import type { Health } from './health.ts'

/** The health that the process knows about itself. */
export interface Lifecycle extends Pick<
  Health,
  'accepting' | 'concerns' | 'hindrances' | 'projector'
> {
  readonly leaving: () => boolean
}

function whyRefused(denial: string | undefined): string | undefined {
  return denial && `event_log ${denial}`
}

/** Reports a clock that was set, until the process has followed it. */
export function clockConcern(
  clock: SteadyClock,
  registry: Registry,
): Lifecycle['concerns'][number] {
  const gauge: Gauge = new Gauge({
    name: 'tollgate_clock_off_seconds',
    help: "How far the machine's clock is ahead of that of the process, which follows it at up to twice or down to half speed.",
    registers: [registry],
    collect: () => gauge.set(clock.offMs() / 1_000),
  })
  const look = async () => Promise.resolve([clockFault(clock.offMs()) ?? []].flat())
  return { name: 'clock', look }
}

/** Reports channels that refuse the gateway's own account. */
export function channelConcern({
  refusals,
}: Pick<ChannelDirectory, 'refusals'>): Lifecycle['concerns'][number] {
  return { name: 'channels', look: () => Promise.resolve(refusals.shown()) }
}

/** The checks behind a gateway's readiness. */
export function createHealth(
  { pool, log, readModels }: Pick<TaskDeps, 'pool' | 'log' | 'readModels'>,
  { leaving: _leaving, ...lifecycle }: Lifecycle,
): Health {
  return {
    dependencies: [
      {
        name: 'event_log',
        probe: () => log.endPosition().then(() => log.healthy()),
        why: () => whyRefused(log.denial()),
      },
      { name: 'postgres', probe: () => pool.query('select 1').then(() => true) },
    ],
    projections: readModels.states,
    ...lifecycle,
  }
}
