import { longestWaitsMs } from '../../../domain/catalog/latest-end.ts'
import { runEach } from '../../../kernel/all-settled.ts'
import { keepLead } from '../../../../projections/engine/leadership.ts'
import { awaitingUsage, awaitsUsageSql, pollBacklog } from '../../../../projections/tasks/query.ts'
import { expiredClaimsSql, oldAnswersSql, purgeCallClaims } from '../../calls/claims/statements.ts'
import { type DueHorizon, makeStrayDue, strayJobsSql, strayValues } from '../../queue/tables.ts'
import { purgeCalls, silentCallsSql, silentSpendingSql } from '../../spending/replica-reports.ts'
import { forgettableUseSql, purgeRateUse } from '../../spending/throttle/allowance.ts'
import { oldRefusalsSql, purgeRefusals } from '../../support/refusals.ts'
import { expiredUrlsSql, purgeTaskUrls } from '../result-urls.ts'
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
  const waitsMs = longestWaitsMs(deps.catalog.taskFamilies)
  return {
    round: async () => {
      const leading = await lead.hold()
      if (leading === undefined) {
        // Only the leader reports these gauges.
        deps.metrics.openTasks.reset()
        deps.metrics.awaitingUsageDeadline.reset()
        return 'idle'
      }
      // A new leader does not know the findings of the last one.
      if (leading.isNew) sweepReservations = createReservationSweep(deps)
      const { pool } = deps
      const nowMs = deps.clock.nowMs()
      const ahead = farthestDue(settings.scale, longestMakingMs)
      const has = await look(pool, nowMs, ahead)
      if (!has.tasks) showBacklog(deps, [])
      if (!has.awaiting) showAwaiting(deps, { open: 0, deadlineMs: undefined })
      await runEach([
        ...(has.tasks ? [async () => showBacklog(deps, await pollBacklog(pool, nowMs))] : []),
        ...(has.awaiting
          ? [async () => showAwaiting(deps, await awaitingUsage(pool, waitsMs))]
          : []),
        ...(has.stray ? [() => makeStrayDue(pool, taskWork, nowMs, ahead)] : []),
        ...(has.urls ? [() => purgeTaskUrls(pool, nowMs)] : []),
        ...(has.use ? [() => purgeRateUse(pool)] : []),
        ...(has.calls ? [() => purgeCalls(pool)] : []),
        ...(has.claims ? [() => purgeCallClaims(pool)] : []),
        ...(has.refusals ? [() => purgeRefusals(pool, nowMs)] : []),
        ...(has.reservations ? [sweepReservations] : []),
      ])
      return 'idle'
    },
    stop: lead.release,
  }
}

/** A query has a row where there is something to tidy. The last parameter is the time. */
const tidied = {
  tasks: 'select from tasks.polls',
  awaiting: `select from tasks.tasks where ${awaitsUsageSql}`,
  stray: strayJobsSql(taskWork),
  urls: expiredUrlsSql('$4'),
  use: forgettableUseSql,
  calls: silentCallsSql,
  claims: `${expiredClaimsSql} union all ${oldAnswersSql}`,
  refusals: oldRefusalsSql('$4'),
  reservations: `select from ops.admissions union all ${silentSpendingSql}`,
}

/** Looks for all that may have to be tidied in one statement: mostly there is nothing. */
async function look(
  pool: TaskDeps['pool'],
  nowMs: number,
  ahead: Readonly<Record<string, DueHorizon>>,
): Promise<Readonly<Record<keyof typeof tidied, boolean>>> {
  const has = Object.entries(tidied).map(([name, sql]) => `exists (${sql}) as "${name}"`)
  const { rows } = await pool.query<Record<keyof typeof tidied, boolean>>({
    name: 'sweep-look',
    text: `select ${has.join(',\n')}`,
    values: [...strayValues(nowMs, ahead), nowMs],
  })
  const [found] = rows
  if (found === undefined) throw new Error('a look has one row')
  return found
}

function showBacklog(
  { metrics }: TaskDeps,
  backlog: Awaited<ReturnType<typeof pollBacklog>>,
): void {
  for (const kind of ['poll', 'reconcile', 'make', 'finish']) {
    const row = backlog.find((one) => one.kind === kind)
    metrics.openTasks.set({ kind, state: 'open' }, row?.open ?? 0)
    metrics.openTasks.set({ kind, state: 'due' }, row?.due ?? 0)
  }
}

function showAwaiting(
  { metrics, clock }: TaskDeps,
  { open, deadlineMs }: Awaited<ReturnType<typeof awaitingUsage>>,
): void {
  metrics.openTasks.set({ kind: 'poll', state: 'awaiting_usage' }, open)
  metrics.awaitingUsageDeadline.reset()
  if (deadlineMs !== undefined)
    metrics.awaitingUsageDeadline.set({ kind: 'poll' }, (deadlineMs - clock.nowMs()) / 1_000)
}
