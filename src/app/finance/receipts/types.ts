import type { Correction } from '../../../../projections/ledger/query.ts'
import type { Currency } from '../../../kernel/money.ts'

/** What a task or a call came to, with all it takes to check it by hand. Amounts are decimal strings. */
export interface Receipt {
  /** Platform id of the task, or id of the call. */
  readonly sourceId: string
  readonly kind: 'task' | 'call'
  /** `unknown`: whether the model service took it is not known. */
  readonly state: 'settled' | 'not_billed' | 'running' | 'unknown'
  /** The state in a sentence. */
  readonly verdict: string
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly requestId: string
  readonly nativeId: string | undefined
  readonly surface: string
  readonly model: string
  /** Undefined of a call that failed: it has neither a price nor a hold. */
  readonly currency: Currency | undefined
  /** As settled; `0` for what was not. */
  readonly amount: string
  /** Sum of the corrections: what of the amount was given back. */
  readonly adjusted: string
  /** What remains to pay. */
  readonly net: string
  /** Kept from the balance now; `0` once it has ended. */
  readonly held: string
  readonly priceBookVersion: string | undefined
  /** How its quantities are known; undefined without lines. */
  readonly measurement: 'reported' | 'estimated' | 'mixed' | undefined
  readonly lines: readonly ReceiptLine[]
  readonly corrections: readonly Correction[]
  readonly timeline: readonly {
    readonly position: string
    readonly type: string
    /** When the log recorded it, unix milliseconds. */
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
  /** Which of the tenant's account prices the price is; null where it is that of the price book. */
  readonly accountPrices: number | null
  readonly amount: string
  /** `quantity × price ÷ per = amount`, in figures. */
  readonly formula: string
  readonly measurement: 'reported' | 'estimated'
  /** Of its corrections. */
  readonly adjusted: string
  /** Its link in the ledger's hash chain, in hex. */
  readonly hash: string
}
