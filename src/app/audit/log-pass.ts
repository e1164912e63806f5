import type { Pool } from 'pg'
import { taskStream } from '../../domain/task/events.ts'
import { placeOf } from '../../eventlog/log/position.ts'
import type { AuditedRow } from '../../../projections/engine/audited-rows.ts'
import type { EventReference } from '../../../projections/engine/checkpoint.ts'
import { LogOlderError, notMet } from '../../../projections/engine/older-log.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import type { Balances } from './balances.ts'
import {
  compareBalances,
  compareChain,
  compareScopes,
  readClosing,
  type Closing,
} from './closing.ts'
import { ClosedPeriods } from './closed-periods.ts'
import { ComparedTasks } from './compared-tasks.ts'
import { ledgerEffect, type LedgerEffect } from './expected-ledger.ts'
import { EventRows, type EventEffect } from './event-rows.ts'
import { Findings } from './findings.ts'
import { LedgerRows, ledgerStretches } from './ledger-rows.ts'
import { LineChain } from './line-chain.ts'
import { LogChecks } from './log-checks.ts'
import type { RowSource } from './match.ts'
import { AuditedReadModels, BEYOND_ALL, type ReadModel } from './read-models.ts'
import { inSnapshot } from './snapshot.ts'
import { SourceMemory } from './source-memory.ts'
import type { Beginning, LastEvent } from './state.ts'
import { compareBegun, StreamWalk, type WalkedTable } from './stream-walk.ts'
import { holdTable, type SettleTask } from './task-state.ts'
import { digestsOf, type RowDigests, type Stretch } from './stretch-digest.ts'
import { placesOf, type Requested, TaskPlaces } from './task-places.ts'

/** Events compared in one snapshot. */
const STRETCH_EVENTS = 2_000
/** Before every position, also those that someone wrote into a row by hand. */
export const BEFORE_ALL_ROWS = -(2n ** 63n)

interface PassDeps {
  readonly pool: Pool
  readonly log: EventLog
  readonly models: readonly ReadModel[]
  readonly findings: Findings
  readonly settleTask: SettleTask | undefined
  readonly maxRemembered: number | undefined
  /** Called after each stretch. */
  readonly onStretch: () => Promise<void>
}

/** The rows that the events of a stretch must have written. */
interface Effects {
  readonly ledger: readonly LedgerEffect[]
  /** Parts by read model. */
  readonly rows: ReadonlyMap<EventRows, readonly EventEffect[]>
}

/** The rows of a stretch; undefined for a read model that is not followed there. */
interface StretchRows {
  readonly digests: RowDigests
  readonly places: readonly AuditedRow[] | undefined
}

/**
 * Reads the log in order, computes the expected rows, and compares them with the append-only tables,
 * a stretch at a time in a short snapshot. Its memory grows with tenants, not with events.
 */
export class LogPass {
  readonly balances: Balances
  readonly chain: LineChain
  readonly checks: LogChecks
  readonly ledger: LedgerRows
  readonly eventRows: readonly EventRows[]
  /** Parts compared stream by stream; of the ledger only holds, by the auditor's own account. */
  readonly tables: readonly WalkedTable[]
  readonly places: TaskPlaces
  readonly comparedTasks: ComparedTasks
  readonly models: AuditedReadModels
  readonly closedPeriods: ClosedPeriods
  events = 0
  /** Events beyond the ledger's position. */
  notCompared = 0
  balancesCompared = 0
  /** Everything up to here was read and, as far as the read models had come, compared. */
  position: bigint
  /** The last event read. */
  last: LastEvent | undefined
  readonly #deps: PassDeps
  readonly #memory: SourceMemory

