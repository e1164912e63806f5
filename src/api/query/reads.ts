import type { DecimalString } from '../../kernel/money.ts'
import type { Visible } from './scope.ts'

/** What these routes read: the query functions of the read models, put behind one seam. */

/** Who and what may be seen; an absent member does not narrow. */
export interface LedgerFilter {
  readonly tenantId: string | undefined
  readonly userIds: readonly string[] | undefined
  readonly sku: string | undefined
  readonly model: string | undefined
  readonly currency: string | undefined
  readonly sourceId: string | undefined
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number | undefined
  /** Unix milliseconds, exclusive. */
  readonly toMs: number | undefined
}

export interface LedgerLine {
  readonly lineId: string
  readonly settledAtMs: number
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly sourceId: string
  readonly nativeId: string | null
  readonly surface: string
  readonly model: string
  readonly sku: string
  readonly rule: string
  readonly quantity: number
  readonly unit: string
  readonly price: DecimalString
  readonly per: number
  readonly currency: string
  readonly amount: DecimalString
  readonly priceBookVersion: string
  readonly measurement: string
  readonly requestId: string
  readonly position: string
}

export type LedgerGrouping = 'sku' | 'day' | 'model' | 'tenant'

export interface LedgerGroup {
  readonly key: string
  readonly currency: string
  readonly unit: string | undefined
  readonly quantity: string | undefined
  readonly amount: DecimalString
  readonly lines: number
}

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
