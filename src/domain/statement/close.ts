import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import type { PeriodClosed, StatementEvent } from './events.ts'
import { movedPico, nextPeriod, periodsIn, type StatementsState } from './periods.ts'

const HOUR_MS = 60 * 60 * 1_000

/** Closes a month; `data` has the members that `nextPeriod` gives, and the time of the request. */
export interface ClosePeriod {
  readonly kind: 'close'
  readonly data: PeriodClosed
  /** Hours after the end of the month before it may be closed. */
  readonly graceHours: number
}

/**
 * A month that stands is not closed again, whatever its figures: of two closes at once, one counts.
 *
 * @throws DomainError `period_not_next`, `period_not_over`, `period_position`, `period_sum`
 */
export function closePeriod(
  { data, graceHours }: ClosePeriod,
  state: StatementsState,
): readonly StatementEvent[] {
  const { currency, month, from, to, position, closedAt } = data
  const { standing } = periodsIn(state, currency)
  if (standing.some((period) => period.month === month)) return []
  requireNext(data, state)
  const endMs = fromTimestamp(to)
  const closableMs = endMs + graceHours * HOUR_MS
  if (fromTimestamp(closedAt) < closableMs)
    refuse(data, 'period_not_over', `${month} can be closed from ${toTimestamp(closableMs)} on`)
  const last = standing.at(-1)
  if (fromTimestamp(from) >= endMs)
    refuse(data, 'period_position', `${month} begins at ${from} and ends at ${to}`)
  if (last !== undefined && BigInt(position) < BigInt(last.position))
    refuse(
      data,
      'period_position',
      `the ledger is at ${position}, and ${last.month} was closed at ${last.position}: close again when it has caught up`,
    )
  requireSum(data)
  return [{ type: 'PeriodClosed', data }]
}

function refuse(
  { month }: PeriodClosed,
  code: 'period_not_next' | 'period_not_over' | 'period_position' | 'period_sum',
  message: string,
): never {
  throw new DomainError(code, message, { month })
}

/** A close counts only if it follows the last one that stands. */
function requireNext(data: PeriodClosed, state: StatementsState): void {
  const { currency, month, n, attempt, statement, from, previous, opening } = data
  const next = nextPeriod(state, currency, '', { month, from })
  if (month !== next.month)
    refuse(
      data,
      'period_not_next',
      `${next.month} comes next in ${currency}: months are closed in their order`,
    )
  const isNext =
    n === next.n &&
    attempt === next.attempt &&
    statement.endsWith(next.statement) &&
    from === next.from &&
    previous?.n === next.previous?.n &&
    previous?.root === next.previous?.root
  if (!isNext)
    refuse(
      data,
      'period_not_next',
      'another period of the tenant was closed or voided in the meantime: close again',
    )
  if (parseAmount(opening) !== parseAmount(next.opening))
    refuse(
      data,
      'period_sum',
      `${month} begins with ${opening} ${currency}, and the month before ended with ${next.opening}`,
    )
}

function requireSum(data: PeriodClosed): void {
  const { month, opening, closing, currency } = data
  const sumPico = parseAmount(opening) + movedPico(data)
  if (sumPico !== parseAmount(closing))
    refuse(
      data,
      'period_sum',
      `${month} adds up to ${formatAmount(sumPico)} ${currency}, and its closing balance is ${closing}`,
    )
}
