import type { TaskDeps } from '../../app/tasks/deps.ts'
import type { Health } from './health.ts'

/** The health that the process knows about itself. */
export interface Lifecycle extends Pick<Health, 'accepting' | 'concerns'> {
  readonly leaving: () => boolean
}

function whyRefused(denial: string | undefined): string | undefined {
  return denial && `event_log ${denial}`
}

/** The checks behind a gateway's readiness. */
export function createHealth(
  { pool, log, readModels }: Pick<TaskDeps, 'pool' | 'log' | 'readModels'>,
  { accepting, concerns }: Lifecycle,
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
    accepting,
    concerns,
  }
}
