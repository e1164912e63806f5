import {
  bigint,
  decimal,
  int,
  memberOf,
  nullable,
  text,
  time,
  whole,
  type Columns,
} from '../engine/column.ts'
import type { Per, Quantity } from '../../src/kernel/money.ts'

/** A settled line, stored and shown; decimals canonical, times RFC 3339 with milliseconds. */
export interface LedgerLine {
  /** `<source_id>:<n>`, n from 1. */
  readonly lineId: string
  readonly settledAt: string
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  /** Platform id of a task, call id of a call. */
  readonly sourceId: string
  readonly nativeId: string | null
  readonly surface: string
  readonly model: string
  readonly sku: string
  readonly rule: string
  readonly quantity: Quantity
  readonly unit: string
  readonly price: string
  readonly per: Per
  readonly currency: string
  readonly amount: string
  readonly priceBookVersion: string
  readonly measurement: 'reported' | 'estimated'
  readonly requestId: string
  readonly position: bigint
  /**
   * Revision of the tenant's account prices that the price came from; null: the price is that of
   * the book.
   */
  readonly accountPrices: number | null
  /** JSON of the declared tags, keys in order; null without any. */
  readonly tags: string | null
  /** The tenant's id of its end user, where it declared that it is recorded. */
  readonly endUser: string | null
}

/**
 * Column of each member of a line, in the order in which its hash covers them. The table and the
 * code that chains, writes, reads and audits a line are derived from it.
 */
export const lineColumns = {
  line_id: text(),
  settled_at: time(),
  tenant_id: text(),
  user_id: text(),
  token_id: text(),
  source_id: text(),
  native_id: nullable(text()),
  surface: text(),
  model: text(),
  sku: text(),
  rule: text(),
  quantity: whole(),
  unit: text(),
  price: decimal(),
  per: int(),
  currency: text(),
  amount: decimal(),
  price_book_version: text(),
  measurement: text(),
  request_id: text(),
  position: bigint(),
  account_prices: nullable(int()),
  tags: nullable(text()),
  end_user: nullable(text()),
} satisfies Columns

/** The members of a line, in the order of the table. */
export const lineMembers = Object.entries(lineColumns).map(([name, column]) =>
  memberOf(name, column),
) as readonly (keyof LedgerLine)[]
