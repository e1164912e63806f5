import type { Pool } from 'pg'
import { readCheckpoints } from '../../../../projections/engine/checkpoint.ts'
import { pollBacklog } from '../../../../projections/tasks/query.ts'
import { taskStream } from '../../../domain/task/events.ts'
import { purgeCallSpending } from '../../spending/call-spending.ts'
import { purgeRateUse } from '../../throttle/sharing.ts'
import { purgeTaskUrls } from '../result-urls.ts'
import type { TaskDeps } from '../deps.ts'

/** Tidies operational tables: reservations that are projected, URLs that expired. */

/** A reservation whose place in the log was never noted is looked up after this … */
const LOOK_UP_AFTER_MS = 5_000
/** … and given back after this if the log has nothing: over three times what an append can take. */
const GIVE_BACK_AFTER_MS = 30_000
const MAX_LOOK_UPS = 200
/** An admission under way may have read the balance of a moment ago: no reservation goes sooner. */
const KEEP_FOR_MS = 60_000

/** One round; any replica may run it, also several at once. */
export function createSweepRound(deps: TaskDeps) {
  return async (): Promise<'idle'> => {
    await showGauges(deps)
    await purgeTaskUrls(deps.pool, deps.clock.nowMs())
    await purgeRateUse(deps.pool)
    await dropProjected(deps.pool)
    await resolveUnplaced(deps)
    return 'idle'
  }
}

const BREAKER_LEVEL = { closed: 0, half_open: 1, open: 2 } as const

async function showGauges(deps: TaskDeps): Promise<void> {
  const { lateAppends, openTasks, channelBreaker } = deps.metrics
  lateAppends.set(deps.background.pending())
  for (const { id, breaker } of deps.channels.health())
    channelBreaker.set({ channel: id }, BREAKER_LEVEL[breaker])
  const backlog = await pollBacklog(deps.pool, deps.clock.nowMs())
  for (const kind of ['poll', 'reconcile']) {
    const row = backlog.find((one) => one.kind === kind)
    openTasks.set({ kind, state: 'open' }, row?.open ?? 0)
    openTasks.set({ kind, state: 'due' }, row?.due ?? 0)
  }
}

/** Holds are in the ledger, places of concurrent tasks in the tasks: both must have passed. */
async function dropProjected(db: Pool): Promise<void> {
  const checkpoints = await readCheckpoints(db)
  const [ledger, tasks] = [checkpoints.get('ledger')?.position, checkpoints.get('tasks')?.position]
  if (ledger === undefined || tasks === undefined) return
  await purgeCallSpending(db, ledger)
  await db.query(
    `delete from ops.admissions
     where position <= $1 and admitted_at < now() - $2 * interval '1 millisecond'`,
    [ledger < tasks ? ledger : tasks, KEEP_FOR_MS],
  )
}

/** Reservations left by a process that died, or whose note was lost: the log says what they are. */
async function resolveUnplaced(deps: TaskDeps): Promise<void> {
  const { rows } = await deps.pool.query<{ platform_id: string; age_ms: string }>(
    `select platform_id, (extract(epoch from now() - admitted_at) * 1000)::bigint as age_ms
     from ops.admissions
     where position is null and admitted_at < now() - $1 * interval '1 millisecond'
     order by admitted_at limit $2`,
    [LOOK_UP_AFTER_MS, MAX_LOOK_UPS],
  )
  for (const { platform_id: platformId, age_ms: ageMs } of rows) {
    const [first] = await deps.log.readStream(taskStream(platformId), { limit: 1 })
    if (first !== undefined) await deps.admissions.recorded(platformId, first.position)
    else if (Number(ageMs) > GIVE_BACK_AFTER_MS) await deps.admissions.withdraw(platformId)
  }
}
