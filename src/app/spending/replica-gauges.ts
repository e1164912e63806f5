import type { Queryable } from '../../../projections/engine/queryable.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { DomainError } from '../../kernel/errors.ts'
import { ReadAhead } from '../../platform/read-ahead.ts'
import { MAX_LAG_MS } from './bounds.ts'
import { Gauge, type GaugeReport, type Reading } from './gauge.ts'
import { LedgerFloor, type LedgerMark } from './ledger-floor.ts'
import { type Reported, type Reporter, spoolEmptied } from './replica-reports.ts'
import { type LedgerSeen, SeenLedger } from './moved.ts'
import { balanceUnavailable, ledgerWentBack } from './tenant-queue.ts'

/** A reading this old is not decided by while a new one can be had. */
const VALID_FOR_MS = 2_000
/**
 * A reading this old is renewed in the background, one name at a time. The exchange, which renews
 * those of recent requests at once, comes before.
 */
const RENEW_AFTER_MS = 1_500

/** The reports and readings of one kind of gauge. */
export interface GaugeKind<About> {
  /** Writes absolute figures of this replica; an earlier turn never overwrites a later one. */
  readonly report: (
    db: Queryable,
    reporter: Reporter,
    reported: readonly Reported[],
  ) => Promise<void>
  /** Reads the available amounts by name, less the reports of all other replicas. */
  readonly read: (
    db: Queryable,
    gauges: readonly Gauge<About>[],
    exceptReplica: string,
  ) => Promise<ReadonlyMap<string, Reading>>
  /** Most gauges remembered; an idle one is evicted for another. */
  readonly maxKnown: number
  /** Most gauges reported and read in one statement. */
  readonly maxExchanged: number
  /** The reading is not from the ledger: its position means nothing. */
  readonly isOutsideLedger?: boolean
  /**
   * The names are tenants whose readings are their balances: at an exchange only those are read that may have moved.
   */
  readonly isOfBalances?: boolean
  /** Whether an idle gauge is read as well. Otherwise it is forgotten at the next exchange. */
  readonly isWatched?: (gauge: Gauge<About>) => boolean
}

/**
 * Figures of one replica that the others must know: holds of calls, settlements that the ledger may
 * lack, and the number of running calls. Each replica reports its current figures about once a
 * second and reads the sums of the others. No call waits for that.
 */
export interface ReplicaGauges {
  readonly ofKind: <About>(kind: GaugeKind<About>) => Gauges<About>
  /**
   * Reports and reads every gauge in use, of every kind. `spool` is the spool in which settlements
   * wait for the log, if any do.
   * @throws what the database throws; the next exchange reports again
   */
  readonly exchange: (spool?: string) => Promise<void>
  /** Records that the log has all settlements of this spool. @throws errors of the database */
  readonly spoolEmptied: (spool: string) => Promise<void>
}

/** State shared by the kinds of one process. */
interface Replica {
  readonly db: Queryable
  readonly clock: Clock
  readonly name: string
  readonly ledger: LedgerFloor
  reports: number
  readings: number
  /** Spool in which settlements wait for the log; undefined when none wait. */
  spool: string | undefined
}

export function createReplicaGauges(deps: {
  readonly db: Queryable
  /** Id of this process among those that share the database; never used by another process. */
  readonly replica: string
  /** Only durations are measured with it, so it must be monotonic. */
  readonly clock: Clock
  /** Shared by all that reads the ledger in this process. */
  readonly ledger?: LedgerFloor
}): ReplicaGauges {
  const { db, replica: name, clock, ledger = new LedgerFloor(clock) } = deps
  const replica: Replica = { db, clock, name, ledger, reports: 0, readings: 0, spool: undefined }
  const kinds: (() => Promise<void>)[] = []
  return {
    ofKind: (kind) => {
      const gauges = new Gauges(replica, kind)
      kinds.push(() => gauges.exchange())
      return gauges
    },
    exchange: async (spool) => {
      replica.spool = spool
      await allSettledOrThrow(kinds.map((exchange) => exchange()))
    },
    spoolEmptied: (spool) => spoolEmptied(db, spool),
  }
}

/** The gauges of one kind that this process knows. */
export class Gauges<About> {
  readonly #byName = new Map<string, Gauge<About>>()
  readonly #replica: Replica
  readonly #kind: GaugeKind<About>
  readonly #reads: ReadAhead<void>
  readonly #seen: SeenLedger

