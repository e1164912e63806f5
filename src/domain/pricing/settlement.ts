import { Type, type Static } from '@sinclair/typebox'

/** Persisted shapes of money: what a price, a quote and a settlement look like in an event. */

export const CurrencySchema = Type.Union([Type.Literal('CNY'), Type.Literal('USD')])
const Decimal = Type.String({ pattern: '^-?\\d{1,26}(\\.\\d{1,12})?$' })
const Price = Type.String({ pattern: '^\\d{1,20}(\\.\\d{1,6})?$' })
export const PerSchema = Type.Union([Type.Literal(1), Type.Literal(1_000), Type.Literal(1_000_000)])
export const DecimalSchema = Decimal
export const PriceSchema = Price

/** A factor that prices are multiplied by: a decimal of at most 6 places. */
export const MultiplierSchema = Type.String({ pattern: '^\\d{1,3}(\\.\\d{1,6})?$' })

/**
 * Why a price is not that of the price book: the tenant has prices of its own, and which of them
 * applied. `revision` counts the tenant's `AccountPricesSet` events from 1.
 */
export const AccountPriceSchema = Type.Union([
  /** The tenant's own price of this SKU. */
  Type.Object({
    kind: Type.Literal('own'),
    revision: Type.Integer({ minimum: 1 }),
  }),
  /** The book's price times the tenant's multiplier, rounded half away from zero to 6 decimals. */
  Type.Object({
    kind: Type.Literal('multiplied'),
    revision: Type.Integer({ minimum: 1 }),
    list: Price,
    multiplier: MultiplierSchema,
  }),
])
export type AccountPrice = Static<typeof AccountPriceSchema>

/** One SKU's price as frozen at acceptance. `unit` names what is counted, e.g. `token`, `call`. */
const RatedSkuSchema = Type.Object({
  sku: Type.String(),
  rule: Type.String(),
  unit: Type.String(),
  price: Price,
  per: PerSchema,
  /** Absent where the price is that of the book. */
  accountPrice: Type.Optional(AccountPriceSchema),
})
export type RatedSku = Static<typeof RatedSkuSchema>

/**
 * What a request may cost: every SKU its settlement can use with its price, and the hold placed on
 * the balance while it runs.
 */
export const QuoteSchema = Type.Object({
  priceBookVersion: Type.String(),
  currency: CurrencySchema,
  candidates: Type.Array(RatedSkuSchema),
  hold: Decimal,
})
export type Quote = Static<typeof QuoteSchema>

const MeasurementSchema = Type.Union([Type.Literal('reported'), Type.Literal('estimated')])
export type Measurement = Static<typeof MeasurementSchema>

/** A ledger line with all it takes to recompute it: amount = quantity × price ÷ per (P4). */
const SettlementLineSchema = Type.Object({
  sku: Type.String(),
  rule: Type.String(),
  quantity: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  unit: Type.String(),
  price: Price,
  per: PerSchema,
  amount: Decimal,
  measurement: MeasurementSchema,
  /** Absent where the price is that of the book. */
  accountPrice: Type.Optional(AccountPriceSchema),
})
export type SettlementLine = Static<typeof SettlementLineSchema>

/** What an adjustment corrects: a settled line of the ledger, or credit that was granted. */
export const CorrectsSchema = Type.Union([
  Type.Object({ kind: Type.Literal('line'), lineId: Type.String() }),
  Type.Object({ kind: Type.Literal('grant'), grantId: Type.String() }),
])
export type Corrects = Static<typeof CorrectsSchema>

/** The money of one result. `amount` is the exact sum of the lines; zero quantities write no line. */
export const SettlementSchema = Type.Object({
  priceBookVersion: Type.String(),
  currency: CurrencySchema,
  amount: Decimal,
  lines: Type.Array(SettlementLineSchema),
})
export type Settlement = Static<typeof SettlementSchema>
