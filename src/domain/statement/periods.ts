import { type Currency, parseAmount } from '../../kernel/money.ts'
import type { PeriodClosed, StatementEvent, VoidProposed } from './events.ts'

/**
 * Closed months of one tenant. A posting is in a period if it is dated before the end of the period
 * and the ledger had it at the position of the period, unless both were so of the period before.
 */

/** Digits of the count in the number of a statement; it grows longer after 9,999 closes. */
const NUMBER_DIGITS = 4

/** A close without the rows of its statement, which no decision needs. */
export type ClosedPeriod = Omit<PeriodClosed, 'sums' | 'refunds'>

/** The periods of one currency. */
export interface CurrencyPeriods {
  /** Closes that are not voided, in order. */
  readonly standing: readonly ClosedPeriod[]
  /** How often each month was closed, by its number. */
  readonly attempts: Readonly<Record<number, number>>
  /** The last proposal to void a period that has not ended; it may have lapsed. */
  readonly proposed?: VoidProposed | undefined
  /** The end of the last proposal. */
  readonly ended?: EndedVoid | undefined
}

/** A proposal to void a period that was approved or rejected. */
export interface EndedVoid {
  readonly month: string
  readonly proposal: VoidProposed
  readonly event: Extract<StatementEvent, { readonly type: 'PeriodVoided' | 'VoidRejected' }>
}

export interface StatementsState {
  /** Closes in every currency, the voided ones included. */
  readonly closes: number
  readonly currencies: { readonly [One in Currency]?: CurrencyPeriods }
}

export const noStatements: StatementsState = { closes: 0, currencies: {} }

/** The members of the next close that follow from earlier ones. */
export type NextPeriod = Pick<
  PeriodClosed,
  'n' | 'attempt' | 'statement' | 'month' | 'from' | 'opening' | 'previous'
>

export function periodsIn({ currencies }: StatementsState, currency: Currency): CurrencyPeriods {
  return currencies[currency] ?? { standing: [], attempts: {} }
}

/** The month after one, `YYYY-MM`. */
export function monthAfter(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return number === 12 ? `${year + 1}-01` : `${year}-${String(number + 1).padStart(2, '0')}`
}

/** The month before one, `YYYY-MM`. */
export function monthBefore(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return number === 1 ? `${year - 1}-12` : `${year}-${String(number - 1).padStart(2, '0')}`
}

/**
 * The next period of a currency. It begins where the last one ended, which is never worked out again:
 * after a change of the time zone, no hour is in two months or in none.
 *
 * @param numberPrefix that of the tenant's billing profile
 * @param first the month in which the tenant was opened, for a currency without a standing period
 */
export function nextPeriod(
  state: StatementsState,
  currency: Currency,
  numberPrefix: string,
  first: Pick<PeriodClosed, 'month' | 'from'>,
): NextPeriod {
  const { standing, attempts } = periodsIn(state, currency)
  const last = standing.at(-1)
  const n = (last?.n ?? 0) + 1
  // The count is of all closes of the tenant: no number is missing, and none is used twice.
  const count = String(state.closes + 1).padStart(NUMBER_DIGITS, '0')
  const names = { n, attempt: (attempts[n] ?? 0) + 1, statement: `${numberPrefix}-${count}` }
  if (last === undefined) return { ...names, month: first.month, from: first.from, opening: '0' }
  const { month, to: from, closing: opening, root } = last
  return { ...names, month: monthAfter(month), from, opening, previous: { n: last.n, root } }
}

/** The sum of the figures of a period, which is added to the balance, in pico. */
export function movedPico({
  granted,
  adjusted,
  expired,
  settled,
}: Pick<PeriodClosed, 'granted' | 'adjusted' | 'expired' | 'settled'>): bigint {
  const amounts = [granted.paid, granted.promotional, adjusted.usage, adjusted.grants]
  return [...amounts, expired, settled].reduce((sum, amount) => sum + parseAmount(amount), 0n)
}

/** The proposal to void a period, which may have lapsed. */
export function proposedFor(
  { proposed }: CurrencyPeriods,
  { n, attempt }: Pick<ClosedPeriod, 'n' | 'attempt'>,
): VoidProposed | undefined {
  return proposed?.n === n && proposed.attempt === attempt ? proposed : undefined
}

/** The closes of a tenant after an event. */
export function statementsAfter(state: StatementsState, event: StatementEvent): StatementsState {
  const { currency } = event.data
  const closes = state.closes + (event.type === 'PeriodClosed' ? 1 : 0)
  const periods = periodsAfter(periodsIn(state, currency), event)
  return { closes, currencies: { ...state.currencies, [currency]: periods } }
}

function periodsAfter(periods: CurrencyPeriods, event: StatementEvent): CurrencyPeriods {
  const { standing, attempts } = periods
  if (event.type === 'PeriodClosed') {
    const { sums: _sums, refunds: _refunds, ...period } = event.data
    const { n, attempt } = period
    return { ...periods, standing: [...standing, period], attempts: { ...attempts, [n]: attempt } }
  }
  const { n, attempt } = event.data
  const period = standing.find((one) => one.n === n && one.attempt === attempt)
  if (period === undefined) return periods
  if (event.type === 'VoidProposed') return { ...periods, proposed: event.data }
  const proposal = proposedFor(periods, period)
  const ended = proposal && { month: period.month, proposal, event }
  const after = { ...periods, proposed: undefined, ended }
  if (event.type === 'VoidRejected') return after
  return { ...after, standing: standing.filter((one) => one !== period) }
}
