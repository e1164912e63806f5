import { Counter, type Registry } from 'prom-client'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import {
  type Budget,
  type Budgets as AccountBudgets,
  subjectName,
} from '../../../domain/account/budgets.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Log } from '../../../kernel/log.ts'
import { type Currency, formatAmount, parseAmount } from '../../../kernel/money.ts'
import { withTimeout } from '../../../kernel/pause.ts'
import type { AccountFacts } from '../../accounts/account-facts.ts'
import { RECHECK_AFTER_MS, RECHECK_WAIT_MS } from '../bounds.ts'
import type { Gauge } from '../gauge.ts'
import type { ReplicaGauges } from '../replica-gauges.ts'
import { reportSpending } from '../replica-reports.ts'
import { createReservations, type Reservation } from '../reservation.ts'
import { balanceUnavailable } from '../tenant-queue.ts'
import { type BudgetPeriod, periodAt, readSpentElsewhere } from './spent.ts'
import { budgetReached, type BudgetStatus, readBudgetStatuses } from './status.ts'

/**
 * Enforces budgets of a day or a month. A budget is reduced by settlements and by holds: of this
 * replica, of the other replicas and of open tasks. A request that holds more than is left is
 * refused before anything is sent.
 *
 * No call waits for a decision of all replicas. Each replica knows the ledger and its own holds,
 * and about once a second it reports its holds to the others and reads theirs. So together the
 * replicas exceed a budget at most by what each further one admits within two seconds: where
 * nothing was spent yet, at most the budget once more. They admit nothing more until the excess is
 * over. A tenant without budgets costs one look into memory.
 */
export interface Budgets {
  /**
   * Holds an amount against every budget of the spender; undefined when it has no budget.
   * @throws DomainError `budget_reached`, `database_unavailable` when the amount spent cannot be
   *   read
   */
  readonly reserve: (
    who: Spender,
    currency: Currency,
    holdPico: bigint,
  ) => Promise<Reservation | undefined>
  /** The status of the budgets of a token and of its user, by the ledger. */
  readonly statuses: (who: Spender) => Promise<readonly BudgetStatus[]>
}

interface Spender {
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
}

/** The budget of a gauge: one subject in one period. */
interface Budgeted extends BudgetPeriod {
  /** Soft amounts whose reaching was logged. */
  readonly warned: Set<string>
}

/** A budget that bounds a request, in its present period. */
interface Bound {
  readonly budget: Budget
  readonly gauge: Gauge<Budgeted>
}

/** Periods of subjects remembered; one without waiting requests and holds is evicted for another. */
const MAX_KNOWN = 10_000
/** Most of them reported and read in one exchange. */
const MAX_EXCHANGED = 200

interface BudgetDeps {
  readonly db: Queryable
  readonly facts: Pick<AccountFacts, 'of'>
  readonly gauges: Pick<ReplicaGauges, 'ofKind'>
  readonly clock: Clock
  readonly logger: Log
  readonly registry: Registry
  /** Periods of subjects remembered. */
  readonly maxKnown?: number
}

