import { waitForPosition } from '../../../projections/engine/wait.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { listLines, summarise } from '../../../projections/ledger/query.ts'
import { historyOf } from '../../../projections/timeline/query.ts'
import type { ReadModels } from '../../app/read-models/read-models.ts'
import { RequestError } from '../kit/request-error.ts'
import type { HistoryItem, QueryReads } from './reads.ts'
import type { Visible } from './scope.ts'

/** How long a history that is not there yet may wait for the read model. */
const CONFIRM_TIMEOUT_MS = 3_000

/** A task has about ten events; a request that lists refreshes a page of tasks. */
export const MAX_HISTORY_ITEMS = 10_000

/** Events these histories show: not those of tokens or accounts. */
const shownStreams = /^(?:task|journal)-/

export interface ProjectionReadsDeps {
  readonly db: Queryable
  /** Position of the log's last event, undefined while it is empty. */
  readonly logEnd: () => Promise<bigint | undefined>
  readonly readModels: Pick<ReadModels, 'requireCurrent'>
}

/** The queries over the read models in Postgres. */
export function projectionReads({ db, logEnd, readModels }: ProjectionReadsDeps): QueryReads {
  const find = async (id: string, scope: Visible): Promise<readonly HistoryItem[]> => {
    const { items } = await historyOf(db, id, scope, { limit: MAX_HISTORY_ITEMS })
    return items.filter(({ stream }) => shownStreams.test(stream))
  }
  return {
    listLines: async (filter, page) => {
      await readModels.requireCurrent('ledger')
      return listLines(db, filter, page)
    },
    summarise: async (filter, groupBy) => {
      await readModels.requireCurrent('ledger')
      return summarise(db, filter, groupBy)
    },
    history: async (id, scope) => {
      await readModels.requireCurrent('timeline')
      const found = await find(id, scope)
      if (found.length > 0) return found
      // Before it is a 404: whatever the log holds by now must have been considered.
      const end = await logEnd()
      if (end === undefined) return []
      if (!(await waitForPosition(db, 'timeline', end, CONFIRM_TIMEOUT_MS)))
        throw new RequestError('outage', 'The history cannot be confirmed at the moment')
      return find(id, scope)
    },
  }
}
