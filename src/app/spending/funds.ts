import type { Pool } from 'pg'
import { spoolEmptied } from './call-spending.ts'
import type { LedgerLag } from './ledger-lag.ts'
import { balanceUntold, createTenantQueue } from './tenant-queue.ts'
import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Currency } from '../../kernel/money.ts'
import { pause, within } from '../../kernel/pause.ts'
import { type Asked, FundsExchange, MAX_LAG_MS, refusalOf } from './funds-exchange.ts'
import type { Reservation } from './reservation.ts'
import { TenantFunds } from './tenant-funds.ts'

/**
 * Whether a tenant can pay for a call, without a database in the way of every call. A process holds
 * against the balance it read a moment ago, less what its own calls have spoken for. About once a
 * second it tells the other replicas what that is and reads what is left when they and the tasks
 * have theirs. Between two such exchanges it admits at most one part in `UNTOLD_PART` of what it
 * found; a call beyond that is decided under the lock that tasks are decided under, told of in the
 * same transaction.
 *
 * So each replica but one can hold, unseen by the others, one such part, and another while a decision
 * under the lock is on its way: together they hold at most 2 ÷ `UNTOLD_PART` of what was available
 * too much for every further replica (a task admitted at the same time counts as one). Beyond that
 * goes only what calls in flight cost more than their holds.
 */
export interface Funds {
  /**
   * Holds an amount until its reservation ends.
   * @throws DomainError `insufficient_balance` (details: currency, hold, available),
   *   `database_unavailable` or `read_model_behind` when the balance cannot be told
   */
  readonly reserve: (tenantId: string, currency: Currency, holdPico: bigint) => Promise<Reservation>
  /**
   * Tells and learns of every tenant with calls, and looks how far the ledger is behind. `spool` names
   * where settlements wait for the log, if any do. @throws what the database throws; told again then
   */
  readonly exchange: (spool?: string) => Promise<void>
  /** All that ever waited in a spool of this name is in the log. @throws what the database throws */
  readonly spoolEmptied: (spool: string) => Promise<void>
  /** Tells at once what calls of these tenants hold here. @throws what the database throws */
  readonly tell: (tenantIds: readonly string[]) => Promise<void>
}

export interface FundsDeps {
  readonly pool: Pool
  /** Names this process among those that share the database, and no other at any time. */
  readonly replica: string
  readonly lag: LedgerLag
  /** Only durations are taken from it, so it should never be set back. */
  readonly clock: Clock
  /** Tenants remembered. */
  readonly maxTenants?: number
}

/** Before somebody is refused, a balance, or a lag, older than this is looked at again. */
const RECHECK_AFTER_MS = 100
/** Whoever is about to be refused for the ledger's lag waits at most this long for a further look. */
const LOOK_WAIT_MS = 1_000
/** Tenants remembered; one that no call waits for, and that nothing is held of, gives way to another. */
const MAX_TENANTS = 10_000
/** Tenants told and learnt of in one go. */
const MAX_EXCHANGED = 1_000

