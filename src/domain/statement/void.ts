import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Currency } from '../../kernel/money.ts'
import { personKey } from '../account/approvals.ts'
import {
  type ApprovalOrigins,
  requireAnotherUser,
  requireIndependent,
} from '../account/independence.ts'
import { type Person, postingMembers } from '../account/postings.ts'
import type { StatementEvent, VoidProposed } from './events.ts'
import {
  type ClosedPeriod,
  type CurrencyPeriods,
  type EndedVoid,
  periodsIn,
  proposedFor,
  type StatementsState,
} from './periods.ts'

const HOUR_MS = 60 * 60 * 1_000

interface OfMonth {
  readonly currency: Currency
  /** `YYYY-MM`. */
  readonly month: string
  /** RFC 3339. */
  readonly at: string
}

/** Proposes to void a period. */
export interface ProposeVoid extends OfMonth {
  readonly kind: 'propose-void'
  readonly reason: string
  /** Undefined: a shell. */
  readonly by?: Person | undefined
  /** The proposal can be approved for so long. */
  readonly lapseHours: number
}

/** Voids a period that is proposed to be void. */
export interface ApproveVoid extends OfMonth {
  readonly kind: 'approve-void'
  /** Always a user by a token: a shell approves nothing. */
  readonly by: Person
  /** Who is behind its token and that of the proposer. */
  readonly origins: ApprovalOrigins
  /** When the proposal was made whose proposer `origins` names; undefined: any. */
  readonly proposedAt?: string | undefined
}

/** Ends a proposal; the period stands. */
export interface RejectVoid extends OfMonth {
  readonly kind: 'reject-void'
  readonly by?: Person | undefined
  readonly reason: string
}

/**
 * A proposal while another one is open changes nothing: the first one is decided.
 *
 * @throws DomainError `period_not_found`, `period_not_last`
 */
export function proposeVoid(
  command: ProposeVoid,
  state: StatementsState,
): readonly StatementEvent[] {
  const { reason, by, lapseHours, at } = command
  const periods = periodsIn(state, command.currency)
  const period = lastStanding(periods, command)
  const earlier = proposedFor(periods, period)
  if (earlier !== undefined && !isLapsed(earlier, at)) return []
  const data = {
    ...nameOf(period),
    reason,
    ...postingMembers({ by }),
    proposedAt: at,
    expiresAt: toTimestamp(fromTimestamp(at) + lapseHours * HOUR_MS),
  }
  return [{ type: 'VoidProposed', data }]
}

/**
 * A repetition by the same user decides to no event.
 *
 * @throws DomainError `period_not_found`, `period_not_last`, `void_not_proposed`, `proposal_own`,
 *   `proposal_expired`, `proposal_not_independent`
 */
export function approveVoid(
  command: ApproveVoid,
  state: StatementsState,
): readonly StatementEvent[] {
  const { by, origins, month, at } = command
  const periods = periodsIn(state, command.currency)
  const { ended, standing } = periods
  const isRepeated =
    ended?.event.type === 'PeriodVoided' &&
    ended.month === month &&
    personKey(ended.event.data.by) === personKey(by) &&
    !standing.some((period) => period.month === month)
  if (isRepeated) return []
  const period = lastStanding(periods, command)
  const proposal = requireProposed(periods, period)
  const { reason, by: proposedBy, proposedAt } = proposal
  if (command.proposedAt !== undefined && command.proposedAt !== proposedAt)
    throw new DomainError(
      'void_not_proposed',
      `the proposal to void ${period.statement} has lapsed, and another one was made: approve again`,
      { month },
    )
  const proposer = postingMembers({ by: proposedBy })
  const proposed = { proposalId: period.statement, ...proposer, proposedAt }
  requireAnotherUser(proposed, by)
  requireOpen(proposal, at)
  requireIndependent(proposed, by, origins, () => false)
  const data = { ...nameOf(period), reason, ...postingMembers({ proposedBy }), by, voidedAt: at }
  return [{ type: 'PeriodVoided', data }]
}

/**
 * A repetition by the same person with the same reason decides to no event.
 *
 * @throws DomainError `period_not_found`, `period_not_last`, `void_not_proposed`, `proposal_expired`
 */
export function rejectVoid(command: RejectVoid, state: StatementsState): readonly StatementEvent[] {
  const { by, reason, month, at } = command
  const periods = periodsIn(state, command.currency)
  const period = lastStanding(periods, command)
  const { ended } = periods
  const isRepeated =
    proposedFor(periods, period) === undefined &&
    ended?.event.type === 'VoidRejected' &&
    ended.month === month &&
    ended.event.data.reason === reason &&
    personKey(ended.event.data.by) === personKey(by)
  if (isRepeated) return []
  requireOpen(requireProposed(periods, period), at)
  const data = { ...nameOf(period), ...postingMembers({ by }), reason, rejectedAt: at }
  return [{ type: 'VoidRejected', data }]
}

/** A proposal to void a month, as it is at a time. */
export interface VoidStatus {
  readonly status: 'proposed' | 'lapsed' | 'voided' | 'rejected'
  readonly proposal: VoidProposed
  /** Undefined while it is open, and where it has lapsed. */
  readonly end: EndedVoid['event'] | undefined
}

/** The last proposal to void a month; undefined if there is none. */
export function voidStatusOf(
  state: StatementsState,
  { currency, month }: Pick<OfMonth, 'currency' | 'month'>,
  at: string,
): VoidStatus | undefined {
  const periods = periodsIn(state, currency)
  const period = periods.standing.find((one) => one.month === month)
  const proposal = period && proposedFor(periods, period)
  if (proposal !== undefined)
    return { status: isLapsed(proposal, at) ? 'lapsed' : 'proposed', proposal, end: undefined }
  const { ended } = periods
  if (ended?.month !== month) return undefined
  const status = ended.event.type === 'PeriodVoided' ? 'voided' : 'rejected'
  return { status, proposal: ended.proposal, end: ended.event }
}

/** The period of a month if no later one stands. @throws DomainError `period_not_found`, `period_not_last` */
function lastStanding(
  { standing }: CurrencyPeriods,
  { month, currency }: Pick<OfMonth, 'month' | 'currency'>,
): ClosedPeriod {
  const period = standing.find((one) => one.month === month)
  const last = standing.at(-1)
  if (period === undefined || last === undefined)
    throw new DomainError('period_not_found', `${month} is not closed in ${currency}`, {})
  if (period === last) return period
  throw new DomainError(
    'period_not_last',
    `${last.month} is closed after ${month} and begins with its closing balance: void ${last.month} first`,
    { month },
  )
}

/** The members of an event that name a close. */
function nameOf({ tenantId, currency, n, attempt, statement }: ClosedPeriod) {
  return { tenantId, currency, n, attempt, statement }
}

function isLapsed({ expiresAt }: VoidProposed, at: string): boolean {
  return fromTimestamp(at) >= fromTimestamp(expiresAt)
}

/** @throws DomainError `void_not_proposed` */
function requireProposed(periods: CurrencyPeriods, period: ClosedPeriod): VoidProposed {
  const proposal = proposedFor(periods, period)
  if (proposal !== undefined) return proposal
  const { statement, month } = period
  throw new DomainError('void_not_proposed', `no void of ${statement} is proposed`, { month })
}

/** @throws DomainError `proposal_expired` */
function requireOpen(proposal: VoidProposed, at: string): void {
  const { statement: proposalId, expiresAt } = proposal
  if (!isLapsed(proposal, at)) return
  throw new DomainError('proposal_expired', `the proposal lapsed at ${expiresAt}`, { proposalId })
}
