import type {
  AssetRow,
  AssetSearch,
  FoundAssets,
  GroupRow,
  GroupSearch,
  SearchPage,
} from '../../../projections/assets/query.ts'
import type {
  AdjustedLine,
  Cells,
  LedgerFilter as ProjectedFilter,
  LineOrder,
} from '../../../projections/ledger/query.ts'
import type { MadeFile } from '../../app/finance/line-files/files.ts'
import type { Receipt } from '../../app/finance/receipts/types.ts'
import type { Life } from '../../app/support/life.ts'
import type { Visible } from './scope.ts'

/** The reads of these routes: the query functions of the read models. */

/** Scope and filter: every member must be given, `undefined` does not narrow. */
export type LedgerFilter = Required<Omit<ProjectedFilter, 'tenantIds'>>

/** A filter by no facts of lines. */
export const anyLines = {
  userIds: undefined,
  sku: undefined,
  model: undefined,
  tokenId: undefined,
  surface: undefined,
  currency: undefined,
  sourceId: undefined,
  requestId: undefined,
  tags: undefined,
  endUser: undefined,
  since: undefined,
  lateAfter: undefined,
} as const

/** A line without its place in the hash chain, which the API does not show. */
export type LedgerLine = Omit<AdjustedLine, 'seq' | 'hash'>

export interface HistoryItem {
  readonly tenantId: string
  readonly userId: string | undefined
  readonly position: string
  readonly type: string
  readonly atMs: number
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The ledger for files: pages of cells, read when they are wanted. */
export interface LineExports {
  /** Newest first, behind the line `after`. @throws DomainError `invalid_cursor` */
  readonly lines: (
    filter: ProjectedFilter,
    page: {
      readonly after?: string | undefined
      readonly limit?: number | undefined
      /** Whether rows have the prices of the book too. */
      readonly listPrices?: boolean
    },
  ) => AsyncIterable<readonly Cells[]>
  /** Reads the refunds that were posted in the time of the filter, each with its line. */
  readonly refunds: (filter: ProjectedFilter) => AsyncIterable<readonly Cells[]>
  /** Credit that was granted in the time of the filter, and corrections of it. */
  readonly credits: (filter: ProjectedFilter) => AsyncIterable<readonly Cells[]>
}

export interface QueryReads {
  readonly exports: LineExports
  /**
   * A file of Parquet that `exports.lines` would have the lines of, once it is whole.
   * @throws DomainError `invalid_cursor`, `overloaded`, `storage_full`; RequestError `query_too_long`
   */
  readonly parquet: (
    filter: ProjectedFilter,
    page: { readonly after: string | undefined; readonly limit: number | undefined },
    callerGone: AbortSignal,
  ) => Promise<MadeFile>
  /**
   * The position of an answer: the requested one, once the ledger has reached it, or the ledger's
   * current one. @throws DomainError `read_model_behind`; RequestError if the log has no such
   * position
   */
  readonly ledgerPosition: (asked: bigint | undefined) => Promise<bigint>
  /**
   * Newest first, or in an order; `after` is the `lineId` of the last line already seen. @throws RequestError
   * `query_too_long` for too many lines to sort
   */
  readonly listLines: (
    filter: LedgerFilter,
    page: {
      readonly after: string | undefined
      readonly limit: number
      readonly order?: LineOrder | undefined
    },
  ) => Promise<{ readonly items: readonly LedgerLine[]; readonly next: string | undefined }>
  /** Newest first; `after` is the id of the last one already seen. */
  readonly listAssets: (search: AssetSearch, page: SearchPage) => Promise<FoundAssets<AssetRow>>
  readonly listAssetGroups: (
    search: GroupSearch,
    page: SearchPage,
  ) => Promise<FoundAssets<GroupRow>>
  /**
   * The events of a task or an asset (platform or native id), a call or a request in this scope,
   * oldest first; empty if there are none.
   */
  readonly history: (id: string, scope: Visible) => Promise<readonly HistoryItem[]>
  /**
   * The receipt of an id in this scope as of a position, by default of all that the log has; undefined if there is
   * none. @throws as `ledgerPosition`
   */
  readonly receipt: (
    id: string,
    scope: Visible,
    asOf: bigint | undefined,
  ) => Promise<Receipt | undefined>
  /** The life of an id in this scope as of all that the log has; undefined if there is none. @throws as `receipt` */
  readonly life: (id: string, scope: Visible) => Promise<Life | undefined>
}
