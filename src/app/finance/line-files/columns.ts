import { lineCell } from '../../../../projections/ledger/query.ts'

/** The columns of files of lines, in their order: the same in each format. */

/** Kinds of cells of a file. */
export type ColumnKind =
  | 'text'
  /** Text without a letter that JSON writes otherwise. */
  | 'plain'
  /** RFC 3339 in UTC. */
  | 'time'
  /** An integer that a number of JSON holds. */
  | 'integer'
  /** A position of the log, which may be larger. */
  | 'position'
  /** An amount or a price, of at most 12 decimals. */
  | 'decimal'
  | 'json'

/** A column of a file of lines. */
export interface LineColumn {
  readonly name: string
  readonly kind: ColumnKind
  /** Whether a line may have nothing there. */
  readonly isNullable: boolean
  /** Where its cell is in a row of the ledger. */
  readonly at: number
}

const kinds = {
  line_id: 'text',
  settled_at: 'time',
  tenant_id: 'text',
  user_id: 'text',
  token_id: 'text',
  source_id: 'text',
  native_id: 'text',
  surface: 'text',
  model: 'text',
  sku: 'text',
  rule: 'text',
  quantity: 'integer',
  unit: 'text',
  price: 'decimal',
  per: 'integer',
  currency: 'text',
  amount: 'decimal',
  price_book_version: 'text',
  measurement: 'text',
  request_id: 'text',
  position: 'position',
  adjusted: 'decimal',
  account_prices: 'integer',
  net: 'decimal',
  tags: 'json',
  end_user: 'text',
  tenant_name: 'text',
  user_name: 'text',
  token_name: 'text',
  hash: 'plain',
} as const satisfies Partial<Record<keyof typeof lineCell, ColumnKind>>

const nullable: ReadonlySet<string> = new Set<keyof typeof kinds>([
  'native_id',
  'account_prices',
  'tags',
  'end_user',
  'tenant_name',
  'user_name',
  'token_name',
])

export const lineFileColumns: readonly LineColumn[] = Object.entries(kinds).map(([name, kind]) => {
  return { name, kind, isNullable: nullable.has(name), at: lineCell[name as keyof typeof kinds] }
})