export function createFunds({
  pool,
  replica,
  lag,
  clock,
  maxTenants = MAX_TENANTS,
}: FundsDeps): Funds {
  const tenants = new KnownTenants(maxTenants)
  const exchange = new FundsExchange({ pool, replica, clock })
  const decided = createTenantQueue<Asked>(pool, {
    decide: (client, batch) => exchange.decide(client, batch),
  })
  const watch = createWatch(lag, clock)

  const holdUnderLock = async (asked: Asked): Promise<Reservation> => {
    try {
      await decided(asked)
    } catch (error) {
      asked.hold?.release('not_started')
      throw error
    }
    if (asked.hold === undefined || asked.telling === undefined) throw balanceUntold(undefined)
    // Not before it was committed.
    asked.funds.exchanged(asked.telling)
    return asked.hold
  }

  const holdIn = async (
    funds: TenantFunds,
    currency: Currency,
    holdPico: bigint,
  ): Promise<Reservation> => {
    await exchange.makeKnown(funds)
    if (funds.isSmall(currency, holdPico))
      return funds.place(currency, holdPico, () => clock.nowMs())
    const asked: Asked = { tenantId: funds.tenantId, currency, funds, holdPico }
    const isRecent = (funds.ageMs(clock.nowMs()) ?? Infinity) < RECHECK_AFTER_MS
    const refusal = isRecent ? refusalOf(funds, asked) : undefined
    if (refusal !== undefined) throw refusal
    return holdUnderLock(asked)
  }

  return {
    reserve: async (tenantId, currency, holdPico) => {
      await watch.refuseBehind()
      const funds = tenants.of(tenantId)
      return funds.use(() => holdIn(funds, currency, holdPico))
    },
    tell: async (tenantIds) => {
      const active = tenants.active(tenantIds)
      if (active.length > 0) await exchange.tellAndRead(active)
    },
    spoolEmptied: (spool) => spoolEmptied(pool, spool),
    exchange: async (spool) => {
      exchange.settlementsWaitIn(spool)
      // Not waited for: a log that is away must not keep the others from being told.
      watch.look().catch(() => undefined)
      const active = tenants.active()
      if (spool !== undefined) for (const funds of active) funds.keepUnplaced(clock.nowMs())
      for (let at = 0; at < active.length; at += MAX_EXCHANGED)
        await exchange.tellAndRead(active.slice(at, at + MAX_EXCHANGED))
    },
  }
}

/** Tenants with calls in this process, and those it still remembers of before. */
class KnownTenants {
  readonly #byId = new Map<string, TenantFunds>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** @throws DomainError `database_unavailable` where there is no room for another */
  of(tenantId: string): TenantFunds {
    const known = this.#byId.get(tenantId)
    if (known !== undefined) return known
    if (this.#byId.size >= this.#max) this.#forgetOne()
    const made = new TenantFunds(tenantId)
    this.#byId.set(tenantId, made)
    return made
  }

  /** Those that a call waits for or holds of: of all, or of these. */
  active(tenantIds?: readonly string[]): readonly TenantFunds[] {
    const some =
      tenantIds === undefined
        ? [...this.#byId.values()]
        : tenantIds.flatMap((tenantId) => this.#byId.get(tenantId) ?? [])
    return some.filter((funds) => !funds.isIdle())
  }

  /** One that a call waits for or holds of stays: the other replicas would not learn what is held. */
  #forgetOne(): void {
    for (const [tenantId, funds] of this.#byId)
      if (funds.isIdle()) {
        this.#byId.delete(tenantId)
        return
      }
    throw balanceUntold(undefined)
  }
}

/** Keeps an eye on the ledger's lag. */
function createWatch(lag: LedgerLag, clock: Clock) {
  let lookedAtMs = Number.NEGATIVE_INFINITY
  const look = (): Promise<void> => {
    lookedAtMs = clock.nowMs()
    return lag.look()
  }
  return {
    look,
    /** @throws DomainError `read_model_behind` when the ledger is too far behind */
    refuseBehind: async (): Promise<void> => {
      const untilMs = monotonicClock.nowMs() + LOOK_WAIT_MS
      while (lag.lagMs() > MAX_LAG_MS) {
        const waitMs = untilMs - monotonicClock.nowMs()
        if (clock.nowMs() - lookedAtMs >= RECHECK_AFTER_MS)
          await within(
            waitMs,
            look().catch(() => undefined),
            () => undefined,
          )
        // A process that has just started may never have seen the ledger complete, busy as it is.
        else if (lag.lagMs() === Infinity && waitMs > 0) await pause(RECHECK_AFTER_MS)
        else throw behind()
      }
    },
  }
}

function behind(): DomainError {
  return new DomainError('read_model_behind', 'the balance cannot be checked at the moment', {
    reason: `the ledger is more than ${MAX_LAG_MS} ms behind the log`,
  })
}
