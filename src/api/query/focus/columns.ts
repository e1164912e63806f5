import type { AccountHistory } from '../../../app/accounts/account-history.ts'
import type { BillingTerms } from '../../../domain/account/billing.ts'
import { fromTimestamp, wholeSecond } from '../../../kernel/clock.ts'

/** The columns of a FOCUS 1.4 file, dataset Cost and Usage, in their order; our own begin with `x_` and come last. */
export const focusColumns = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingAccountType',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'ContractedUnitPrice',
  'EffectiveCost',
  'HostProviderName',
  'InvoiceDetailId',
  'InvoiceId',
  'InvoiceIssuerName',
  'ListCost',
  'ListUnitPrice',
  'PricingCategory',
  'PricingQuantity',
  'PricingUnit',
  'ServiceCategory',
  'ServiceName',
  'ServiceProviderName',
  'ServiceSubcategory',
  'SkuId',
  'SkuMeter',
  'SkuPriceId',
  'SubAccountId',
  'SubAccountName',
  'SubAccountType',
  'Tags',
  'x_EndUserId',
  'x_Hash',
  'x_LineId',
  'x_Measurement',
  'x_PriceBookVersion',
  'x_Reference',
  'x_RequestId',
  'x_StatementId',
  'x_TokenId',
] as const

export type FocusColumn = (typeof focusColumns)[number]
type FocusCell = string | null
/** A row by the names of its columns. */
export type FocusRow = Readonly<Record<FocusColumn, FocusCell>>

/** The cells of a row, in the order of the columns. */
export function cellsOf(row: FocusRow): readonly FocusCell[] {
  return focusColumns.map((column) => row[column])
}

/** A row by the names of its columns. */
export function rowOf(cells: readonly FocusCell[]): FocusRow {
  return Object.fromEntries(focusColumns.map((column, n) => [column, cells[n] ?? null])) as FocusRow
}

/** The month of a row in the zone of the file, its tenant, and what is true of all its rows. */
export interface FocusMonth {
  /** RFC 3339 in UTC. */
  readonly start: string
  readonly end: string
  /** Number of its statement; null while it is open. */
  readonly statement: string | null
  /** Name of the gateway, which provides the service and issues the statements. */
  readonly issuer: string
  /** The names of the tenant and its users. */
  readonly account: Pick<AccountHistory, 'name' | 'userNames'>
  /** `prepaid`: usage is paid from the balance, whose credit was billed when it was bought. */
  readonly terms: BillingTerms
}

/** Service category and subcategory of everything that is sold here, by the words of FOCUS. */
export const SERVICE = {
  category: 'AI and Machine Learning',
  subcategory: 'Generative AI',
} as const

const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)

/** FOCUS names units in the plural and capitalised. */
export function unitName(unit: string): string {
  return `${capital(unit)}s`
}

/** Parts of a rule that say which tokens it counts. */
const meterWords = ['cached-input', 'cache-write-5m', 'cache-write-1h', 'input', 'output']

/** Names the meter of a rule in words: `Cached Input Tokens`. */
export function meterName(rule: string, unit: string): string {
  const what = rule.split('/').findLast((part) => meterWords.includes(part))
  return [...(what?.split('-').map(capital) ?? []), unitName(unit)].join(' ')
}

/** `quantity ÷ per`, exactly: `per` is a power of ten. */
export function pricingQuantity(quantity: string, per: string): string {
  const digits = per.length - 1
  if (digits === 0) return quantity
  const text = quantity.padStart(digits + 1, '0')
  let end = text.length
  while (end > text.length - digits && text[end - 1] === '0') end -= 1
  const fraction = text.slice(-digits, end)
  return `${text.slice(0, -digits)}${fraction === '' ? '' : `.${fraction}`}`
}

const HOUR_MS = 3_600_000

/** The hour that holds a time of UTC, RFC 3339: its beginning and its end. */
function hourOf(time: string): readonly [start: string, end: string] {
  const hour = time.slice(0, 13)
  const known = lastHour
  if (known?.hour === hour) return known.bounds
  const bounds = [`${hour}:00:00Z`, endOf(hour)] as const
  lastHour = { hour, bounds }
  return bounds
}

/**
 * The charge period of a time: its hour, as far as that lies in the billing month. In a zone whose clock is not whole
 * hours from UTC a month begins within an hour of UTC.
 */
export function chargePeriodOf(
  time: string,
  { start, end }: Pick<FocusMonth, 'start' | 'end'>,
): readonly [start: string, end: string] {
  const [from, to] = hourOf(time)
  return [from < start ? start : from, to > end ? end : to]
}

/** The hour that was asked for last: thousands of rows in turn have the same one. */
let lastHour: { readonly hour: string; readonly bounds: readonly [string, string] } | undefined

function endOf(hour: string): string {
  return wholeSecond(fromTimestamp(`${hour}:00:00Z`) + HOUR_MS)
}
