import type {
  AdjustedLine,
  LedgerFilter as ProjectedFilter,
  LedgerGroup,
  LedgerGrouping,
} from '../../../projections/ledger/query.ts'
import type { Visible } from './scope.ts'

/** What these routes read: the query functions of the read models, put behind one seam. */

/** Who and what may be seen: every member has to be thought of, `undefined` does not narrow. */
export type LedgerFilter = Required<ProjectedFilter>

/** A line without its place in the hash chain, which the API does not show. */
export type LedgerLine = Omit<AdjustedLine, 'seq' | 'hash'>

export interface HistoryItem {
  readonly position: string
  readonly type: string
  readonly atMs: number
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface TaskHistory {
  readonly tenantId: string
  readonly userId: string | undefined
  readonly items: readonly HistoryItem[]
}

export interface QueryReads {
  /** Newest first; `after` is the `lineId` of the last line already seen. */
  readonly listLines: (
    filter: LedgerFilter,
    page: { readonly after: string | undefined; readonly limit: number },
  ) => Promise<{ readonly items: readonly LedgerLine[]; readonly next: string | undefined }>
  readonly summarise: (
    filter: LedgerFilter,
    groupBy: LedgerGrouping,
  ) => Promise<readonly LedgerGroup[]>
  /** By platform or native id; undefined when there is none in this scope. */
  readonly taskHistory: (id: string, scope: Visible) => Promise<TaskHistory | undefined>
}
