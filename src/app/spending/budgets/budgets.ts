import type { Pool } from 'pg'
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
import type { AccountFacts } from '../../accounts/account-facts.ts'
import { FundsExchange, MAX_LAG_MS } from '../funds-exchange.ts'
import { balanceUntold } from '../tenant-queue.ts'
import type { Spendable } from '../spendable.ts'
import { createReservations, type Reservation } from '../reservation.ts'
import { TenantFunds, usingAll } from '../tenant-funds.ts'
import { type Period, periodAt, spentReader } from './spent.ts'
import { budgetReached, standing, type StandingBudget } from './standing.ts'
import { readTold } from './told.ts'

/**
 * How much may be spent in a day or a month. A budget is reduced by settlements and by holds: of
 * this replica, of the other replicas and of open tasks. A request that holds more than is left is
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
  readonly standings: (who: Spender) => Promise<readonly StandingBudget[]>
  /** Reports and reads all holds. `spool` names where settlements wait for the log, if any do. */
  readonly exchange: (spool?: string) => Promise<void>
}

interface Spender {
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
}

/** Before a request is refused, a reading older than this is refreshed. */
const RECHECK_AFTER_MS = 100
/** Periods of subjects remembered; those without waiting calls and holds are forgotten first. */
const MAX_KNOWN = 10_000
/** Most keys reported and read in one exchange. */
const MAX_EXCHANGED = 200

/** One budget in its present period, as this process knows it. */
interface Running {
  readonly budget: Budget
  readonly tenantId: string
  readonly period: Period
  readonly funds: TenantFunds
}

export function createBudgets(deps: {
  readonly pool: Pool
  readonly facts: Pick<AccountFacts, 'of'>
  /** Names this process among those that share the database; no other process ever has it. */
  readonly replica: string
  readonly clock: Clock
  readonly monotonic: Clock
  readonly logger: Log
  readonly registry: Registry
  /** Periods of subjects remembered. */
  readonly maxKnown?: number
}): Budgets {
  const { pool, facts, replica, clock, monotonic, logger, registry, maxKnown = MAX_KNOWN } = deps
  const running = new Map<string, Running>()
  const exchange = new FundsExchange({
    pool,
    replica,
    clock: monotonic,
    read: (db, keys) => readKeys(db, keys, running, replica),
  })
  const reached = new Counter({
    name: 'tollgate_budgets_reached_total',
    help: 'Requests refused by a hard budget, and soft budgets reached in a period, by whose they are.',
    labelNames: ['budget', 'subject'],
    registers: [registry],
  })
  const said = new Set<string>()

  const runningOf = (tenantId: string, timeZone: string, budget: Budget): Running => {
    const { subject, period: kind } = budget
    const period = periodAt(kind, timeZone, clock.nowMs())
    const key = `${tenantId}\n${subjectName(subject)}\n${period.fromMs}-${period.toMs}`
    const known = running.get(key)
    // The amount left is computed from the budget's present terms.
    if (known !== undefined) return { ...known, budget }
    if (running.size >= maxKnown) {
      forgetIdle(running, said, monotonic.nowMs())
      if (running.size >= maxKnown) throw balanceUntold(undefined)
    }
    const made = { budget, tenantId, period, funds: new TenantFunds(key) }
    running.set(key, made)
    return made
  }
  const applying = (
    account: AccountBudgets | undefined,
    { tenantId, userId, tokenId }: Spender,
    currency: Currency,
  ): readonly Running[] => {
    if (account === undefined || account.budgets.length === 0) return []
    const all = account.budgets.flatMap((budget) => {
      const { subject } = budget
      if (budget.currency !== currency) return []
      if (subject.kind === 'user' && subject.userId !== userId) return []
      if (subject.kind === 'token' && subject.tokenId !== tokenId) return []
      return [runningOf(tenantId, account.timeZone, budget)]
    })
    // Adding one of them may have evicted another.
    for (const one of all) running.set(one.funds.tenantId, one)
    return all
  }
  const noteSoft = ({ budget, tenantId, funds }: Running): void => {
    const { soft, currency, subject, period } = budget
    if (soft === undefined) return
    const spentPico = -funds.availablePico(currency)
    const name = `${funds.tenantId}\n${currency}\n${soft}`
    if (spentPico < parseAmount(soft) || said.has(name)) return
    said.add(name)
    reached.inc({ budget: 'soft', subject: subject.kind })
    const spent = formatAmount(spentPico)
    logger.warn({ tenantId, subject, period, currency, soft, spent }, 'a soft budget is reached')
  }
  /** The first budget that does not cover a hold, by what this process knows. */
  const refusing = (all: readonly Running[], holdPico: bigint) =>
    all.find((one) => {
      const leftPico = leftOf(one)
      return leftPico !== undefined && (leftPico < holdPico || leftPico <= 0n)
    })
  /** Checks and holds in one synchronous step. @throws DomainError `budget_reached` */
  const placed = (all: readonly Running[], currency: Currency, holdPico: bigint): Reservation => {
    // A budget that was never read must not count as unspent.
    if (all.some(({ funds }) => funds.ageMs(monotonic.nowMs()) === undefined))
      throw balanceUntold(undefined)
    for (const one of all) noteSoft(one)
    const refused = refusing(all, holdPico)
    if (refused !== undefined) {
      reached.inc({ budget: 'hard', subject: refused.budget.subject.kind })
      throw budgetReached(refused.budget, refused.period, holdPico, leftOf(refused) ?? 0n)
    }
    const nowMs = (): number => monotonic.nowMs()
    const reserved = createReservations()
    for (const { funds } of all) reserved.add(funds.place(currency, holdPico, nowMs))
    return reserved
  }

  return {
    reserve: async (who, currency, holdPico) => {
      // Used as soon as they are found, so none is evicted in between.
      const all = applying((await facts.of(who.tenantId)).budgets, who, currency)
      if (all.length === 0) return undefined
      const allFunds = all.map(({ funds }) => funds)
      return usingAll(allFunds, async () => {
        await Promise.all(allFunds.map((funds) => exchange.makeKnown(funds)))
        const first = refusing(all, holdPico)
        if ((first?.funds.ageMs(monotonic.nowMs()) ?? 0) > RECHECK_AFTER_MS)
          await exchange.tellAndRead(allFunds)
        return placed(all, currency, holdPico)
      })
    },
    standings: async ({ tenantId, userId, tokenId }) => {
      const account = (await facts.of(tenantId)).budgets
      if (account === undefined) return []
      const own = account.budgets.filter(
        ({ subject }) =>
          (subject.kind === 'user' && subject.userId === userId) ||
          (subject.kind === 'token' && subject.tokenId === tokenId),
      )
      if (own.length === 0) return []
      return (await standing(pool, tenantId, { ...account, budgets: own }, clock.nowMs())).budgets
    },
    exchange: async (spool) => {
      exchange.settlementsWaitIn(spool)
      const active = [...running.values()].flatMap(({ funds }) => (funds.isIdle() ? [] : [funds]))
      if (spool !== undefined) for (const funds of active) funds.keepUnplaced(monotonic.nowMs())
      for (let at = 0; at < active.length; at += MAX_EXCHANGED)
        await exchange.tellAndRead(active.slice(at, at + MAX_EXCHANGED))
    },
  }
}

