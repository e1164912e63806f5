import { type Cells, purchaseCell, refundCell } from '../../../../projections/ledger/query.ts'
import {
  cellsOf,
  focusColumns,
  type FocusMonth,
  type FocusRow,
  hourOf,
  rowOf,
  SERVICE,
} from './columns.ts'
import { usageCells } from './usage.ts'

/** A decimal with the other sign. */
function negated(amount: string): string {
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

/**
 * Writes the row of a refund, in the hour and month in which it was posted: a correction where the month of its line
 * is closed, else a credit of the open one.
 */
export function refundCells(refund: Cells, month: FocusMonth, lineStatement: string | null): Cells {
  const given = negated(refund[refundCell.refunded] ?? '0')
  const code = refund[refundCell.code] ?? null
  const billed = month.terms === 'prepaid' ? '0' : given
  const isCorrection = lineStatement !== null
  const [start, end] = hourOf(refund[refundCell.posted_at] ?? '')
  const row: FocusRow = {
    ...rowOf(usageCells(refund, month)),
    ChargePeriodStart: start,
    ChargePeriodEnd: end,
    BilledCost: billed,
    EffectiveCost: given,
    // Of a credit these are the billed cost.
    ContractedCost: isCorrection ? given : billed,
    ListCost: isCorrection ? given : billed,
    ChargeCategory: isCorrection ? 'Usage' : 'Credit',
    ChargeClass: isCorrection ? 'Correction' : null,
    ChargeDescription: `refund ${refund[refundCell.adjustment_id] ?? ''}${code === null ? '' : `, ${code}`}`,
    ConsumedQuantity: null,
    ConsumedUnit: null,
    ContractedUnitPrice: null,
    ListUnitPrice: null,
    PricingQuantity: null,
    PricingUnit: null,
  }
  return cellsOf(row)
}

const empty = Object.fromEntries(focusColumns.map((column) => [column, null])) as FocusRow

/**
 * Credit that was bought, or a correction of it. Of a postpaid tenant it is a payment, and payments are no charges:
 * undefined.
 */
export function purchaseCells(purchase: Cells, month: FocusMonth): Cells | undefined {
  if (month.terms === 'postpaid') return undefined
  const of = (at: number): string => purchase[at] ?? ''
  const amount = of(purchaseCell.amount)
  const reference = purchase[purchaseCell.reference] ?? null
  const grantId = of(purchaseCell.grant_id)
  const id = of(purchaseCell.id)
  const [start, end] = hourOf(of(purchaseCell.posted_at))
  return cellsOf({
    ...empty,
    BilledCost: amount,
    BillingAccountId: of(purchaseCell.tenant_id),
    BillingAccountName: purchase[purchaseCell.tenant_name] ?? null,
    BillingAccountType: 'Tenant',
    BillingCurrency: of(purchaseCell.currency),
    BillingPeriodEnd: month.end,
    BillingPeriodStart: month.start,
    ChargeCategory: 'Purchase',
    ChargeDescription:
      id === grantId ? `credit ${grantId}` : `correction ${id} of credit ${grantId}`,
    ChargeFrequency: 'One-Time',
    ChargePeriodEnd: end,
    ChargePeriodStart: start,
    ContractedCost: amount,
    ContractedUnitPrice: '1',
    EffectiveCost: '0',
    HostProviderName: month.issuer,
    InvoiceDetailId: reference === null ? null : id,
    InvoiceId: reference,
    InvoiceIssuerName: month.issuer,
    ListCost: amount,
    ListUnitPrice: '1',
    PricingCategory: 'Standard',
    PricingQuantity: amount,
    PricingUnit: 'Credits',
    ServiceCategory: SERVICE.category,
    ServiceName: 'Credit',
    ServiceProviderName: month.issuer,
    ServiceSubcategory: SERVICE.subcategory,
    SkuId: 'credit',
    SkuPriceId: 'credit',
    Tags: '{}',
    x_StatementId: month.statement,
  })
}
