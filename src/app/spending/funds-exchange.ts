import type { Pool, PoolClient } from 'pg'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { insufficientBalance } from './admission.ts'
import { readSpendable, type Spendable } from './spendable.ts'
import { balanceUnknown, type BalanceKey, type BatchResult } from './tenant-queue.ts'
import { tellSpending } from './call-spending.ts'
import { runForAllTokens } from '../../kernel/token-context.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { DomainError } from '../../kernel/errors.ts'
import type { Reservation } from './reservation.ts'
import type { ReadAt, TenantFunds, Telling } from './tenant-funds.ts'

/** A balance older than this is read again in the background. */
const FRESH_FOR_MS = 1_000
/** Calls do not spend from a balance older than this, nor with the ledger further behind. */
export const MAX_LAG_MS = 30_000

/** A call that waits for a decision under the lock, which also takes its hold. */
export interface FundsRequest extends BalanceKey {
  readonly funds: TenantFunds
  readonly holdPico: bigint
  hold?: Reservation
  telling?: Telling
}

/** Reads the spendable amounts by name, less what every other replica reported. */
type ReadSpendable = (
  db: Queryable,
  names: readonly string[],
  exceptReplica: string,
) => Promise<ReadonlyMap<string, Spendable>>

/** Reports one process's tenants to the other replicas, and reads theirs. */
export class FundsExchange {
  readonly #pool: Pool
  readonly #replica: string
  readonly #clock: Clock
  readonly #read: ReadSpendable
  readonly #refreshing = new Map<string, Promise<void>>()
  #turn = 0
  #readings = 0
  #spool: string | undefined

  constructor(deps: {
    readonly pool: Pool
    readonly replica: string
    readonly clock: Clock
    /** Reads the spendable amounts of these names; by default the balances of tenants. */
    readonly read?: ReadSpendable
  }) {
    this.#read = deps.read ?? readSpendable
    this.#pool = deps.pool
    this.#replica = deps.replica
    this.#clock = deps.clock
  }

  /** Names the spool where settlements wait for the log; undefined when none wait. */
  settlementsWaitIn(spool: string | undefined): void {
    this.#spool = spool
  }

  /** Reports first, then reads: of two replicas at once, at least one sees the other's report. */
  async tellAndRead(some: readonly TenantFunds[]): Promise<void> {
    const readAt = this.#readAt(this.#clock.nowMs())
    const told = some.map((funds) => ({ funds, telling: funds.telling(this.#spool) }))
    const spending = told.flatMap(({ telling }) => telling.spending)
    await tellSpending(this.#pool, this.#nextTurn(), spending)
    const tenantIds = some.map(({ tenantId }) => tenantId)
    const found = await this.#read(this.#pool, tenantIds, this.#replica)
    for (const { funds, telling } of told) {
      funds.exchanged(telling)
      const spendable = found.get(funds.tenantId)
      if (spendable !== undefined) funds.learn(spendable, readAt)
    }
  }

  /**
   * Makes sure that a recent enough balance is known.
   * @throws DomainError `database_unavailable` when it cannot be read
   */
  async makeKnown(funds: TenantFunds): Promise<void> {
    const ageMs = funds.ageMs(this.#clock.nowMs())
    if (ageMs !== undefined && ageMs < FRESH_FOR_MS * 2) {
      // In the background: this call does not wait for the next reading.
      if (ageMs >= FRESH_FOR_MS) this.#refresh(funds).catch(() => undefined)
      return
    }
    try {
      await this.#refresh(funds)
    } catch (error) {
      const nowAgeMs = funds.ageMs(this.#clock.nowMs()) ?? Infinity
      if (nowAgeMs >= MAX_LAG_MS) throw balanceUnknown(error)
    }
  }

  /**
   * Decides calls of one tenant and currency under its lock. The balance read under the lock is
   * complete, and every later holder of the lock sees the report written here.
   */
  async decide(client: PoolClient, batch: readonly FundsRequest[]): Promise<BatchResult> {
    const [first] = batch
    if (first === undefined) return { refusals: Promise.resolve([]) }
    const { funds } = first
    const sentAtMs = this.#clock.nowMs()
    const found = await this.#read(client, [funds.tenantId], this.#replica)
    const spendable = found.get(funds.tenantId)
    // The turn is taken only now: a reading that began while this call waited for the lock may miss
    // what earlier holders of the lock wrote.
    if (spendable !== undefined) funds.learn(spendable, this.#readAt(sentAtMs))
    const refusals = batch.map((asked) => {
      const { currency, holdPico } = asked
      const refusal = refusalOf(funds, asked)
      if (refusal === undefined)
        asked.hold = funds.place(currency, holdPico, () => this.#clock.nowMs())
      return refusal
    })
    const telling = funds.telling(this.#spool)
    for (const asked of batch) asked.telling = telling
    const written = tellSpending(client, this.#nextTurn(), telling.spending)
    return { refusals: written.then(() => refusals) }
  }

  #refresh(funds: TenantFunds): Promise<void> {
    const known = this.#refreshing.get(funds.tenantId)
    if (known !== undefined) return known
    const made = runForAllTokens(() => this.tellAndRead([funds])).finally(() =>
      this.#refreshing.delete(funds.tenantId),
    )
    this.#refreshing.set(funds.tenantId, made)
    return made
  }

  #readAt(sentAtMs: number): ReadAt {
    this.#readings += 1
    return { sentAtMs, turn: this.#readings }
  }

  #nextTurn() {
    this.#turn += 1
    return { replica: this.#replica, turn: this.#turn }
  }
}

/** The refusal of a hold by the known balance; undefined when the hold fits. */
export function refusalOf(
  funds: TenantFunds,
  { currency, holdPico }: Pick<FundsRequest, 'currency' | 'holdPico'>,
): DomainError | undefined {
  const availablePico = funds.availablePico(currency)
  // A hold may be zero, so a tenant with nothing or less available is refused as well.
  return availablePico < holdPico || availablePico <= 0n
    ? insufficientBalance({ currency }, holdPico, availablePico)
    : undefined
}
