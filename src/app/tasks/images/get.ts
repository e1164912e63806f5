import type { TaskRow } from '../../../../projections/tasks/query.ts'
import { RESULT_LIFE_MS } from '../../../storage/object-key.ts'
import { findOwnTask } from '../../access/own-writes.ts'
import { costOfTask } from '../reads.ts'
import type { ImageTaskDeps } from './deps.ts'
import { shownResult } from './results.ts'
import type { ImageTaskUseCases, ImageTaskView } from './types.ts'

/** The error of a task without a known outcome at its deadline. */
const UNKNOWN_OUTCOME = {
  code: 'outcome_unknown',
  message:
    'Whether the model service made the images is not known. They are not delivered and not billed; ask again if they are still wanted.',
} as const

/** Query of one task, from the gateway's records: no provider knows it. */
export function createGetImageTask(deps: ImageTaskDeps): ImageTaskUseCases['get'] {
  const families = deps.catalog.imageFamilies.map(({ name }) => name)
  return async ({ principal, id }) => {
    const row = await findOwnTask(deps, { tenantId: principal.tenantId, families, id })
    const { platformId, model, requestedAtMs: createdAtMs } = row
    return { platformId, model, createdAtMs, ...(await viewState(deps, row)) }
  }
}

type TaskViewState = ImageTaskView extends infer View
  ? View extends { readonly status: string }
    ? Omit<View, 'platformId' | 'model' | 'createdAtMs'>
    : never
  : never

async function viewState(deps: ImageTaskDeps, row: TaskRow): Promise<TaskViewState> {
  const { status, platformId, updatedAtMs: atMs } = row
  switch (status) {
    case 'queued':
      return { status: 'pending' }
    case 'running':
      return { status: 'in_progress' }
    case 'succeeded': {
      const result = deps.media && (await shownResult(deps, deps.media, { platformId, atMs }))
      return {
        status: 'completed',
        completedAtMs: atMs,
        cost: await costOfTask(deps, row),
        expiresAtMs: atMs + RESULT_LIFE_MS,
        data: result?.data ?? [],
        shown: result?.shown ?? {},
      }
    }
    case 'expired':
      return { status: 'failed', error: UNKNOWN_OUTCOME }
    case 'failed':
    case 'cancelled':
      return { status: 'failed', error: row.error ?? UNKNOWN_OUTCOME }
  }
}
