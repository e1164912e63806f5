import { createCreateTask, quoteTask } from './create-task.ts'
import { createCancelTask, createDeleteTask } from './delete.ts'
import type { TaskDeps } from './deps.ts'
import { createGetTask, createListTasks, createTaskLookup, createPageTasks } from './reads.ts'
import { createOpenResult } from './open-result.ts'
import { createObserve } from './observe.ts'
import { createRefresher } from './refresh.ts'
import type { TaskUseCases } from './types.ts'

/** The task use cases of every family, over what the process that serves them has (`src/start/services.ts`). */
export function createTaskUseCases(deps: TaskDeps): TaskUseCases {
  const refresher = createRefresher(deps, createObserve(deps))
  const lookUp = createTaskLookup(deps, refresher)
  return {
    createTask: createCreateTask(deps),
    getTask: createGetTask(deps, lookUp),
    listTasks: createListTasks(deps),
    deleteTask: createDeleteTask(deps, refresher),
    cancelTask: createCancelTask(deps, refresher),
    pageTasks: createPageTasks(deps),
    openResult: createOpenResult(deps, lookUp),
    quoteTask: (order) => quoteTask(deps, order),
  }
}
