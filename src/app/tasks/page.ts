import { pageTasks, taskPlace } from '../../../projections/tasks/query.ts'
import { DomainError } from '../../kernel/errors.ts'
import { catchUp } from '../access/visibility.ts'
import type { TaskDeps } from './deps.ts'
import { findTaskUrls } from './result-urls.ts'
import type { PageTasks } from './types.ts'
import { viewOf } from './view.ts'

/** A tenant's tasks of several families, from our own records, read on from one to the next. */
export function createPageTasks(deps: TaskDeps): PageTasks {
  return async ({ principal, families, order, after, limit }) => {
    const { tenantId } = principal
    await deps.readModels.requireCurrent('tasks')
    await catchUp(deps, 'tasks', tenantId)
    const place =
      after === undefined
        ? undefined
        : await taskPlace(deps.pool, { tenantId, families, id: after })
    if (after !== undefined && place === undefined)
      throw new DomainError('invalid_request', '`after` must be the id of one in the list', {
        param: 'after',
      })
    const filter = { tenantId, families, order, after: place }
    const rows = await pageTasks(deps.pool, { ...filter, limit: limit + 1 })
    const shown = rows.slice(0, limit)
    const succeeded = shown.filter((row) => row.status === 'succeeded').map((row) => row.platformId)
    const urls = await findTaskUrls(deps.pool, succeeded, deps.clock.nowMs())
    return {
      items: shown.map((row) => viewOf(row, urls.get(row.platformId))),
      hasMore: rows.length > limit,
    }
  }
}
