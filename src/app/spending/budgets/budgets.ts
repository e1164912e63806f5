import type { Pool } from 'pg'
import { Counter, type Registry } from 'prom-client'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Log } from '../../../kernel/log.ts'
import { type Currency, formatAmount } from '../../../kernel/money.ts'
import type { AccountFacts } from '../../accounts/account-facts.ts'
import { FundsExchange } from '../funds-exchange.ts'
import { balanceUnknown } from '../tenant-queue.ts'
import { leftOf, refusing, type Running, RunningBudgets } from './running.ts'
import type { Spendable } from '../spendable.ts'
import { createReservations, type Reservation } from '../reservation.ts'
import { usingAll } from '../tenant-funds.ts'
import { spentReader } from './spent.ts'
import { budgetReached, standing, type BudgetStatus } from './standing.ts'
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
  readonly budgetStatuses: (who: Spender) => Promise<readonly BudgetStatus[]>
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

interface BudgetDeps {
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
}

export function createBudgets(deps: BudgetDeps): Budgets {
  const { pool, facts, replica, clock, monotonic, logger, registry, maxKnown = MAX_KNOWN } = deps
  const running = new RunningBudgets(clock, monotonic, maxKnown)
  const exchange = new FundsExchange({
    pool,
    replica,
    clock: monotonic,
    read: (db, keys) => readKeys(db, keys, running.byKey, replica),
  })
  const { noteSoft, countHard } = reports(running, logger, registry)
  /** Checks and holds in one synchronous step. @throws DomainError `budget_reached` */
  const placed = (all: readonly Running[], currency: Currency, holdPico: bigint): Reservation => {
    // A budget that was never read must not count as unspent.
    if (all.some(({ funds }) => funds.ageMs(monotonic.nowMs()) === undefined))
      throw balanceUnknown(undefined)
    for (const one of all) noteSoft(one)
    const refused = refusing(all, holdPico)
    if (refused !== undefined) {
      countHard(refused)
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
      const all = running.applying((await facts.of(who.tenantId)).budgets, who, currency)
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
    budgetStatuses: async ({ tenantId, userId, tokenId }) => {
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
      const active = [...running.byKey.values()].flatMap(({ funds }) =>
        funds.isIdle() ? [] : [funds],
      )
      if (spool !== undefined) for (const funds of active) funds.keepUnplaced(monotonic.nowMs())
      for (let at = 0; at < active.length; at += MAX_EXCHANGED)
        await exchange.tellAndRead(active.slice(at, at + MAX_EXCHANGED))
    },
  }
}

/** Counts budgets that are reached, and warns of a soft one once. */
function reports(running: RunningBudgets, logger: Log, registry: Registry) {
  const reached = new Counter({
    name: 'tollgate_budgets_reached_total',
    help: 'Requests refused by a hard budget, and soft budgets reached in a period, by whose they are.',
    labelNames: ['budget', 'subject'],
    registers: [registry],
  })
  return {
    countHard: ({ budget }: Running): void =>
      reached.inc({ budget: 'hard', subject: budget.subject.kind }),
    noteSoft: (one: Running): void => {
      const spentPico = running.newlyReachedPico(one)
      if (spentPico === undefined) return
      const { tenantId, budget } = one
      const { soft, currency, subject, period } = budget
      reached.inc({ budget: 'soft', subject: subject.kind })
      const spent = formatAmount(spentPico)
      logger.warn({ tenantId, subject, period, currency, soft, spent }, 'a soft budget is reached')
    },
  }
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
