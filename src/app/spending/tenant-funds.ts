import type { Spendable } from './spendable.ts'
import type { Spending } from './call-spending.ts'
import type { Reservation } from './reservation.ts'
import type { Currency } from '../../kernel/money.ts'

/** A settlement without a known position is taken to be in the ledger after this. */
const ASSUME_PROJECTED_MS = 60_000
/** Between two exchanges a replica may spend this part of the balance it read. */
export const UNREPORTED_SHARE = 20n

/** Runs the work while none of the tenants may become idle. */
export function usingAll<Value>(
  all: readonly TenantFunds[],
  work: () => Promise<Value>,
): Promise<Value> {
  return all.reduceRight((inner, funds) => () => funds.use(inner), work)()
}

/** What a tenant's calls in this process hold and settled, at one moment. */
export interface Telling {
  /** Orders the reports of one tenant in this process; a later one includes every earlier one. */
  readonly turn: number
  readonly spending: readonly Spending[]
  /** Added since the process started, by currency. */
  readonly added: ReadonlyMap<Currency, bigint>
}

/** When a balance was read. */
export interface ReadAt {
  /** Taken before the query was sent: the balance is at most as old as that. */
  readonly sentAtMs: number
  /** Orders the readings of one process; the later of two counts. */
  readonly turn: number
}

interface Unprojected {
  readonly currency: Currency
  readonly position: bigint | undefined
  atMs: number
  amountPico: bigint
}

/** What this process knows of one tenant's balances, and what its calls hold and settled. */
export class TenantFunds {
  readonly tenantId: string
  #known: { readonly spendable: Spendable; readonly readAt: ReadAt } | undefined
  #unprojected: Unprojected[] = []
  readonly #heldPico = new Map<Currency, bigint>()
  readonly #settledPico = new Map<Currency, bigint>()
  /** Net of all holds and settlements ever, and the part that the last exchange reported. */
  readonly #addedPico = new Map<Currency, bigint>()
  #toldPico: ReadonlyMap<Currency, bigint> = new Map()
  #hasTold = false
  #tellings = 0
  #lastTold = 0
  /** Waiting calls and holds that have not ended: a tenant with any is not evicted. */
  #users = 0

  constructor(tenantId: string) {
    this.tenantId = tenantId
  }

  /** How old the balance is; undefined as long as none is known. */
  ageMs(nowMs: number): number | undefined {
    return this.#known && nowMs - this.#known.readAt.sentAtMs
  }