export function createBudgets(deps: BudgetDeps): Budgets {
  const { db, facts, clock, logger, registry, maxKnown = MAX_KNOWN } = deps
  const gauges = deps.gauges.ofKind<Budgeted>({
    report: reportSpending,
    read: readSpentElsewhere,
    maxKnown,
    maxExchanged: MAX_EXCHANGED,
  })
  const { noteSoft, countHard } = reports(logger, registry)
  const boundOf = (tenantId: string, timeZone: string, budget: Budget): Bound => {
    const { subject, period: kind } = budget
    const period = periodAt(kind, timeZone, clock.nowMs())
    const key = `${tenantId}\n${subjectName(subject)}\n${period.fromMs}-${period.toMs}`
    const gauge = gauges.of(key, { tenantId, subject, period, warned: new Set() })
    // The remaining amount is computed from the budget's current terms.
    return { budget, gauge }
  }
  /** Checks and holds in one synchronous step. @throws DomainError `budget_reached` */
  const place = (all: readonly Bound[], currency: Currency, holdPico: bigint): Reservation => {
    // A budget that was never read must not count as unspent.
    if (all.some(({ gauge }) => gauge.ageMs() === Infinity)) throw balanceUnavailable(undefined)
    for (const one of all) noteSoft(one)
    const refused = refusing(all, holdPico)
    if (refused !== undefined) {
      countHard(refused)
      const { budget, gauge } = refused
      throw budgetReached(budget, gauge.about.period, holdPico, leftOf(refused) ?? 0n)
    }
    const reserved = createReservations()
    for (const { gauge } of all) reserved.add(gauge.place(currency, holdPico))
    return reserved
  }

  return {
    reserve: async (who, currency, holdPico) => {
      const account = (await facts.of(who.tenantId)).budgets
      const budgets = bounding(account, who, currency)
      if (account === undefined || budgets.length === 0) return undefined
      const finds = budgets.map((budget) => () => boundOf(who.tenantId, account.timeZone, budget))
      return usingAll(finds, async (all) => {
        await Promise.all(all.flatMap(({ gauge }) => gauges.makeKnown(gauge) ?? []))
        const refused = refusing(all, holdPico)
        if (refused !== undefined && refused.gauge.ageMs() > RECHECK_AFTER_MS) {
          const read = gauges.reportAndRead(all.map(({ gauge }) => gauge))
          if (!gauges.isValid(refused.gauge)) await read
          else await withTimeout(RECHECK_WAIT_MS, read, () => undefined)
        }
        return place(all, currency, holdPico)
      })
    },
    statuses: async ({ tenantId, userId, tokenId }) => {
      const account = (await facts.of(tenantId)).budgets
      if (account === undefined) return []
      const own = account.budgets.filter(
        ({ subject }) =>
          (subject.kind === 'user' && subject.userId === userId) ||
          (subject.kind === 'token' && subject.tokenId === tokenId),
      )
      if (own.length === 0) return []
      const asked = { ...account, budgets: own }
      return (await readBudgetStatuses(db, tenantId, asked, clock.nowMs())).budgets
    },
  }
}

/** The budgets that bound a spender. */
function bounding(
  account: AccountBudgets | undefined,
  who: Spender,
  currency: Currency,
): readonly Budget[] {
  if (account === undefined || account.budgets.length === 0) return []
  return account.budgets.filter((budget) => {
    const { subject } = budget
    if (budget.currency !== currency) return false
    if (subject.kind === 'user') return subject.userId === who.userId
    return subject.kind === 'tenant' || subject.tokenId === who.tokenId
  })
}

/**
 * Works with all of them while none may be evicted: each is in use before the next is found, which
 * may evict one.
 */
function usingAll<Value>(
  finds: readonly (() => Bound)[],
  work: (all: readonly Bound[]) => Promise<Value>,
): Promise<Value> {
  const next = async (all: readonly Bound[]): Promise<Value> => {
    const find = finds[all.length]
    if (find === undefined) return work(all)
    const one = find()
    return one.gauge.use(() => next([...all, one]))
  }
  return next([])
}

/** The amount left of a hard budget; undefined when the budget has no hard bound. */
function leftOf({ budget, gauge }: Bound): bigint | undefined {
  // `available` is negative: it is minus the amount spent.
  return budget.hard === undefined
    ? undefined
    : parseAmount(budget.hard) + gauge.available(budget.currency)
}

/** The first budget that does not cover a hold, by the knowledge of this process. */
function refusing(all: readonly Bound[], holdPico: bigint): Bound | undefined {
  return all.find((one) => {
    const leftPico = leftOf(one)
    return leftPico !== undefined && (leftPico < holdPico || leftPico <= 0n)
  })
}

/** Counts budgets that are reached, and warns of a soft one once. */
function reports(logger: Log, registry: Registry) {
  const reached = new Counter({
    name: 'tollgate_budgets_reached_total',
    help: 'Requests refused by a hard budget, and soft budgets reached in a period, by subject.',
    labelNames: ['budget', 'subject'],
    registers: [registry],
  })
  return {
    countHard: ({ budget }: Bound): void =>
      reached.inc({ budget: 'hard', subject: budget.subject.kind }),
    noteSoft: ({ budget, gauge }: Bound): void => {
      const { soft, currency, subject, period } = budget
      if (soft === undefined) return
      const { tenantId, warned } = gauge.about
      const spentPico = -gauge.available(currency)
      const warning = `${currency} ${soft}`
      if (spentPico < parseAmount(soft) || warned.has(warning)) return
      warned.add(warning)
      reached.inc({ budget: 'soft', subject: subject.kind })
      const spent = formatAmount(spentPico)
      logger.warn({ tenantId, subject, period, currency, soft, spent }, 'a soft budget is reached')
    },
  }
}