  constructor(replica: Replica, kind: GaugeKind<About>) {
    this.#replica = replica
    this.#kind = kind
    this.#seen = new SeenLedger(replica.ledger)
    this.#reads = new ReadAhead<void>({
      validForMs: VALID_FOR_MS,
      renewAfterMs: RENEW_AFTER_MS,
      clock: replica.clock,
      read: async (name) => {
        const gauge = this.#byName.get(name)
        if (gauge !== undefined) await this.reportAndRead([gauge])
      },
    })
  }

  known(name: string): Gauge<About> | undefined {
    return this.#byName.get(name)
  }

  /** @throws DomainError `database_unavailable` when there is no space for another */
  of(name: string, about: About): Gauge<About> {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    if (this.#byName.size >= this.#kind.maxKnown) this.#evictOne()
    const made = new Gauge(name, about, this.#replica.clock)
    this.#byName.set(name, made)
    return made
  }

  /**
   * Resolves once a recent enough reading is known; undefined if one is.
   * @throws DomainError `database_unavailable` when it cannot be made
   */
  makeKnown(gauge: Gauge<About>): Promise<void> | undefined {
    const awaited = this.#reads.awaited(gauge.name, gauge.ageMs())
    return awaited && this.#makeKnown(gauge, awaited)
  }

  async #makeKnown(gauge: Gauge<About>, awaited: Promise<void>): Promise<void> {
    let failure: unknown
    try {
      await awaited
    } catch (error) {
      failure = error
    }
    if (gauge.ageMs() < MAX_LAG_MS) return
    // A successful refresh may bring no new reading.
    throw failure === undefined ? ledgerWentBack() : balanceUnavailable(failure)
  }

  /** Whether the known reading decides without a new one. */
  isValid(gauge: Gauge<About>): boolean {
    return gauge.ageMs() < VALID_FOR_MS
  }

  /**
   * Reports first, then reads: of two replicas at the same time, at least one sees the other's
   * report. @param ledgerAt the ledger was seen there
   */
  async reportAndRead(some: readonly Gauge<About>[], ledgerAt = -1n): Promise<void> {
    const { db, clock, name, spool, ledger } = this.#replica
    const sent = ledger.mark()
    const turn = this.#nextTurn()
    const sentAtMs = clock.nowMs()
    const reports = some.map((gauge) => ({ gauge, report: gauge.report(spool, ledgerAt) }))
    await this.#write(
      db,
      reports.flatMap(({ report }) => report.reported),
    )
    const readings = await this.#kind.read(db, some, name)
    for (const { gauge, report } of reports) {
      gauge.acknowledged(report)
      const reading = readings.get(gauge.name)
      if (reading !== undefined && this.#mayLearn(gauge, reading, sent))
        gauge.learn(reading, { sentAtMs, turn, era: ledger.era })
    }
  }

  /**
   * Reads a gauge, decides by it, and reports it, under a lock that all replicas share: the reading
   * is complete, and every later holder of the lock sees the report. The report counts as known to
   * the others only once the transaction is committed. If the ledger went back, `judge` gets the
   * refusal of all requests: the known reading is outdated, and the others may have spent since.
   */
  async decide<Judgement>(
    db: Queryable,
    gauge: Gauge<About>,
    judge: (unreadable?: DomainError) => Judgement,
  ): Promise<{
    readonly judgement: Judgement
    readonly report: GaugeReport
    readonly written: Promise<void>
  }> {
    const { clock, name, spool, ledger } = this.#replica
    const sentAtMs = clock.nowMs()
    const sent = ledger.mark()
    const reading = (await this.#kind.read(db, [gauge], name)).get(gauge.name)
    const isReadable = reading !== undefined && this.#mayLearn(gauge, reading, sent)
    // The turn is taken only now: a reading that began while this one waited for the lock may miss
    // reports of earlier holders.
    if (isReadable) gauge.learn(reading, { sentAtMs, turn: this.#nextTurn(), era: ledger.era })
    const judgement = isReadable ? judge() : judge(ledgerWentBack())
    const report = gauge.report(spool)
    return { judgement, report, written: this.#write(db, report.reported) }
  }

  /** Exchanges the gauges in use or requested of late, a bounded number at a time. */
  async exchange(): Promise<void> {
    const { maxExchanged, isWatched } = this.#kind
    const active: Gauge<About>[] = []
    for (const [name, gauge] of this.#byName)
      if (gauge.wasUsedLately() || !gauge.isIdle() || isWatched?.(gauge) === true)
        active.push(gauge)
      else if (isWatched !== undefined) this.#byName.delete(name)
    if (this.#replica.spool !== undefined) for (const gauge of active) gauge.keepUnplaced()
    // Without calls nothing is asked.
    const seen = active.length === 0 ? undefined : await this.#look()
    const due = seen === undefined ? active : active.filter((gauge) => this.#isDue(gauge, seen))
    for (let at = 0; at < due.length; at += maxExchanged)
      await this.reportAndRead(due.slice(at, at + maxExchanged), seen?.position)
  }

  /**
   * Looks at what moved since the last exchange. The readings of all others are kept, in use or not: their callers find
   * them valid.
   */
  async #look(): Promise<LedgerSeen | undefined> {
    if (this.#kind.isOfBalances !== true) return undefined
    const { db, clock, name, ledger } = this.#replica
    const turn = this.#nextTurn()
    const sentAtMs = clock.nowMs()
    const seen = await this.#seen.look(db, [...this.#byName.keys()], name)
    if (seen === undefined) return undefined
    const readAt = { sentAtMs, turn, era: ledger.era }
    for (const gauge of this.#byName.values())
      if (!this.#isDue(gauge, seen)) gauge.learnUnmoved(seen.position, readAt)
    return seen
  }

  /** Whether a gauge must be reported or read: it is reported before the reading that goes with it. */
  #isDue(gauge: Gauge<About>, seen: LedgerSeen): boolean {
    return !seen.isUnmoved(gauge) || gauge.mustReport(this.#replica.spool, seen.position)
  }

  async #write(db: Queryable, reported: readonly Reported[]): Promise<void> {
    if (reported.length === 0) return
    this.#replica.reports += 1
    const { name, reports } = this.#replica
    await this.#kind.report(db, { replica: name, turn: reports }, reported)
  }

  #nextTurn(): number {
    this.#replica.readings += 1
    return this.#replica.readings
  }

  #mayLearn(gauge: Gauge<About>, { position }: Reading, sent: LedgerMark): boolean {
    if (this.#kind.isOutsideLedger === true) return true
    // A negative position is of a name that the ledger does not have, and never had.
    if (position < 0n && gauge.readPosition() < 0n) return true
    return this.#replica.ledger.allows(position, sent)
  }

  /** A gauge in use is kept: otherwise its holds would not be reported. */
  #evictOne(): void {
    for (const [name, gauge] of this.#byName)
      if (gauge.isIdle()) {
        this.#byName.delete(name)
        return
      }
    throw balanceUnavailable(undefined)
  }
}
