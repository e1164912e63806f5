import type { Pool } from 'pg'
import { listLines, summarise } from '../../../projections/ledger/query.ts'
import { taskHistory } from '../../../projections/timeline/query.ts'
import type { QueryReads } from './reads.ts'

/** The read models behind the query routes. */
export function createQueryReads(pool: Pool): QueryReads {
  return {
    listLines: (filter, page) => listLines(pool, filter, page),
    summarise: (filter, groupBy) => summarise(pool, filter, groupBy),
    taskHistory: async (id) => {
      const found = await taskHistory(pool, id)
      if (found?.userId === undefined) return undefined
      return { tenantId: found.tenantId, userId: found.userId, items: found.items }
    },
  }
}
