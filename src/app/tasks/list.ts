import { listTasks } from '../../../projections/tasks/query.ts'
import { findTaskUrls } from './result-urls.ts'
import type { TaskDeps } from './deps.ts'
import { catchUp } from '../access/visibility.ts'
import type { ListTasks } from './types.ts'
import { viewOf } from './view.ts'

/** A tenant's tasks from our own records, never by asking upstream. */
export function createListTasks(deps: TaskDeps): ListTasks {
  return async ({ principal, ...filter }) => {
    const { tenantId } = principal
    await deps.readModels.requireCurrent('tasks')
    await catchUp(deps, 'tasks', tenantId)
    const { rows, total } = await listTasks(deps.pool, { tenantId, ...filter })
    const succeeded = rows.filter((row) => row.status === 'succeeded').map((row) => row.platformId)
    const urls = await findTaskUrls(deps.pool, succeeded, deps.clock.nowMs())
    return { items: rows.map((row) => viewOf(row, urls.get(row.platformId))), total }
  }
}
