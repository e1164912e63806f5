import {
  type Budget,
  type Budgets as AccountBudgets,
  subjectName,
} from '../../../domain/account/budgets.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { type Currency, parseAmount } from '../../../kernel/money.ts'
import { MAX_LAG_MS } from '../funds-exchange.ts'
import { TenantFunds } from '../tenant-funds.ts'
import { balanceUnknown } from '../tenant-queue.ts'
import { type Period, periodAt } from './spent.ts'

/** One budget in its present period, as this process knows it. */
export interface Running {
  readonly budget: Budget
  readonly tenantId: string
  readonly period: Period
  readonly funds: TenantFunds
}

/** Budgets in their present periods that this process knows. */
export class RunningBudgets {
  readonly #byKey = new Map<string, Running>()
  /** Soft budgets whose reaching was logged. */
  readonly #warned = new Set<string>()
  readonly #clock: Clock
  readonly #monotonic: Clock
  readonly #maxKnown: number

  constructor(clock: Clock, monotonic: Clock, maxKnown: number) {
    this.#clock = clock
    this.#monotonic = monotonic
    this.#maxKnown = maxKnown
  }

  get byKey(): ReadonlyMap<string, Running> {
    return this.#byKey
  }

  /** The budgets that bound a spender. @throws DomainError `database_unavailable` when too many are in use */
  applying(
    account: AccountBudgets | undefined,
    who: { readonly tenantId: string; readonly userId: string; readonly tokenId: string },
    currency: Currency,
  ): readonly Running[] {
    if (account === undefined || account.budgets.length === 0) return []
    const all = account.budgets.flatMap((budget) => {
      const { subject } = budget
      if (budget.currency !== currency) return []
      if (subject.kind === 'user' && subject.userId !== who.userId) return []
      if (subject.kind === 'token' && subject.tokenId !== who.tokenId) return []
      return [this.#runningOf(who.tenantId, account.timeZone, budget)]
    })
    // Adding one of them may have evicted another.
    for (const one of all) this.#byKey.set(one.funds.tenantId, one)
    return all
  }

  /** The amount spent of a soft budget that is reached, only the first time that this is asked. */
  newlyReachedPico({ budget: { soft, currency }, funds }: Running): bigint | undefined {
    if (soft === undefined) return undefined
    const spentPico = -funds.availablePico(currency)
    const name = `${funds.tenantId}\n${currency}\n${soft}`
    if (spentPico < parseAmount(soft) || this.#warned.has(name)) return undefined
    this.#warned.add(name)
    return spentPico
  }

  #runningOf(tenantId: string, timeZone: string, budget: Budget): Running {
    const { subject, period: kind } = budget
    const period = periodAt(kind, timeZone, this.#clock.nowMs())
    const key = `${tenantId}\n${subjectName(subject)}\n${period.fromMs}-${period.toMs}`
    const known = this.#byKey.get(key)
    // The amount left is computed from the budget's present terms.
    if (known !== undefined) return { ...known, budget }
    if (this.#byKey.size >= this.#maxKnown) {
      this.#forgetIdle()
      if (this.#byKey.size >= this.#maxKnown) throw balanceUnknown(undefined)
    }
    const made = { budget, tenantId, period, funds: new TenantFunds(key) }
    this.#byKey.set(key, made)
    return made
  }

  /** Forgets budgets without holds and without recent requests; budgets being read stay. */
  #forgetIdle(): void {
    const nowMs = this.#monotonic.nowMs()
    for (const [key, { funds }] of this.#byKey)
      if (funds.isIdle() && (funds.ageMs(nowMs) ?? 0) > MAX_LAG_MS) this.#byKey.delete(key)
    this.#warned.clear()
  }
}

/** The amount left of a hard budget; undefined when the budget has no hard bound. */
export function leftOf({ budget, funds }: Running): bigint | undefined {
  // `available` is negative: it is minus the amount spent.
  return budget.hard === undefined
    ? undefined
    : parseAmount(budget.hard) + funds.availablePico(budget.currency)
}

/** The first budget that does not cover a hold, by what this process knows. */
export function refusing(all: readonly Running[], holdPico: bigint): Running | undefined {
  return all.find((one) => {
    const leftPico = leftOf(one)
    return leftPico !== undefined && (leftPico < holdPico || leftPico <= 0n)
  })
}
