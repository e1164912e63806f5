import { type Cells, creditCell, refundCell } from '../../../../projections/ledger/query.ts'
import {
  cellsOf,
  chargePeriodOf,
  focusColumns,
  type FocusMonth,
  type FocusRow,
  rowOf,
  SERVICE,
} from './columns.ts'
import { usageCells } from './usage.ts'

/**
 * The rows of credit. A gift is a `Credit` that lowers both costs. Under prepaid terms it also goes to the balance from
 * which usage is paid, as credit that is bought does: a `Purchase`, billed now and effective with the usage that it pays.
 */

/** A decimal with the other sign. */
export function negated(amount: string): string {
  if (amount === '0') return amount
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

const empty = Object.fromEntries(focusColumns.map((column) => [column, null])) as FocusRow

/** Something that changed what a tenant may use. */
interface PostedCredit {
  readonly tenantId: string
  readonly currency: string
  /** Exact decimal: positive gave to the tenant. */
  readonly amount: string
  /** RFC 3339. */
  readonly at: string
  readonly description: string
  readonly reference?: string | null
}

function creditRow(
  { tenantId, currency, at, description, reference }: PostedCredit,
  month: FocusMonth,
): FocusRow {
  const [start, end] = chargePeriodOf(at, month)
  return {
    ...empty,
    BillingAccountId: tenantId,
    BillingAccountName: month.account.name ?? null,
    BillingAccountType: 'Tenant',
    BillingCurrency: currency,
    BillingPeriodEnd: month.end,
    BillingPeriodStart: month.start,
    ChargeDescription: description,
    ChargeFrequency: 'One-Time',
    ChargePeriodEnd: end,
    ChargePeriodStart: start,
    HostProviderName: month.issuer,
    InvoiceIssuerName: month.issuer,
    ServiceCategory: SERVICE.category,
    ServiceName: 'Credit',
    ServiceProviderName: month.issuer,
    ServiceSubcategory: SERVICE.subcategory,
    Tags: '{}',
    x_Reference: reference ?? null,
    x_StatementId: month.statement,
  }
}

/** The row of a purchase into the balance of a prepaid tenant: usage that the balance pays is not billed again. */
export function purchaseCells(credit: PostedCredit, month: FocusMonth): Cells {
  const { amount } = credit
  return cellsOf({
    ...creditRow(credit, month),
    BilledCost: amount,
    ChargeCategory: 'Purchase',
    ContractedCost: amount,
    ContractedUnitPrice: '1',
    EffectiveCost: '0',
    ListCost: amount,
    ListUnitPrice: '1',
    PricingCategory: 'Standard',
    PricingQuantity: amount,
    PricingUnit: 'Credits',
    SkuId: 'credit',
    SkuPriceId: 'credit',
  })
}

/** The costs of a gift: those of a credit are one figure. */
function giftCosts(amount: string) {
  const given = negated(amount)
  return {
    BilledCost: given,
    ChargeCategory: 'Credit',
    ContractedCost: given,
    EffectiveCost: given,
    ListCost: given,
  } as const
}

/** The purchase by which a gift goes to the balance; none where usage is billed as it is used. */
function toBalance(credit: PostedCredit, month: FocusMonth): readonly Cells[] {
  return month.terms === 'prepaid' ? [purchaseCells(credit, month)] : []
}

/** Writes the rows of a refund, in the hour and month in which it was posted. */
export function refundRows(refund: Cells, month: FocusMonth): readonly Cells[] {
  const of = (at: number): string => refund[at] ?? ''
  const amount = of(refundCell.refunded)
  const at = of(refundCell.posted_at)
  const code = refund[refundCell.code] ?? null
  const id = of(refundCell.adjustment_id)
  const [start, end] = chargePeriodOf(at, month)
  const credit: FocusRow = {
    ...rowOf(usageCells(refund, month)),
    ...giftCosts(amount),
    ChargePeriodStart: start,
    ChargePeriodEnd: end,
    ChargeDescription: `refund ${id}${code === null ? '' : `, ${code}`}`,
    ChargeFrequency: 'One-Time',
    ConsumedQuantity: null,
    ConsumedUnit: null,
    ContractedUnitPrice: null,
    ListUnitPrice: null,
    PricingQuantity: null,
    PricingUnit: null,
    // A price of a SKU would need its unit price.
    SkuPriceId: null,
  }
  const tenantId = of(refundCell.tenant_id)
  const currency = of(refundCell.currency)
  const description = `credit of refund ${id}`
  return [cellsOf(credit), ...toBalance({ tenantId, currency, amount, at, description }, month)]
}

/** Writes the rows of credit that was granted, or of a correction of it. */
export function grantRows(grant: Cells, month: FocusMonth): readonly Cells[] {
  const of = (at: number): string => grant[at] ?? ''
  const [id, grantId] = [of(creditCell.id), of(creditCell.grant_id)]
  const credit: PostedCredit = {
    tenantId: of(creditCell.tenant_id),
    currency: of(creditCell.currency),
    amount: of(creditCell.amount),
    at: of(creditCell.posted_at),
    description: id === grantId ? `credit ${grantId}` : `correction ${id} of credit ${grantId}`,
    reference: grant[creditCell.reference] ?? null,
  }
  // Credit that a postpaid tenant buys is a payment, and payments are no charges.
  if (of(creditCell.credit) === 'paid') return toBalance(credit, month)
  const gift: FocusRow = {
    ...creditRow({ ...credit, description: `promotional ${credit.description}` }, month),
    ...giftCosts(credit.amount),
  }
  return [cellsOf(gift), ...toBalance(credit, month)]
}
