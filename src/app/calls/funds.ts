import type { Pool } from 'pg'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import { balances } from '../../../projections/ledger/query.ts'
import type { Clock } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { type Currency, formatAmount } from '../../kernel/money.ts'

/**
 * Whether a tenant can pay for a call, without a database in the way of every call: a balance read
 * from the ledger a moment ago, less the holds of calls in flight here, less what was settled here
 * and is not in that balance yet.
 *
 * It may overshoot, within bounds: a call may cost more than its hold (an estimate); other replicas
 * know each other's spending only through the ledger, so each may spend what its last reading
 * showed; tasks admitted within the last moments count once their holds are projected. A tenant at
 * its limit is refused at the latest `FRESH_FOR_MS` plus the ledger's lag after it got there.
 */
export interface Funds {
  /**
   * Places a hold until it is settled or withdrawn.
   * @throws DomainError `insufficient_balance` (details: currency, hold, available),
   *   `log_unavailable` when the balance cannot be told
   */
  readonly hold: (tenantId: string, currency: Currency, holdPico: bigint) => Promise<Hold>
}

/** Ends once; the first way counts. */
export interface Hold {
  /** `position` is where the settlement is in the log; undefined when that is not known yet. */
  readonly settle: (amountPico: bigint, position: bigint | undefined) => void
  readonly withdraw: () => void
}

/** A balance is read anew, in the background, when it is older. */
const FRESH_FOR_MS = 1_000
/** Before somebody is refused, a balance older than this is read again. */
const RECHECK_AFTER_MS = 100
/** With Postgres away the last known balance serves this long. */
const STALE_FOR_MS = 30_000
/** A settlement without a known position is taken to be in the ledger after this. */
const ASSUME_PROJECTED_MS = 60_000
/** Tenants remembered; those without calls in flight are forgotten first. */
const MAX_TENANTS = 10_000

/** A tenant's balances as the ledger knew them at a position of the log. */
export interface KnownBalances {
  readonly available: ReadonlyMap<Currency, bigint>
  /** Settlements up to here are in it. */
  readonly position: bigint
}

/** Reads a tenant's balances. */
export type ReadBalances = (tenantId: string) => Promise<KnownBalances>

/** Reads them from the ledger projection. */
export function balanceReader(pool: Pool): ReadBalances {
  return async (tenantId) => {
    // The checkpoint first: what is projected in between is counted twice for a moment, never not.
    const checkpoint = await readCheckpoint(pool, 'ledger')
    const rows = await balances(pool, tenantId)
    return {
      available: new Map(rows.map((row) => [row.currency, row.availablePico])),
      position: checkpoint?.position ?? -1n,
    }
  }
}

interface Unprojected {
  readonly currency: Currency
  readonly position: bigint | undefined
  readonly atMs: number
  amountPico: bigint
}

/** What is known of one tenant. */
class TenantFunds {
  holds = 0
  #known: { readonly balances: KnownBalances; readonly readAtMs: number } | undefined
  #reading: Promise<void> | undefined
  #unprojected: Unprojected[] = []
  /** Holds in flight and settlements not projected, by currency. */
  readonly #spokenForPico = new Map<Currency, bigint>()
  readonly #read: () => Promise<KnownBalances>
  readonly #clock: Clock

  constructor(read: () => Promise<KnownBalances>, clock: Clock) {
    this.#read = read
    this.#clock = clock
  }

  /** Undefined as long as nothing is known. */
  ageMs(): number | undefined {
    return this.#known && this.#clock.nowMs() - this.#known.readAtMs
  }

  availablePico(currency: Currency): bigint {
    const balance = this.#known?.balances.available.get(currency) ?? 0n
    return balance - (this.#spokenForPico.get(currency) ?? 0n)
  }

  speakFor(currency: Currency, amountPico: bigint): void {
    this.#spokenForPico.set(currency, (this.#spokenForPico.get(currency) ?? 0n) + amountPico)
  }

  settled(currency: Currency, amountPico: bigint, position: bigint | undefined): void {
    if (amountPico === 0n) return
    this.speakFor(currency, amountPico)
    const last = this.#unprojected.at(-1)
    // Calls settled by the same append have the same position: one entry for all of them.
    if (last !== undefined && last.currency === currency && last.position === position)
      last.amountPico += amountPico
    else this.#unprojected.push({ currency, position, amountPico, atMs: this.#clock.nowMs() })
  }

  refresh(): Promise<void> {
    this.#reading ??= this.#refresh().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async #refresh(): Promise<void> {
    const readAtMs = this.#clock.nowMs()
    const balances = await this.#read()
    this.#known = { balances, readAtMs }
    const left: Unprojected[] = []
    for (const entry of this.#unprojected) {
      const projected =
        entry.position === undefined
          ? readAtMs - entry.atMs > ASSUME_PROJECTED_MS
          : entry.position <= balances.position
      if (projected) this.speakFor(entry.currency, -entry.amountPico)
      else left.push(entry)
    }
    this.#unprojected = left
  }
}

export function createFunds(read: ReadBalances, clock: Clock): Funds {
  const tenants = new Map<string, TenantFunds>()

  const fundsOf = (tenantId: string): TenantFunds => {
    const known = tenants.get(tenantId)
    if (known !== undefined) return known
    if (tenants.size >= MAX_TENANTS)
      for (const [id, funds] of tenants)
        if (funds.holds === 0) {
          tenants.delete(id)
          break
        }
    const made = new TenantFunds(() => read(tenantId), clock)
    tenants.set(tenantId, made)
    return made
  }
  /** Makes sure that a balance is known that is young enough. */
  const known = async (funds: TenantFunds, maxAgeMs: number): Promise<void> => {
    const ageMs = funds.ageMs()
    if (ageMs !== undefined && ageMs < maxAgeMs) {
      // In the background: this call need not wait for the next reading.
      if (ageMs >= FRESH_FOR_MS) funds.refresh().catch(() => undefined)
      return
    }
    try {
      await funds.refresh()
    } catch (error) {
      const nowAgeMs = funds.ageMs()
      if (nowAgeMs === undefined || nowAgeMs >= STALE_FOR_MS) throw untold(error)
    }
  }

  return {
    hold: async (tenantId, currency, holdPico) => {
      const funds = fundsOf(tenantId)
      await known(funds, FRESH_FOR_MS * 2)
      if (funds.availablePico(currency) < holdPico) await known(funds, RECHECK_AFTER_MS)
      const availablePico = funds.availablePico(currency)
      // A hold is at least what nothing costs: whoever is in debt starts nothing.
      if (availablePico < holdPico || availablePico <= 0n)
        throw insufficient(currency, holdPico, availablePico)
      funds.speakFor(currency, holdPico)
      funds.holds += 1
      let ended = false
      const end = (): boolean => {
        if (ended) return false
        ended = true
        funds.holds -= 1
        funds.speakFor(currency, -holdPico)
        return true
      }
      return {
        settle: (amountPico, position) => {
          if (end()) funds.settled(currency, amountPico, position)
        },
        withdraw: () => {
          end()
        },
      }
    },
  }
}

function insufficient(currency: Currency, holdPico: bigint, availablePico: bigint): DomainError {
  return new DomainError('insufficient_balance', 'the balance does not cover this request', {
    currency,
    hold: formatAmount(holdPico),
    available: formatAmount(availablePico),
  })
}

function untold(cause: unknown): DomainError {
  return new DomainError('log_unavailable', 'the balance cannot be checked at the moment', {
    reason: cause instanceof Error ? cause.message : 'unknown',
  })
}