  constructor(deps: PassDeps, beginning: Beginning) {
    const { findings, log, settleTask } = deps
    this.#deps = deps
    this.position = beginning.position
    this.last = beginning.last
    this.balances = beginning.balances
    this.chain = new LineChain(beginning.chain)
    const wholeLog = beginning.position === BEFORE_ALL_ROWS
    this.closedPeriods = new ClosedPeriods(deps, wholeLog)
    this.checks = new LogChecks(findings, { log, wholeLog }, settleTask)
    this.ledger = new LedgerRows({ chain: this.chain, checks: this.checks, findings, log })
    this.eventRows = deps.models.flatMap(({ name, eventTables }) =>
      eventTables ? [new EventRows(name, eventTables, findings)] : [],
    )
    const ofModels = deps.models.flatMap(({ name, streamTables = [] }) =>
      streamTables.map((of) => ({ ...of, model: name })),
    )
    this.tables = [...ofModels, holdTable(this.ledger.unapplied)]
    this.places = new TaskPlaces(beginning.scopes, findings)
    this.models = new AuditedReadModels(deps.pool, deps.models, findings)
    const ofTasks = { stream: taskStream, tables: this.tables, findings: new Findings() }
    const walk = new StreamWalk({ ...deps, ...ofTasks })
    this.comparedTasks = new ComparedTasks(walk, this.places, beginning.position)
    const onRecalled = this.comparedTasks.goesOn.bind(this.comparedTasks)
    this.#memory = new SourceMemory({ log, onRecalled, maxRemembered: deps.maxRemembered })
  }

  /**
   * Reads on to a position, or to the end of the log when that comes first.
   * @throws `log_unavailable` when the read ends before the last event that a read model has
   *   applied up to there, although the log holds it: the node that answered is behind
   */
  async readTo(
    position: bigint,
    applied?: { model: string; event?: EventReference | undefined },
  ): Promise<void> {
    if (position <= this.position) return
    // The log cannot be read from a position between two events.
    const from = this.last === undefined ? {} : { from: placeOf(this.last.position) }
    let events: RecordedEvent[] = []
    for await (const event of this.#deps.log.readAll(from)) {
      if (event.position > position) {
        // The log continues after the position, so nothing up to it is missing.
        await this.#advance(events, position)
        return
      }
      events.push(event)
      if (events.length < STRETCH_EVENTS) continue
      await this.#advance(events, event.position)
      events = []
    }
    const last = events.at(-1) ?? this.last
    if (applied?.event !== undefined && last?.id !== applied.event.id) {
      const unmet = await notMet(this.#deps.log, applied.model, applied.event)
      // In an older log, the rows that no event explains are the findings.
      if (!(unmet instanceof LogOlderError)) throw unmet
    }
    // Positions the read did not reach are not claimed: the node that answered may be behind.
    await this.#advance(events, applied ? position : (last?.position ?? this.position))
  }

  /** Completes the open parts: reads on to each read model's position, compares its sums. */
  async close(): Promise<void> {
    const closings = await inSnapshot(this.#deps.pool, async ({ db, position, lastEvent }) => {
      const followed = (['ledger', 'tasks'] as const).filter((model) => this.models.follows(model))
      const found: (Closing & { readonly event: EventReference | undefined })[] = []
      for (const model of followed) {
        found.push({ ...(await readClosing(db, model, position(model))), event: lastEvent(model) })
      }
      return found
    })
    for (const closing of closings.sort((a, b) => Number(a.position - b.position))) {
      await this.readTo(closing.position, closing)
      this.#compareClosing(closing)
    }
    await this.#compareBeyond()
    const tasks = this.#memory.forget(0)
    for (const { state } of tasks) {
      if (!state.succeeded) continue
      // The settlement of the task may be the next event, which this pass did not read.
      const events = await this.#deps.log.readStream(taskStream(state.platformId))
      const next = events.find(({ position }) => position > (state.succeeded?.position ?? -1n))
      if (next?.type !== 'TaskSettled') this.checks.unsettled(state)
    }
    await this.comparedTasks.compare(tasks)
  }

