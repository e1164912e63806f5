import type { Clock } from '../../kernel/clock.ts'
import { RecentUse } from '../../platform/read-ahead.ts'
import type { Reported, Unit } from './replica-reports.ts'
import type { Reservation } from './reservation.ts'
import { WrittenRows } from './written-rows.ts'

/** A settlement without a known position is taken to be in the ledger after this. */
const ASSUME_PROJECTED_MS = 60_000

/** The amount available under one name, without the use by this process. */
export interface Reading {
  /**
   * Amounts by unit; an absent one is 0. Negative where only use is read, as of budgets and calls.
   */
  readonly available: ReadonlyMap<Unit, bigint>
  /** The ledger has the events up to here. */
  readonly position: bigint
  /** Nothing counts in it but the ledger: while the ledger moves nothing of the name it stays as good as a new one. */
  readonly isOfLedgerAlone?: boolean
}

/** Time of the reading. */
export interface ReadAt {
  /** Taken before the query was sent: the reading is at most as old as that. */
  readonly sentAtMs: number
  /** Orders the readings of one process; the later of two counts. */
  readonly turn: number
  /** The era of `LedgerFloor`; the positions of two eras do not compare. */
  readonly era: number
}

/** The use of one name by this process, at one moment. */
export interface GaugeReport {
  /** Orders the reports of one name in this process; a later one includes every earlier one. */
  readonly turn: number
  /** The rows to write; none where the others know as much without them. */
  readonly reported: readonly Reported[]
  /** Added since the process started, by unit. */
  readonly added: ReadonlyMap<Unit, bigint>
}

/** The use of one unit by this process. */
interface Use {
  held: bigint
  settled: bigint
  /** Net of all holds and settlements ever: the part of it that was reported is known. */
  added: bigint
}

interface Unprojected {
  readonly unit: Unit
  readonly position: bigint | undefined
  atMs: number
  amount: bigint
}

/**
 * The use of one name (a tenant's balances, a budget, a limit of calls) by this process: holds, and
 * settlements that the ledger may lack; and its last reading of the name. Amounts are in pico of a
 * currency, or a number of calls.
 */
export class Gauge<About = void> {
  readonly name: string
  /** The object of the name. */
  readonly about: About
  readonly #clock: Clock
  #known: { readonly reading: Reading; readonly readAt: ReadAt } | undefined
  #unprojected: Unprojected[] = []
  readonly #uses = new Map<Unit, Use>()
  /** The part of the added use that the other replicas know. */
  #reported: ReadonlyMap<Unit, bigint> = new Map()
  /** The least that a report says which was sent since and may have reached them; empty where none is under way. */
  readonly #sent = new Map<Unit, bigint>()
  readonly #written: WrittenRows
  #reports = 0
  #lastAcknowledged = 0
  /** Waiting requests and holds that have not ended: a gauge with any is not evicted. */
  #users = 0
  readonly #recentUse = new RecentUse()

  constructor(name: string, about: About, clock: Clock) {
    this.name = name
    this.about = about
    this.#clock = clock
    this.#written = new WrittenRows(clock)
  }

  /** Age of the reading; infinite as long as there is none. */
  ageMs(): number {
    return this.#known === undefined ? Infinity : this.#clock.nowMs() - this.#known.readAt.sentAtMs
  }

  /** The ledger's position at the last reading; negative as long as there is none. */
  readPosition(): bigint {
    return this.#known?.reading.position ?? -1n
  }

  /** The remaining amount by the last reading, less the use by this process. */
  available(unit: Unit): bigint {
    return (this.#known?.reading.available.get(unit) ?? 0n) - this.own(unit)
  }

  /** Holds of this process, and its settlements that the ledger may lack. */
  own(unit: Unit): bigint {
    const use = this.#uses.get(unit)
    return use === undefined ? 0n : use.held + use.settled
  }

  /** The part of it that the other replicas may not know. */
  unreported(unit: Unit): bigint {
    return (this.#uses.get(unit)?.added ?? 0n) - this.#certainlyReported(unit)
  }

  /** A report that is under way, or whose answer was lost, may have taken the place of the last known one. */
  #certainlyReported(unit: Unit): bigint {
    const reported = this.#reported.get(unit) ?? 0n
    const sent = this.#sent.get(unit) ?? reported
    return sent < reported ? sent : reported
  }

  /** No request waits or holds, the ledger has all settlements, and the other replicas know it. */
  isIdle(): boolean {
    return this.#users === 0 && !this.#written.mayLast && !this.#isUsed()
  }

  /** Whether its reading is to be renewed; asked at each exchange. */
  wasUsedLately(): boolean {
    return this.#recentUse.countRound()
  }

  /** Keeps the gauge from being idle until the work is over. */
  async use<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#users += 1
    this.#recentUse.used()
    try {
      return await work()
    } finally {
      this.#users -= 1
    }
  }

