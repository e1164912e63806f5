import { waitForPosition } from '../../../projections/engine/checkpoint.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { listLines, summarise } from '../../../projections/ledger/query.ts'
import { taskHistory } from '../../../projections/timeline/query.ts'
import { RequestError } from '../kit/request-error.ts'
import type { QueryReads, TaskHistory } from './reads.ts'
import type { Visible } from './scope.ts'

/** How long a history that is not there yet may wait for the read model. */
const CONFIRM_TIMEOUT_MS = 3_000

/** Events these histories show: not those of tokens or accounts. */
const shownStreams = /^(?:task|journal)-/

export interface ProjectionReadsDeps {
  readonly db: Queryable
  /** Position of the log's last event, undefined while it is empty. */
  readonly logEnd: () => Promise<bigint | undefined>
}

/** The queries over the read models in Postgres. */
export function projectionReads({ db, logEnd }: ProjectionReadsDeps): QueryReads {
  const find = async (id: string, scope: Visible): Promise<TaskHistory | undefined> => {
    const found = await taskHistory(db, id, scope)
    if (found === undefined || !found.items.every((item) => shownStreams.test(item.stream)))
      return undefined
    return { tenantId: found.tenantId, userId: found.userId, items: found.items }
  }
  return {
    listLines: async (filter, page) => listLines(db, filter, page),
    summarise: async (filter, groupBy) => summarise(db, filter, groupBy),
    taskHistory: async (id, scope) => {
      const found = await find(id, scope)
      if (found !== undefined) return found
      // Before it is a 404: whatever the log holds by now must have been considered.
      const end = await logEnd()
      if (end === undefined) return undefined
      if (!(await waitForPosition(db, 'timeline', end, CONFIRM_TIMEOUT_MS)))
        throw new RequestError('outage', 'The history cannot be confirmed at the moment')
      return find(id, scope)
    },
  }
}
