import { type Cells, lineCell } from '../../../../projections/ledger/query.ts'
import {
  chargePeriodOf,
  type FocusMonth,
  meterName,
  pricingQuantity,
  SERVICE,
  unitName,
} from './columns.ts'

/** Words for meters that were made, by rule and unit: there are a few dozen. */
const meters = new Map<string, string>()
const MAX_METERS = 10_000

/** Names the meter of a line in words. */
function meterOf(rule: string, unit: string): string {
  const key = `${rule} ${unit}`
  const known = meters.get(key)
  if (known !== undefined) return known
  const made = meterName(rule, unit)
  if (meters.size < MAX_METERS) meters.set(key, made)
  return made
}

/** A price, by the book's version, the SKU, and the revision of the tenant's own prices. */
function priceIdOf(version: string, sku: string, accountPrices: string | null): string {
  return accountPrices === null ? `${version}/${sku}` : `${version}/${sku}/${accountPrices}`
}

/**
 * The cells of a settled line in the order of the columns, written out: a month has millions, and an object a row is
 * ten times as slow.
 */
export function usageCells(line: Cells, month: FocusMonth): Cells {
  return [...chargeCells(line, month), ...whoseCells(line, month)]
}

/** The cells up to the name of the issuer: what is charged, when and to whom. */
function chargeCells(line: Cells, month: FocusMonth): Cells {
  const quantity = line[lineCell.quantity] ?? ''
  const price = line[lineCell.price] ?? ''
  const amount = line[lineCell.amount] ?? ''
  const [start, end] = chargePeriodOf(line[lineCell.settled_at] ?? '', month)
  return [
    month.terms === 'prepaid' ? '0' : amount,
    line[lineCell.tenant_id] ?? null,
    month.account.name ?? null,
    'Tenant',
    line[lineCell.currency] ?? null,
    month.end,
    month.start,
    'Usage',
    null,
    `${quantity} × ${price} ÷ ${line[lineCell.per] ?? ''}`,
    'Usage-Based',
    end,
    start,
    quantity,
    unitName(line[lineCell.unit] ?? ''),
    amount,
    price,
    amount,
    month.issuer,
    // A statement is no invoice: its number has a column of our own.
    null,
    null,
    month.issuer,
  ]
}

/** The cells from the list cost on: at which price, of which service, and for whom. */
function whoseCells(line: Cells, month: FocusMonth): Cells {
  const per = line[lineCell.per] ?? ''
  const unit = line[lineCell.unit] ?? ''
  const units = unitName(unit)
  const sku = line[lineCell.sku] ?? ''
  const version = line[lineCell.price_book_version] ?? ''
  return [
    line[lineCell.list_amount] ?? line[lineCell.amount] ?? null,
    line[lineCell.list_price] ?? line[lineCell.price] ?? null,
    'Standard',
    pricingQuantity(line[lineCell.quantity] ?? '', per),
    per === '1' ? units : `${per} ${units}`,
    SERVICE.category,
    line[lineCell.model] ?? null,
    month.issuer,
    SERVICE.subcategory,
    sku,
    meterOf(line[lineCell.rule] ?? '', unit),
    priceIdOf(version, sku, line[lineCell.account_prices] ?? null),
    line[lineCell.user_id] ?? null,
    month.account.userNames.get(line[lineCell.user_id] ?? '') ?? null,
    'User',
    line[lineCell.tags] ?? '{}',
    line[lineCell.end_user] ?? null,
    line[lineCell.hash] ?? null,
    line[lineCell.line_id] ?? null,
    line[lineCell.measurement] ?? null,
    version,
    null,
    line[lineCell.request_id] ?? null,
    month.statement,
    line[lineCell.token_id] ?? null,
  ]
}
