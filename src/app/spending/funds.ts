import type { Pool } from 'pg'
import { spoolEmptied } from './call-spending.ts'
import type { LedgerLag } from './ledger-lag.ts'
import { balanceUnknown, createTenantQueue } from './tenant-queue.ts'
import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Currency } from '../../kernel/money.ts'
import { pause, withTimeout } from '../../kernel/pause.ts'
import { type FundsRequest, FundsExchange, MAX_LAG_MS, refusalOf } from './funds-exchange.ts'
import type { Reservation } from './reservation.ts'
import { TenantFunds } from './tenant-funds.ts'

/**
 * Decides whether a tenant can pay for a call, without a database query in every call. A process
 * holds against the balance it read last, less its own holds and settlements. About once a second
 * it reports these to the other replicas and reads the balance less the reports of the others and
 * the holds of tasks. Between two such exchanges it admits at most one part in `UNREPORTED_SHARE` of the
 * balance it read. A call beyond that is decided under the lock that tasks use, and reported in the
 * same transaction.
 *
 * So each further replica can hold one such part that the others do not see, and another one while
 * a decision under the lock is on its way: together the replicas overspend at most 2 ÷
 * `UNREPORTED_SHARE` of the available balance for each further replica (a task admitted at the same time
 * counts as one). Only calls that cost more than their holds go beyond that.
 */
export interface Funds {
  /**
   * Holds an amount until its reservation ends.
   * @throws DomainError `insufficient_balance` (details: currency, hold, available),
   *   `database_unavailable` or `read_model_behind` when the balance cannot be read
   */
  readonly reserve: (tenantId: string, currency: Currency, holdPico: bigint) => Promise<Reservation>
  /**
   * Reports and reads every tenant with calls, and measures the ledger's lag. `spool` names where
   * settlements wait for the log, if any do.
   * @throws what the database throws; the next exchange reports again
   */
  readonly exchange: (spool?: string) => Promise<void>
  /** The log has all settlements of this spool. @throws what the database throws */
  readonly spoolEmptied: (spool: string) => Promise<void>
  /** Reports at once what calls of these tenants hold here. @throws what the database throws */
  readonly tell: (tenantIds: readonly string[]) => Promise<void>
}

interface FundsDeps {
  readonly pool: Pool
  /** Names this process among those that share the database; no other process ever has it. */
  readonly replica: string
  readonly lag: LedgerLag
  /** Only durations are measured with it, so it must be monotonic. */
  readonly clock: Clock
  /** Tenants remembered. */
  readonly maxTenants?: number
}

/** Before a request is refused, a balance or a lag older than this is read again. */
const RECHECK_AFTER_MS = 100
/** A call that would be refused for the ledger's lag waits at most this long for a new look. */
const LOOK_WAIT_MS = 1_000
/** Tenants remembered; one without waiting calls and without holds is evicted for another. */
const MAX_TENANTS = 10_000
/** Most tenants reported and read in one exchange. */
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
  const decided = createTenantQueue<FundsRequest>(pool, {
    decide: (client, batch) => exchange.decide(client, batch),
  })
  const watch = createWatch(lag, clock)

  const holdUnderLock = async (asked: FundsRequest): Promise<Reservation> => {
    try {
      await decided(asked)
    } catch (error) {
      asked.hold?.release('not_started')
      throw error
    }
    if (asked.hold === undefined || asked.telling === undefined) throw balanceUnknown(undefined)
    // Only after the commit.
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
    const asked: FundsRequest = { tenantId: funds.tenantId, currency, funds, holdPico }
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
      // Not awaited: an unavailable log must not delay the reports to the other replicas.
      watch.look().catch(() => undefined)
      const active = tenants.active()
      if (spool !== undefined) for (const funds of active) funds.keepUnplaced(clock.nowMs())
      for (let at = 0; at < active.length; at += MAX_EXCHANGED)
        await exchange.tellAndRead(active.slice(at, at + MAX_EXCHANGED))
    },
  }
}

/** Tenants with calls in this process, and others that are not evicted yet. */
class KnownTenants {
  readonly #byId = new Map<string, TenantFunds>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** @throws DomainError `database_unavailable` when there is no space for another */
  of(tenantId: string): TenantFunds {
    const known = this.#byId.get(tenantId)
    if (known !== undefined) return known
    if (this.#byId.size >= this.#max) this.#forgetOne()
    const made = new TenantFunds(tenantId)
    this.#byId.set(tenantId, made)
    return made
  }

  /** The tenants with waiting calls or holds, of all or of these. */
  active(tenantIds?: readonly string[]): readonly TenantFunds[] {
    const some =
      tenantIds === undefined
        ? [...this.#byId.values()]
        : tenantIds.flatMap((tenantId) => this.#byId.get(tenantId) ?? [])
    return some.filter((funds) => !funds.isIdle())
  }

  /** A tenant with waiting calls or holds stays: otherwise its holds would go unreported. */
  #forgetOne(): void {
    for (const [tenantId, funds] of this.#byId)
      if (funds.isIdle()) {
        this.#byId.delete(tenantId)
        return
      }
    throw balanceUnknown(undefined)
  }
}

/** Measures the ledger's lag. */
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
          await withTimeout(
            waitMs,
            look().catch(() => undefined),
            () => undefined,
          )
        // A process that has just started may not yet have seen a busy ledger complete.
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
