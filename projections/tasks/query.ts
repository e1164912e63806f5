import type { Queryable } from '../engine/queryable.ts'
import { taskColumns, toTaskRow, type TaskRow } from './tables.ts'

export {
  COUNTED_TASKS,
  differingCounts,
  differingSums,
  listedScopes,
  standingCount,
  taskTables,
  type CountedTasks,
} from './audited.ts'
export { listTasks, type TaskListFilter, type TaskPage } from './list.ts'
export { openTasks, tasksEnded, tasksWithoutEnd, type TaskOwner } from './open.ts'
export { pageTasks, taskPlace, type TaskPageFilter, type TaskPlace } from './pages.ts'
export {
  platformIdsOf,
  queryTasks,
  type QueriedPlace,
  requestTimes,
  tasksBehind,
  type TaskQueryFilter,
  type TaskQueryPage,
} from './query-list.ts'
export {
  awaitingUsage,
  earliestPolls,
  type EarliestPolls,
  noteObservations,
  pollBacklog,
  askAgain,
  pollProgress,
  waitingTasks,
  type Observation,
} from './polls.ts'
export {
  findKnownNativeIds,
  findOpenSubmissions,
  type OpenSubmission,
  settledTwins,
  tasksOfOneNativeId,
} from './submissions.ts'
export { type UnclearTask, unclearTasks } from './unclear.ts'
export { awaitsUsageSql, COARSE_SHIFT, FINE_SHIFT } from './tables.ts'
export type { PollKind, Submission, TaskStatus } from './fold.ts'
export type { TaskRow } from './tables.ts'

/**
 * A tenant's task by platform or native id; hidden and refused ones are not found. Of several with
 * one native id (of different channels) the newest.
 */
export async function findTask(
  db: Queryable,
  key: {
    readonly tenantId: string
    readonly families: readonly string[]
    readonly id: string
  },
): Promise<TaskRow | undefined> {
  const { rows } = await db.query<Readonly<Record<string, unknown>>>({
    name: 'tasks.find',
    text: `select ${taskColumns} from tasks.tasks t
           left join tasks.polls p on p.platform_id = t.platform_id
           where (t.platform_id = $3 or t.native_id = $3) and t.tenant_id = $1 and t.family = any($2::text[])
             and t.visible
           order by t.position desc limit 1`,
    values: [key.tenantId, key.families, key.id],
  })
  return rows[0] && toTaskRow(rows[0])
}

/** Any tenant's task by platform or native id, hidden and refused ones too: for support. */
export async function findTaskAnyTenant(db: Queryable, id: string): Promise<TaskRow | undefined> {
  const { rows } = await db.query<Readonly<Record<string, unknown>>>({
    name: 'tasks.find.any',
    text: `select ${taskColumns} from tasks.tasks t
           left join tasks.polls p on p.platform_id = t.platform_id
           where t.platform_id = $1 or t.native_id = $1
           order by t.position desc limit 1`,
    values: [id],
  })
  return rows[0] && toTaskRow(rows[0])
}