  availablePico(currency: Currency): bigint {
    const balance = this.#known?.spendable.available.get(currency) ?? 0n
    return balance - valueOf(this.#heldPico, currency) - valueOf(this.#settledPico, currency)
  }

  /** Whether a hold is small enough that the other replicas may learn of it later. */
  isSmall(currency: Currency, holdPico: bigint): boolean {
    const availablePico = this.availablePico(currency)
    const untoldPico = valueOf(this.#addedPico, currency) - valueOf(this.#toldPico, currency)
    return (
      availablePico > 0n &&
      holdPico <= availablePico &&
      (untoldPico + holdPico) * UNREPORTED_SHARE <= availablePico + untoldPico
    )
  }

  /** No call waits or holds, the ledger has all settlements, and the other replicas know it. */
  isIdle(): boolean {
    return this.#users === 0 && !this.#hasTold && !this.#speaks()
  }

  /** Keeps the tenant from being idle until the work is over. */
  async use<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#users += 1
    try {
      return await work()
    } finally {
      this.#users -= 1
    }
  }

  place(currency: Currency, holdPico: bigint, nowMs: () => number): Reservation {
    this.#hold(currency, holdPico)
    this.#users += 1
    let ended = false
    const end = (): boolean => {
      if (ended) return false
      ended = true
      this.#users -= 1
      this.#hold(currency, -holdPico)
      return true
    }
    return {
      commit: ({ amountPico, position }) => {
        if (end()) this.#settled(currency, amountPico, position, nowMs())
      },
      release: () => {
        end()
      },
    }
  }

  /** The present report to the other replicas; `spool` names where settlements wait, if any do. */
  telling(spool?: string): Telling {
    const currencies = new Set([...this.#heldPico.keys(), ...this.#settledPico.keys()])
    // From here on a row of this process may exist, even if the answer to the write is lost.
    this.#hasTold ||= this.#speaks()
    const spending = [...currencies].map((currency) => {
      const position = this.#lastPosition(currency)
      return {
        tenantId: this.tenantId,
        currency,
        heldPico: valueOf(this.#heldPico, currency),
        settledPico: valueOf(this.#settledPico, currency),
        position,
        spool: position === undefined ? spool : undefined,
      }
    })
    this.#tellings += 1
    return {
      turn: this.#tellings,
      spending: this.#hasTold ? spending : [],
      added: new Map(this.#addedPico),
    }
  }

  /** The other replicas have this report, unless a later one reached them before. */
  exchanged(told: Telling): void {
    if (told.turn < this.#lastTold) return
    this.#lastTold = told.turn
    this.#toldPico = told.added
    this.#hasTold = told.spending.some(({ heldPico, settledPico }) => heldPico + settledPico > 0n)
  }

  /** Takes in a balance, unless a later one is known: readings can overtake each other. */
  learn(spendable: Spendable, readAt: ReadAt): void {
    const known = this.#known
    if (known !== undefined) {
      // The ledger's position never decreases: a reading further along was read later, under the
      // same lock if this one was. Settlements up to there are counted by that reading alone.
      if (spendable.position < known.spendable.position) return
      if (readAt.turn < known.readAt.turn) return
    }
    this.#known = { spendable, readAt }
    const left: Unprojected[] = []
    for (const entry of this.#unprojected) {
      const projected =
        entry.position === undefined
          ? readAt.sentAtMs - entry.atMs > ASSUME_PROJECTED_MS
          : entry.position <= spendable.position
      if (projected) add(this.#settledPico, entry.currency, -entry.amountPico)
      else left.push(entry)
    }
    this.#unprojected = left
  }

  /** Settlements wait in the spool: those without a position are certainly not in the ledger. */
  keepUnplaced(nowMs: number): void {
    for (const entry of this.#unprojected) if (entry.position === undefined) entry.atMs = nowMs
  }

  #speaks(): boolean {
    const amounts = [...this.#heldPico.values(), ...this.#settledPico.values()]
    return amounts.some((amountPico) => amountPico !== 0n)
  }

  #hold(currency: Currency, holdPico: bigint): void {
    add(this.#heldPico, currency, holdPico)
    add(this.#addedPico, currency, holdPico)
  }

  #settled(
    currency: Currency,
    amountPico: bigint,
    position: bigint | undefined,
    atMs: number,
  ): void {
    if (amountPico === 0n) return
    add(this.#settledPico, currency, amountPico)
    add(this.#addedPico, currency, amountPico)
    const last = this.#unprojected.at(-1)
    // Calls settled by the same append have the same position: one entry for all of them.
    if (last !== undefined && last.currency === currency && last.position === position)
      last.amountPico += amountPico
    else this.#unprojected.push({ currency, position, amountPico, atMs })
  }

  #lastPosition(currency: Currency): bigint | undefined {
    let lastPosition = 0n
    for (const { currency: of, position } of this.#unprojected) {
      if (of !== currency) continue
      if (position === undefined) return undefined
      if (position > lastPosition) lastPosition = position
    }
    return lastPosition
  }
}

function valueOf(amounts: ReadonlyMap<Currency, bigint>, currency: Currency): bigint {
  return amounts.get(currency) ?? 0n
}

function add(amounts: Map<Currency, bigint>, currency: Currency, amountPico: bigint): void {
  amounts.set(currency, valueOf(amounts, currency) + amountPico)
}
