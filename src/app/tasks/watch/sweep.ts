import { runEach } from '../../../kernel/all-settled.ts'
import { keepLead } from '../../../../projections/engine/leadership.ts'
import { pollBacklog } from '../../../../projections/tasks/query.ts'
import { purgeCallClaims } from '../../calls/claims/statements.ts'
import { makeStrayDue } from '../../queue/tables.ts'
import { purgeCalls } from '../../spending/replica-reports.ts'
import { purgeRateUse } from '../../spending/throttle/allowance.ts'
import { purgeTaskUrls } from '../result-urls.ts'
import type { TaskDeps } from '../deps.ts'
import { farthestDue } from './intervals.ts'
import { createReservationSweep } from './reservations.ts'
import { taskWork } from './task-work.ts'

/**
 * Tidies operational tables: reservations that are projected, expired rows, and rows left behind by
 * a clock that was set. One process does it for all, so that it costs the same with any number of
 * workers.
 */

/** A leader silent for this long hangs or is disconnected: Postgres ends its session. */
const SILENT_LEADER_MS = 15_000

interface Sweep {
  readonly round: () => Promise<'idle'>
  /** Releases the lock immediately, so that another worker can lead. */
  readonly stop: () => Promise<void>
}

export function createSweep(
  deps: TaskDeps,
  settings: { readonly scale: number } = { scale: 1 },
): Sweep {
  const lead = keepLead(deps.pool, 'sweep', { silentMs: SILENT_LEADER_MS })
  let sweepReservations = createReservationSweep(deps)
  const longestMakingMs =
    1_000 *
    Math.max(
      0,
      ...[...deps.catalog.taskFamilies.values()].map((one) => one.localExecution?.longestS ?? 0),
    )
  return {
    round: async () => {
      showOwnGauges(deps)
      const leading = await lead.hold()
      if (leading === undefined) {
        // Only the leader reports this gauge.
        deps.metrics.openTasks.reset()
        return 'idle'
      }
      // A new leader does not know the findings of the last one.
      if (leading.isNew) sweepReservations = createReservationSweep(deps)
      const { pool } = deps
      const nowMs = deps.clock.nowMs()
      await runEach([
        () => showBacklog(deps, nowMs),
        () => makeStrayDue(pool, taskWork, nowMs, farthestDue(settings.scale, longestMakingMs)),
        () => purgeTaskUrls(pool, nowMs),
        () => purgeRateUse(pool),
        () => purgeCalls(pool),
        () => purgeCallClaims(pool),
        sweepReservations,
      ])
      return 'idle'
    },
    stop: lead.release,
  }
}

const BREAKER_LEVEL = { closed: 0, half_open: 1, open: 2 } as const

function showOwnGauges(deps: TaskDeps): void {
  const { lateAppends, channelBreaker, channelShutTenants } = deps.metrics
  lateAppends.set(deps.background.pending())
  for (const { id, breaker, shutTenants } of deps.channels.health()) {
    channelBreaker.set({ channel: id }, BREAKER_LEVEL[breaker])
    channelShutTenants.set({ channel: id }, shutTenants)
  }
}

async function showBacklog({ pool, metrics }: TaskDeps, nowMs: number): Promise<void> {
  const backlog = await pollBacklog(pool, nowMs)
  for (const kind of ['poll', 'reconcile', 'make', 'finish']) {
    const row = backlog.find((one) => one.kind === kind)
    metrics.openTasks.set({ kind, state: 'open' }, row?.open ?? 0)
    metrics.openTasks.set({ kind, state: 'due' }, row?.due ?? 0)
  }
}