  /** Takes the next stretch; a read model that makes no progress is left within it. */
  async #advance(events: readonly RecordedEvent[], upTo: bigint): Promise<void> {
    let rest = events
    for (const { name, position } of await this.models.reach(upTo)) {
      if (position > this.position) {
        await this.#take(
          rest.filter((event) => event.position <= position),
          position,
        )
        rest = rest.filter((event) => event.position > position)
      }
      await this.#leave(name)
    }
    await this.#take(rest, upTo)
    await this.#deps.onStretch()
  }

  /** Compares the sums of a read model that halted here, unless it made progress meanwhile. */
  async #leave(name: string): Promise<void> {
    this.models.leave(name)
    if (name !== 'ledger' && name !== 'tasks') return
    const closing = await inSnapshot(this.#deps.pool, ({ db, position }) =>
      readClosing(db, name, position(name)),
    )
    if (closing.position === this.position) this.#compareClosing(closing)
  }

  async #take(events: readonly RecordedEvent[], upTo: bigint): Promise<void> {
    if (upTo <= this.position) return
    await this.#memory.recall(events)
    await this.checks.recall(events, this.position)
    const stretch = { after: this.position, upTo }
    const requested = this.places.take(events)
    const { ledger } = await inSnapshot(this.#deps.pool, async ({ db }) => {
      // Postgres reads the rows while the audit computes the expected ones.
      const [stored, effects] = await allSettledOrThrow([
        this.#lookAt(db, requested, stretch),
        Promise.resolve(events).then((all) => this.#effectsOf(all)),
      ])
      const look = { db, digests: stored.digests }
      const counted = { ...effects, ledger: await this.ledger.counted(look, effects.ledger) }
      await this.#compare({ db, stretch, stored }, events, requested, counted)
      return counted
    })
    for (const { event, balance } of ledger)
      if (balance) this.balances.apply(balance, event.position)
    await this.closedPeriods.take(events, this.position, this.models.follows('ledger'))
    const given = this.#memory.forget()
    for (const { state } of given) if (state.succeeded) this.checks.unsettled(state)
    await this.comparedTasks.compare(given)
    this.events += events.length
    this.position = upTo
    this.last = events.at(-1) ?? this.last
  }

  /** Reads the rows of a stretch in the read models that have passed it. */
  async #lookAt(
    db: Queryable,
    requested: readonly Requested[],
    stretch: Stretch,
  ): Promise<StretchRows> {
    const others = this.#followedRows().flatMap(({ tables }) => tables)
    const tables = [...(this.models.follows('ledger') ? ledgerStretches : []), ...others]
    const [digests, places] = await allSettledOrThrow([
      digestsOf(db, tables, stretch),
      this.models.follows('tasks') ? placesOf(db, requested) : undefined,
    ])
    return { digests, places }
  }

  #followedRows(): readonly EventRows[] {
    return this.eventRows.filter(({ model }) => this.models.follows(model))
  }

  #effectsOf(events: readonly RecordedEvent[]): Effects {
    const ledger: LedgerEffect[] = []
    const rows = new Map(this.#followedRows().map((each): [EventRows, EventEffect[]] => [each, []]))
    for (const event of events) {
      const before = this.#memory.before(event)
      this.checks.check(event, before?.task)
      const inLedger = ledgerEffect(event, before?.task)
      if (inLedger) ledger.push(inLedger)
      const owner = this.#memory.take(event) ?? before
      for (const [each, effects] of rows) effects.push(each.effectOf(event, owner))
    }
    return { ledger, rows }
  }

  async #compare(
    found: { readonly db: Queryable; readonly stretch: Stretch; readonly stored: StretchRows },
    events: readonly RecordedEvent[],
    requested: readonly Requested[],
    effects: Effects,
  ): Promise<void> {
    const { db, stretch, stored } = found
    const look = { ...stretch, db, digests: stored.digests }
    if (this.models.follows('ledger')) await this.ledger.compare(look, effects.ledger)
    else this.notCompared += events.length
    for (const [each, ofEvents] of effects.rows) await each.compare(look, ofEvents)
    if (stored.places) this.places.compare(requested, stored.places)
    const followed = this.tables.filter(({ model }) => this.models.follows(model))
    await compareBegun(db, events, followed, this.#deps.findings)
  }

  /** Finds rows whose positions are after the last event of their read model. */
  async #compareBeyond(): Promise<void> {
    await inSnapshot(this.#deps.pool, async ({ db, position }) => {
      const beyond = (of: string): RowSource => ({ db, after: position(of), upTo: BEYOND_ALL })
      if (this.models.follows('ledger')) await this.ledger.compare(beyond('ledger'), [])
      for (const each of this.#followedRows()) await each.compare(beyond(each.model), [])
    })
  }

  #compareClosing(closing: Closing): void {
    const { findings } = this.#deps
    if (closing.model === 'tasks') return compareScopes(closing.scopes, this.places, findings)
    const { unappliedBalances } = this.ledger
    const rows = closing.balances
    this.balancesCompared = compareBalances(rows, this.balances, unappliedBalances, findings)
    compareChain(closing.chain, this.chain, findings)
  }
}
