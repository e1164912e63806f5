import type { Pool } from 'pg'
import { covers, insufficientBalance } from './admission.ts'
import type { Gauge, GaugeReport } from './gauge.ts'
import type { Freshness } from './ledger-lag.ts'
import { RECHECK_AFTER_MS, RECHECK_WAIT_MS } from './bounds.ts'
import type { Gauges, ReplicaGauges } from './replica-gauges.ts'
import { reportSpending } from './replica-reports.ts'
import { readSpendable } from './spendable.ts'
import { type BalanceKey, balanceUnavailable, createTenantQueue } from './tenant-queue.ts'
import type { DomainError } from '../../kernel/errors.ts'
import type { Currency } from '../../kernel/money.ts'
import { withTimeout } from '../../kernel/pause.ts'
import type { Reservation } from './reservation.ts'

/**
 * Decides whether a tenant can pay for a call, without a database query in every call. A process
 * reserves from the balance it read last, less its own holds and settlements. About once a second
 * it reports these to the other replicas and reads the balance less the reports of the others and
 * the holds of tasks. Between two such exchanges it admits at most one part in `UNREPORTED_SHARE`
 * of the balance it read. A call beyond that is decided under the lock that tasks use, and reported
 * in the same transaction.
 *
 * So each further replica can hold one such part that the others do not see, and another one while
 * a decision under the lock is on its way: together the replicas overspend at most 2 ÷
 * `UNREPORTED_SHARE` of the available balance for each further replica (a task admitted at the same
 * time counts as one). Only calls that cost more than their holds go beyond that.
 */
export interface Funds {
  /**
   * Holds an amount until its reservation ends.
   * @throws DomainError `insufficient_balance` (details: currency, hold, available),
   *   `database_unavailable` or `read_model_behind` when the balance cannot be read
   */
  readonly reserve: (tenantId: string, currency: Currency, holdPico: bigint) => Promise<Reservation>
  /** Measures the ledger's lag in the background, unless nothing was reserved since it was small. */
  readonly lookAtLedger: () => void
  /** Reports at once what calls of these tenants hold here. @throws what the database throws */
  readonly report: (tenantIds: readonly string[]) => Promise<void>
}

interface FundsDeps {
  readonly pool: Pool
  readonly gauges: Pick<ReplicaGauges, 'ofKind'>
  readonly freshness: Freshness
  /** Tenants remembered. */
  readonly maxTenants?: number
}

/** Between two exchanges a replica may spend this part of the balance it read. */
export const UNREPORTED_SHARE = 20n
/** Without calls the lag is measured this often: a call after a rest then never waits for it. */
const IDLE_LOOK_MS = 10_000
/** Tenants remembered; one without waiting calls and without holds is evicted for another. */
const MAX_TENANTS = 10_000
/** Most tenants reported and read in one exchange. */
const MAX_EXCHANGED = 1_000

/** A call that waits for a decision under the lock, which also takes its hold. */
interface Asked extends BalanceKey {
  readonly gauge: Gauge
  readonly holdPico: bigint
  hold?: Reservation
  report?: GaugeReport
}

export function createFunds(deps: FundsDeps): Funds {
  const { pool, gauges, freshness, maxTenants = MAX_TENANTS } = deps
  const balances = gauges.ofKind<void>({
    report: reportSpending,
    read: (db, some, exceptReplica) => readSpendable(db, namesOf(some), exceptReplica),
    maxKnown: maxTenants,
    maxExchanged: MAX_EXCHANGED,
    isOfBalances: true,
  })
  const holdUnderLock = createLockedHolds(pool, balances)

  const hold = async (gauge: Gauge, currency: Currency, holdPico: bigint): Promise<Reservation> => {
    const awaited = balances.makeKnown(gauge)
    if (awaited !== undefined) await awaited
    if (isSmall(gauge, currency, holdPico)) return gauge.place(currency, holdPico)
    const asked: Asked = { tenantId: gauge.name, currency, gauge, holdPico }
    const refusal = refusalOf(asked)
    if (refusal === undefined || !balances.isValid(gauge)) return holdUnderLock(asked)
    if (gauge.ageMs() < RECHECK_AFTER_MS) throw refusal
    return holdOrRefuse(holdUnderLock(asked), refusal)
  }

  let wasUsed = false
  return {
    reserve: async (tenantId, currency, holdPico) => {
      wasUsed = true
      await freshness.refuseBehind()
      const gauge = balances.of(tenantId)
      return gauge.use(() => hold(gauge, currency, holdPico))
    },
    // Not awaited: an unavailable log must not delay the reports to the other replicas.
    lookAtLedger: () => {
      if (!wasUsed && freshness.lagMs() < IDLE_LOOK_MS) return
      wasUsed = false
      void freshness.look().catch(() => undefined)
    },
    report: async (tenantIds) => {
      const active = tenantIds.flatMap((tenantId) => {
        const gauge = balances.known(tenantId)
        return gauge === undefined || gauge.isIdle() ? [] : [gauge]
      })
      if (active.length > 0) await balances.reportAndRead(active)
    },
  }
}

/** Holds that are decided one after the other over all replicas. */
function createLockedHolds(
  pool: Pool,
  balances: Gauges<void>,
): (asked: Asked) => Promise<Reservation> {
  const decided = createTenantQueue<Asked>(pool, {
    decide: async (client, batch) => {
      const [first] = batch
      if (first === undefined) return { refusals: Promise.resolve([]) }
      const decided = await balances.decide(client, first.gauge, (unreadable) =>
        batch.map((asked) => {
          const refusal = unreadable ?? refusalOf(asked)
          if (refusal === undefined) asked.hold = asked.gauge.place(asked.currency, asked.holdPico)
          return refusal
        }),
      )
      const { judgement, report, written } = decided
      for (const asked of batch) asked.report = report
      return { refusals: written.then(() => judgement) }
    },
  })
  return async (asked) => {
    try {
      await decided(asked)
    } catch (error) {
      asked.hold?.release('not_started')
      throw error
    }
    if (asked.hold === undefined || asked.report === undefined) throw balanceUnavailable(undefined)
    // Only after the commit.
    asked.gauge.acknowledged(asked.report)
    return asked.hold
  }
}

/**
 * The hold that is decided under the lock, or the refusal by the known reading if that takes long.
 * @throws the refusal, and as the hold
 */
async function holdOrRefuse(
  decided: Promise<Reservation>,
  refusal: DomainError,
): Promise<Reservation> {
  const hold = await withTimeout(RECHECK_WAIT_MS, decided, () => undefined)
  if (hold !== undefined) return hold
  decided.then(
    (late) => late.release('not_started'),
    () => undefined,
  )
  throw refusal
}

function namesOf(gauges: readonly Gauge[]): readonly string[] {
  return gauges.map(({ name }) => name)
}

/** Whether a hold is small enough that the other replicas may learn of it later. */
function isSmall(gauge: Gauge, currency: Currency, holdPico: bigint): boolean {
  const availablePico = gauge.available(currency)
  const unreportedPico = gauge.unreported(currency)
  return (
    holdPico === 0n ||
    (covers(availablePico, holdPico) &&
      (unreportedPico + holdPico) * UNREPORTED_SHARE <= availablePico + unreportedPico)
  )
}

/** The refusal of a hold by the known balance; undefined when the hold fits. */
function refusalOf({ gauge, currency, holdPico }: Asked): DomainError | undefined {
  const availablePico = gauge.available(currency)
  return covers(availablePico, holdPico)
    ? undefined
    : insufficientBalance({ currency }, holdPico, availablePico)
}
