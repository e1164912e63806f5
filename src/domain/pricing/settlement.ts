import { type Static, Type } from '@sinclair/typebox'
import {
  bookableQuantity,
  type Currency,
  formatAmount,
  isBookable,
  lineAmount,
  parseAmount,
  type Quantity,
} from '../../kernel/money.ts'

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
 * The tenant's price that applied instead of the price book. `revision` counts the tenant's
 * `AccountPricesSet` events from 1.
 */
const AccountPriceSchema = Type.Union([
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

/** One SKU's price, frozen at acceptance. `unit` is the counted unit, e.g. `token`, `call`. */
const RatedSkuSchema = Type.Object({
  sku: Type.String(),
  rule: Type.String(),
  unit: Type.String(),
  price: Price,
  per: PerSchema,
  /** Absent if the price is that of the book. */
  accountPrice: Type.Optional(AccountPriceSchema),
})
export type RatedSku = Static<typeof RatedSkuSchema>

/**
 * The possible cost of a request: every SKU its settlement can use with its price, and the hold
 * placed on the balance while it runs.
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

/** A ledger line with everything needed to recompute it: amount = quantity × price ÷ per (P4). */
const SettlementLineSchema = Type.Object({
  sku: Type.String(),
  rule: Type.String(),
  quantity: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  unit: Type.String(),
  price: Price,
  per: PerSchema,
  amount: Decimal,
  measurement: MeasurementSchema,
  /** Absent if the price is that of the book. */
  accountPrice: Type.Optional(AccountPriceSchema),
})
export type SettlementLine = Static<typeof SettlementLineSchema>

/** The target of an adjustment: a settled line of the ledger, or a grant of credit. */
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

/**
 * One ledger line: quantity × price ÷ per, exact. A zero quantity writes no line (the usage keeps
 * it). If the amount of a quantity is too large for read models, the line has the largest amount
 * that can be booked, marked as estimated.
 *
 * @throws RangeError when the quantity is not a non-negative safe integer
 */
export function settlementLine(
  rated: RatedSku,
  quantity: Quantity,
  measurement: Measurement,
): SettlementLine | undefined {
  const amountPico = lineAmount(quantity, rated.price, rated.per)
  if (quantity === 0) return undefined
  if (!isBookable(amountPico))
    return settlementLine(rated, bookableQuantity(rated.price, rated.per), 'estimated')
  const { sku, rule, unit, price, per, accountPrice } = rated
  const amount = formatAmount(amountPico)
  const line = { sku, rule, quantity, unit, price, per, amount, measurement }
  return accountPrice === undefined ? line : { ...line, accountPrice }
}

/** The money of one result under a frozen quote: its amount is the exact sum of its lines. */
export function settlement(
  frozen: Pick<Quote, 'priceBookVersion' | 'currency'>,
  lines: readonly (SettlementLine | undefined)[],
): Settlement {
  const written = lines.filter((line) => line !== undefined)
  let amountPico = 0n
  for (const { quantity, price, per } of written) amountPico += lineAmount(quantity, price, per)
  return {
    priceBookVersion: frozen.priceBookVersion,
    currency: frozen.currency,
    amount: formatAmount(amountPico),
    lines: written,
  }
}

/** The amount of one SKU, a decimal string. */
interface CostPart {
  readonly sku: string
  readonly amount: string
}

/** The part of a settlement that the paying caller sees beside the result. */
export interface Cost {
  /** Decimal string; `0` if nothing was charged. */
  readonly amount: string
  readonly currency: Currency
  readonly priceBookVersion: string
  /** One part per SKU, in the order of the lines; together they are the amount. */
  readonly split: readonly CostPart[]
}

/**
 * At most this many SKUs are shown by name, because a header has to hold them. No settlement has as
 * many today.
 */
export const MAX_COST_PARTS = 16
/** The name of the sum of all further SKUs. */
export const OTHER_PARTS = 'other'

/** The cost of a settlement. */
export function costOf(
  settled: Pick<Settlement, 'amount' | 'currency' | 'priceBookVersion'> & {
    readonly lines: readonly Pick<SettlementLine, 'sku' | 'amount'>[]
  },
): Cost {
  const { amount, currency, priceBookVersion, lines } = settled
  const bySku = new Map<string, string>()
  for (const line of lines) {
    const isNamed = bySku.has(line.sku) || bySku.size < MAX_COST_PARTS
    const sku = isNamed ? line.sku : OTHER_PARTS
    bySku.set(sku, sumOf(bySku.get(sku), line.amount))
  }
  const split = [...bySku].map(([sku, part]) => ({ sku, amount: part }))
  return { amount, currency, priceBookVersion, split }
}

/**
 * The sum of two amounts, in canonical form. Most SKUs have one line, which already is in that
 * form, so that it need not be parsed.
 */
function sumOf(sum: string | undefined, amount: string): string {
  if (sum === undefined && !/\.\d*0$/.test(amount)) return amount
  return formatAmount(parseAmount(sum ?? '0') + parseAmount(amount))
}
