import type { Static } from 'typebox'
import type { ListTasksInput } from '../../../app/tasks/types.ts'
import { resolveVideoAModel } from '../rules/models.ts'
import { RequestError } from '../../../api/kit/request-error.ts'
import { isTaskId } from '../../../api/kit/task-id.ts'
import { MAX_LIST_IDS, type ListTasksQuerySchema } from './schemas.ts'

type ListTasksQuery = Static<typeof ListTasksQuerySchema>

const DEFAULT_PAGE_SIZE = 10

function modelOf(name: string | undefined): string | undefined {
  if (name === undefined) return undefined
  const model = resolveVideoAModel(name)
  if (model) return model.name
  throw new RequestError(
    'parameter_invalid',
    'filter.model must be an external model name or its version alias',
    'filter.model',
  )
}

/** Comma-separated, repeated, or both; naming none is no filter, naming only impossible ones is. */
function idsOf(value: string | string[] | undefined): readonly string[] | undefined {
  const named = [value ?? []]
    .flat()
    .flatMap((text) => text.split(','))
    .map((id) => id.trim())
    .filter((id) => id !== '')
  if (named.length === 0) return undefined
  const ids = new Set(named)
  if (ids.size > MAX_LIST_IDS)
    throw new RequestError(
      'parameter_invalid',
      `filter.task_ids must name at most ${MAX_LIST_IDS} tasks`,
      'filter.task_ids',
    )
  return [...ids].filter(isTaskId)
}

/** The use case's input out of the query string. @throws RequestError */
export function readListQuery(query: ListTasksQuery): Omit<ListTasksInput, 'principal' | 'family'> {
  return {
    pageNumber: query.page_num ?? 1,
    pageSize: query.page_size ?? DEFAULT_PAGE_SIZE,
    status: query['filter.status'],
    model: modelOf(query['filter.model']),
    ids: idsOf(query['filter.task_ids']),
  }
}
