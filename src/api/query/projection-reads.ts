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
const shownStreams = /^(?:task|journal|file|upload|voice)-/

export interface ProjectionReadsDeps {
  /** Its statements end by themselves after a while. */
  readonly db: Queryable
  /** Position of the log's last event, undefined while it is empty. */
  readonly logEnd: () => Promise<bigint | undefined>
  readonly readModels: Pick<ReadModels, 'requireCurrent'>
}

/** Postgres ended a statement that took longer than it may. */
const STATEMENT_ENDED = '57014'

/** @throws RequestError `query_too_long`, with what would make it shorter */
async function inTime<Found>(narrowing: string, query: () => Promise<Found>): Promise<Found> {
  try {
    return await query()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === STATEMENT_ENDED)
      throw new RequestError(
        'query_too_long',
        `The query takes too long: ${narrowing}`,
        undefined,
        error,
      )
    throw error
  }
}

const NARROW_LINES = 'narrow it by tenant_id, from and to, or ask for a smaller limit'
const NARROW_SUMMARY = 'narrow it by tenant_id, and by from and to'
const NARROW_HISTORY = 'ask again later'

/** The queries over the read models in Postgres. */
export function projectionReads({ db, logEnd, readModels }: ProjectionReadsDeps): QueryReads {
  const find = async (id: string, scope: Visible): Promise<readonly HistoryItem[]> => {
    const { items } = await inTime(NARROW_HISTORY, () =>
      historyOf(db, id, scope, { limit: MAX_HISTORY_ITEMS }),
    )
    return items.filter(({ stream }) => shownStreams.test(stream))
  }
  return {
    listLines: async (filter, page) => {
      await readModels.requireCurrent('ledger')
      return inTime(NARROW_LINES, () => listLines(db, filter, page))
    },
    summarise: async (filter, groupBy) => {
      await readModels.requireCurrent('ledger')
      return inTime(NARROW_SUMMARY, () => summarise(db, filter, groupBy))
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