/** The amount left of a hard budget; undefined when the budget has no hard bound. */
function leftOf({ budget, funds }: Running): bigint | undefined {
  // `available` is negative: it is minus the amount spent.
  return budget.hard === undefined
    ? undefined
    : parseAmount(budget.hard) + funds.availablePico(budget.currency)
}

/** Forgets budgets without holds and without recent requests; budgets being read stay. */
function forgetIdle(running: Map<string, Running>, said: Set<string>, nowMs: number): void {
  for (const [key, { funds }] of running)
    if (funds.isIdle() && (funds.ageMs(nowMs) ?? 0) > MAX_LAG_MS) running.delete(key)
  said.clear()
}

/** Reads the amount spent of each key, negative: ledger, open tasks and other replicas. */
async function readKeys(
  db: Queryable,
  keys: readonly string[],
  running: ReadonlyMap<string, Running>,
  replica: string,
): Promise<ReadonlyMap<string, Spendable>> {
  const spentIn = spentReader(db)
  // Reports are read before the ledger: a settlement that has left the reports by then is in the
  // ledger.
  const told = await readTold(db, keys, replica)
  const inLedger = await Promise.all(
    keys.map(async (key) => {
      const one = running.get(key)
      return one && ([key, one, await spentIn(one.tenantId, one.period)] as const)
    }),
  )
  const found = new Map<string, Spendable>()
  for (const entry of inLedger) {
    if (entry === undefined) continue
    const [key, { budget }, ledger] = entry
    const { position } = ledger
    const available = new Map<Currency, bigint>()
    const take = (currency: Currency, amountPico: bigint): void =>
      void available.set(currency, (available.get(currency) ?? 0n) - amountPico)
    for (const [currency, amountPico] of ledger.of(budget.subject)) take(currency, amountPico)
    for (const each of told.get(key) ?? []) {
      const isClosed = each.closed !== undefined && each.closed <= position
      const isIn =
        (each.position !== undefined && each.position <= position) || (isClosed && !each.isSpooled)
      take(each.currency, (isClosed ? 0n : each.heldPico) + (isIn ? 0n : each.settledPico))
    }
    found.set(key, { available, position })
  }
  return found
}