  /** Holds an amount until its reservation ends. */
  place(unit: Unit, amount: bigint): Reservation {
    const use = this.#useOf(unit)
    const hold = (more: bigint): void => {
      use.held += more
      use.added += more
    }
    hold(amount)
    this.#users += 1
    let ended = false
    const end = (): boolean => {
      if (ended) return false
      ended = true
      this.#users -= 1
      hold(-amount)
      return true
    }
    return {
      commit: ({ amountPico, position }) => {
        if (end()) this.#settle(unit, amountPico, position)
      },
      release: () => {
        end()
      },
    }
  }

  /**
   * The present report, with rows where others need them (`WrittenRows`); `spool` names where settlements wait for the
   * log, if any do, and the ledger was seen at `ledgerAt`.
   */
  report(spool?: string, ledgerAt = -1n): GaugeReport {
    const rows = this.#rows(spool)
    const reported = this.#written.mustWrite(rows, ledgerAt) ? rows : []
    this.#reports += 1
    if (reported.length > 0) {
      this.#written.sent(reported)
      for (const [unit, { added }] of this.#uses) {
        const sent = this.#sent.get(unit)
        if (sent === undefined || added < sent) this.#sent.set(unit, added)
      }
    }
    return {
      turn: this.#reports,
      reported,
      added: new Map([...this.#uses].map(([unit, { added }]) => [unit, added])),
    }
  }

  /** Whether such a report has rows. */
  mustReport(spool?: string, ledgerAt = -1n): boolean {
    // Most gauges are not in use, and there are thousands of them.
    if (!this.#written.mayLast && !this.#isUsed()) return false
    return this.#written.mustWrite(this.#rows(spool), ledgerAt)
  }

  /** Notes that replicas have this report, unless a later one reached them before. */
  acknowledged(report: GaugeReport): void {
    if (report.turn < this.#lastAcknowledged) return
    this.#lastAcknowledged = report.turn
    this.#reported = report.added
    if (report.turn !== this.#reports) return
    this.#sent.clear()
    if (report.reported.length > 0) this.#written.arrived(report.reported)
  }

  /** Takes in a reading, unless a later one is known: readings can overtake each other. */
  learn(reading: Reading, readAt: ReadAt): void {
    const known = this.#known
    if (known !== undefined) {
      // Within an era the ledger's position never decreases: a reading further along was read later,
      // under the same lock if this one was. Settlements up to there are counted by that reading alone.
      if (readAt.era === known.readAt.era && reading.position < known.reading.position) return
      if (readAt.turn < known.readAt.turn) return
    }
    this.#known = { reading, readAt }
    const left: Unprojected[] = []
    for (const entry of this.#unprojected) {
      const isProjected =
        entry.position === undefined
          ? readAt.sentAtMs - entry.atMs > ASSUME_PROJECTED_MS
          : entry.position <= reading.position
      if (isProjected) this.#useOf(entry.unit).settled -= entry.amount
      else left.push(entry)
    }
    this.#unprojected = left
  }

  /**
   * Whether the known reading is as good as a new one, where the ledger has moved nothing of this name since a position
   * and holds of no one else count against it.
   */
  isCurrentSince(position: bigint, era: number): boolean {
    const known = this.#known
    return (
      known !== undefined &&
      known.reading.isOfLedgerAlone === true &&
      known.readAt.era === era &&
      known.reading.position >= position
    )
  }

  /** Takes in that the known reading is what a reading at this position has. */
  learnUnmoved(position: bigint, readAt: ReadAt): void {
    if (this.#known !== undefined) this.learn({ ...this.#known.reading, position }, readAt)
  }

  /** Settlements wait in the spool: those without a position are certainly not in the ledger. */
  keepUnplaced(): void {
    const nowMs = this.#clock.nowMs()
    for (const entry of this.#unprojected) if (entry.position === undefined) entry.atMs = nowMs
  }

  #rows(spool: string | undefined): readonly Reported[] {
    return [...this.#uses].map(([unit, { held, settled }]) => {
      const position = this.#lastPosition(unit)
      const waitsIn = position === undefined ? spool : undefined
      return { name: this.name, unit, held, settled, position, spool: waitsIn }
    })
  }

  #isUsed(): boolean {
    for (const { held, settled } of this.#uses.values())
      if (held !== 0n || settled !== 0n) return true
    return false
  }

  #useOf(unit: Unit): Use {
    const known = this.#uses.get(unit)
    if (known !== undefined) return known
    const made = { held: 0n, settled: 0n, added: 0n }
    this.#uses.set(unit, made)
    return made
  }

  #settle(unit: Unit, amount: bigint, position: bigint | undefined): void {
    if (amount === 0n) return
    const use = this.#useOf(unit)
    use.settled += amount
    use.added += amount
    const last = this.#unprojected.at(-1)
    // Calls settled by the same append have the same position: one entry for all of them.
    if (last !== undefined && last.unit === unit && last.position === position)
      last.amount += amount
    else this.#unprojected.push({ unit, position, amount, atMs: this.#clock.nowMs() })
  }

  #lastPosition(unit: Unit): bigint | undefined {
    let lastPosition = 0n
    for (const { unit: of, position } of this.#unprojected) {
      if (of !== unit) continue
      if (position === undefined) return undefined
      if (position > lastPosition) lastPosition = position
    }
    return lastPosition
  }
}
