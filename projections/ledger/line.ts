import type { ColumnKind } from '../engine/standing.ts'
import type { Per, Quantity } from '../../src/kernel/money.ts'

/** A settled line as it is stored and shown; decimals canonical, times RFC 3339 with milliseconds. */
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
  /** Which of the tenant's account prices the price came of; null: it is that of the book. */
  readonly accountPrices: number | null
}

type SqlType = 'text' | 'bigint' | 'int' | 'numeric(38, 12)' | 'timestamptz'

interface LineColumn {
  readonly name: string
  readonly type: SqlType
  readonly nullable?: true
}

const text = (name: string): LineColumn => ({ name, type: 'text' })

/**
 * Where each member of a line is kept, in the order in which its hash covers them: the table and what
 * chains, writes, reads and audits a line follow.
 */
export const lineColumns: { readonly [Member in keyof LedgerLine]-?: LineColumn } = {
  lineId: text('line_id'),
  settledAt: { name: 'settled_at', type: 'timestamptz' },
  tenantId: text('tenant_id'),
  userId: text('user_id'),
  tokenId: text('token_id'),
  sourceId: text('source_id'),
  nativeId: { name: 'native_id', type: 'text', nullable: true },
  surface: text('surface'),
  model: text('model'),
  sku: text('sku'),
  rule: text('rule'),
  quantity: { name: 'quantity', type: 'bigint' },
  unit: text('unit'),
  price: { name: 'price', type: 'numeric(38, 12)' },
  per: { name: 'per', type: 'int' },
  currency: text('currency'),
  amount: { name: 'amount', type: 'numeric(38, 12)' },
  priceBookVersion: text('price_book_version'),
  measurement: text('measurement'),
  requestId: text('request_id'),
  position: { name: 'position', type: 'bigint' },
  accountPrices: { name: 'account_prices', type: 'int', nullable: true },
}

/** Members and their columns, in the order of the table. */
export const lineMembers = Object.entries(lineColumns) as readonly (readonly [
  keyof LedgerLine,
  LineColumn,
])[]

const kinds: Readonly<Record<SqlType, ColumnKind>> = {
  text: 'text',
  bigint: 'text',
  int: 'text',
  'numeric(38, 12)': 'amount',
  timestamptz: 'time',
}

/** How an auditor reads each column. */
export const lineKinds: Readonly<Record<string, ColumnKind>> = Object.fromEntries(
  lineMembers.map(([, { name, type }]) => [name, kinds[type]]),
)

/** The columns as the table declares them. */
export const lineColumnsSql = lineMembers
  .map(([, { name, type, nullable }]) => `${name} ${type}${nullable ? '' : ' not null'},`)
  .join('\n    ')
