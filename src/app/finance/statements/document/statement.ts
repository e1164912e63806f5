import { apportion } from '../../../../kernel/apportion.ts'
import { formatAmount, parseAmount } from '../../../../kernel/money.ts'
import type { PeriodFigures, PeriodOf } from '../types.ts'

/** A closed month as people read it. Everything follows from the close, so it is the same whenever it is asked for. */

/** Decimals of the minor unit of both currencies (ISO 4217). */
const MINOR_DIGITS = 2
const MINOR_PICO = 10n ** BigInt(12 - MINOR_DIGITS)

/** Movements that are not usage, in the order in which a statement has them. */
export const creditKinds = [
  'granted_paid',
  'granted_promotional',
  'adjusted_usage',
  'adjusted_grants',
  'expired',
] as const
export type CreditKind = (typeof creditKinds)[number]

export interface StatementRow {
  readonly kind: 'usage' | CreditKind
  /** SKU of usage; otherwise the kind again. */
  readonly key: string
  readonly quantity: number | null
  readonly unit: string | null
  /** Exact decimal, signed as the balance sees it. */
  readonly exact: string
  /** The amount in whole cents. */
  readonly shown: string
}

/** The refunds of a month for the lines of one statement. */
export interface CreditNote {
  /** `<number>-CN-<month>`; null where the lines are of this month, or of none that was closed. */
  readonly number: string | null
  /** The statement that has the refunded lines. */
  readonly statement: string | null
  readonly exact: string
  readonly shown: string
  readonly postings: number
}

export interface Statement {
  readonly opening: string
  readonly closing: string
  readonly exact: { readonly opening: string; readonly closing: string }
  readonly rows: readonly StatementRow[]
  /** In the order of the event; their amounts add up to the row `adjusted_usage`. */
  readonly creditNotes: readonly CreditNote[]
}

/** Writes minor units as a decimal with both of its digits. */
function inUnits(minor: bigint): string {
  const text = (minor < 0n ? -minor : minor).toString().padStart(MINOR_DIGITS + 1, '0')
  return `${minor < 0n ? '-' : ''}${text.slice(0, -MINOR_DIGITS)}.${text.slice(-MINOR_DIGITS)}`
}

type ExactRow = Omit<StatementRow, 'shown'>

/** Every row of a close: usage by SKU, then the other movements that are not zero. */
function exactRows({ sums, granted, adjusted, expired }: PeriodFigures): readonly ExactRow[] {
  const amounts: Readonly<Record<CreditKind, string>> = {
    granted_paid: granted.paid,
    granted_promotional: granted.promotional,
    adjusted_usage: adjusted.usage,
    adjusted_grants: adjusted.grants,
    expired,
  }
  const usage = sums.map(({ sku, unit, quantity, amount }) => {
    const exact = formatAmount(-parseAmount(amount))
    return { kind: 'usage' as const, key: sku, quantity, unit, exact }
  })
  const credits = creditKinds
    .filter((kind) => amounts[kind] !== '0')
    .map((kind) => ({ kind, key: kind, quantity: null, unit: null, exact: amounts[kind] }))
  return [...usage, ...credits]
}

/** Shows parts so that they add up to a total, which is their sum rounded down or up. */
function shareOut(total: bigint, parts: Parameters<typeof apportion>[1]): readonly bigint[] {
  const sumPico = parts.reduce((sum, { amountPico }) => sum + amountPico, 0n)
  // Balances are rounded by floor(x + ½): from -½ every sum is rounded down, from just below ½ it is rounded up.
  const half = MINOR_PICO / 2n
  return apportion(total * MINOR_PICO > sumPico ? half - 1n : -half, parts, MINOR_PICO).movements
}

function creditNotesOf({ refunds, month }: PeriodOf, total: bigint): readonly CreditNote[] {
  const parts = refunds.map(({ statement, amount }) => {
    return { key: statement ?? '', amountPico: parseAmount(amount) }
  })
  const shown = shareOut(total, parts)
  return refunds.map(({ statement, amount: exact, postings }, index) => {
    const number = statement === null ? null : `${statement}-CN-${month}`
    return { number, statement, exact, shown: inUnits(shown[index] ?? 0n), postings }
  })
}

/** Works a statement out of its close: opening + rows = closing to the shown cent. */
export function statementOf(period: PeriodOf): Statement {
  const { opening, closing } = period
  const rows = exactRows(period)
  const movements = rows.map(({ kind, key, exact }) => {
    return { key: `${kind} ${key}`, amountPico: parseAmount(exact) }
  })
  const shown = apportion(parseAmount(opening), movements, MINOR_PICO)
  const refunded = rows.findIndex(({ kind }) => kind === 'adjusted_usage')
  return {
    opening: inUnits(shown.opening),
    closing: inUnits(shown.closing),
    exact: { opening, closing },
    rows: rows.map((row, n) => ({ ...row, shown: inUnits(shown.movements[n] ?? 0n) })),
    creditNotes: creditNotesOf(period, shown.movements[refunded] ?? 0n),
  }
}

/** Adds amounts in whole cents, as rows show them. */
export function sumShown(rows: readonly Pick<StatementRow, 'shown'>[]): string {
  const minor = rows.reduce((sum, { shown }) => sum + parseAmount(shown) / MINOR_PICO, 0n)
  return inUnits(minor)
}
