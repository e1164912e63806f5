import type { LineRefund } from '../../../../projections/ledger/query.ts'
import type { BilledLifeKind } from '../../../domain/lives.ts'
import type { ReportingLabels } from '../../../domain/reporting-labels.ts'
import type { Currency } from '../../../kernel/money.ts'
import type { ReceiptStatus } from './status.ts'

/** A task's or call's cost, with all needed to check it by hand. Amounts are decimal strings. */
export interface Receipt {
  /** Platform id of the task, or id of the call. */
  readonly sourceId: string
  readonly kind: BilledLifeKind
  /** `unknown`: it is not known whether the model service accepted it. */
  readonly state: ReceiptStatus['state']
  /** The state in a sentence. */
  readonly verdict: string
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly requestId: string
  readonly nativeId: string | undefined
  readonly surface: string
  readonly model: string
  /** Declared tags of the request. */
  readonly tags: ReportingLabels['tags']
  /** The tenant's id of its end user, where it records these. */
  readonly endUser: string | undefined
  /** Undefined for a failed call, which has neither a price nor a hold. */
  readonly currency: Currency | undefined
  /** The settled amount; `0` if nothing was settled. */
  readonly amount: string
  /** Sum of the refunds: the part of the amount that was refunded. */
  readonly adjusted: string
  /** Amount that remains to pay. */
  readonly net: string
  /** Position of the log that all of it is as of. */
  readonly asOf: string
  /** Held from the balance now; `0` once it has ended. */
  readonly held: string
  readonly priceBookVersion: string | undefined
  /** How the quantities were measured; undefined without lines. */
  readonly measurement: 'reported' | 'estimated' | 'mixed' | undefined
  readonly lines: readonly ReceiptLine[]
  readonly corrections: readonly LineRefund[]
  readonly timeline: readonly {
    readonly position: string
    readonly type: string
    /** Time at which the log recorded it, unix milliseconds. */
    readonly atMs: number
  }[]
}

export interface ReceiptLine {
  readonly lineId: string
  readonly sku: string
  readonly rule: string
  readonly quantity: number
  readonly unit: string
  readonly price: string
  readonly per: number
  /** Number of the tenant's account prices that gave the price; null for the price book's. */
  readonly accountPrices: number | null
  readonly amount: string
  /** `quantity × price ÷ per = amount`, in figures. */
  readonly formula: string
  readonly measurement: 'reported' | 'estimated'
  /** Sum of its refunds. */
  readonly adjusted: string
  /** Link in the ledger's hash chain, in hex. */
  readonly hash: string
}
