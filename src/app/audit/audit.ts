import type { Pool } from 'pg'
import { settledTwins, taskTables } from '../../../projections/tasks/query.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { priceBookStream } from '../../domain/pricing/events.ts'
import { taskStream } from '../../domain/task/events.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { auditAssetCounts } from './asset-counts.ts'
import { auditCounts, CountCorrections } from './counts.ts'
import { type Finding, Findings, MAX_FINDINGS } from './findings.ts'
import { BEFORE_ALL_ROWS, LogPass } from './log-pass.ts'
import { auditAllPeriods } from './periods.ts'
import { comparePriceBooks } from './price-books.ts'
import { reportPassedOver, type ReadModel } from './read-models.ts'
import { beginningOf, checkEarlierLines, checkSameLog, onTrust, stateOf } from './resume.ts'
import type { AuditState } from './state.ts'
import { inSnapshot } from './snapshot.ts'
import { StreamWalk, type ComparedRow } from './stream-walk.ts'
import { readTo } from './streams.ts'
import type { SettleTask } from './task-state.ts'
import { auditTotals } from './totals.ts'

/** Default interval at which the audit saves its state. */
const STATE_INTERVAL_MS = 5_000

export interface AuditOptions {
  readonly pool: Pool
  readonly log: EventLog
  /** The read models as this program knows them. */
  readonly models: readonly ReadModel[]
  /** Settles a task again; without it no settlement is compared with the rules of its family. */
  readonly settleTask?: SettleTask
  /** State of an earlier audit; undefined audits from the start of the log. */
  readonly resume?: AuditState | undefined
  /** Saves how far the audit found everything correct. */
  readonly onState?: (state: AuditState) => Promise<void>
  readonly stateIntervalMs?: number
  /** Maximum number of events of tasks that it remembers while it reads the log. */
  readonly maxRemembered?: number
  readonly onProgress?: (done: number, what: string) => void
}

/** The tables whose compared rows a report counts, and the names it gives them. */
const counted = {
  tasks: taskTables.tasks.name,
  timelineEvents: 'timeline.events',
  tenants: 'access.tenants',
  tokens: 'access.tokens',
  files: 'files.files',
  /** Files kept by providers. */
  uploads: 'voices.uploads',
  voices: 'voices.voices',
  proposals: 'proposals.proposals',
  assets: 'assets.assets',
  assetGroups: 'assets.groups',
  verifications: 'assets.verifications',
} as const

export interface AuditReport extends Readonly<Record<keyof typeof counted, number>> {
  readonly ok: boolean
  /** Position at which this audit began: an earlier audit found everything before it correct. */
  readonly resumedFrom: string | undefined
  /**
   * The parts that an earlier audit compared and this one did not, in words; empty for a full
   * audit.
   */
  readonly onTrust: readonly string[]
  /** Log and read models were compared up to here. */
  readonly position: string
  readonly events: number
  /** Events beyond the ledger's position, which were checked in the log only. */
  readonly notCompared: number
  readonly settledSources: number
  /** Rows compared with the log. */
  readonly lines: number
  readonly balances: number
  readonly priceBooks: number
  /** Compares every table that has a fold for audits. */
  readonly rows: Readonly<Record<string, number>>
  /** The hash chain over all lines ever settled. */
  readonly chain: {
    readonly lines: string
    /** Hash of the last line by the log, hex. */
    readonly head: string
    /** Hash of the last line by the rows, hex. */
    readonly standing: string
    /** Position of the first line at which the two differ; undefined when none does. */
    readonly brokenAt: string | undefined
  }
  readonly findings: readonly Finding[]
  readonly findingsInAll: number
}

/**
 * Compares every row of every read model with the log, which it reads from its start or from where
 * an earlier audit ended. It only reads, in bounded memory, while the gateway continues to run.
 */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const run = new Run(options)
  return run.run()
}

class Run {
  readonly #options: AuditOptions
  readonly #findings = new Findings()
  readonly #pass: LogPass
  #walk: AuditState['walk']
  /** Whether the lines that an earlier audit compared are unchanged. */
  #linesHold = true
  /** Until the walk over tasks ends, progress reports show it. */
  #walking = true
  #keptMs = monotonicClock.nowMs()
  readonly #intervalMs: number
  /** Number of compared rows, by table. */
  readonly #compared = new Map<string, number>()

  constructor(options: AuditOptions) {
    this.#options = options
    this.#intervalMs = options.stateIntervalMs ?? STATE_INTERVAL_MS
    this.#walk = options.resume?.walk ?? {}
    const { pool, log, models, settleTask, maxRemembered, resume } = options
    const deps = { pool, log, models, settleTask, maxRemembered, findings: this.#findings }
    const onStretch = async (): Promise<void> => {
      this.#progress(this.#pass.events, 'events of the log')
      await this.#keep(this.#intervalMs)
    }
    this.#pass = new LogPass({ ...deps, onStretch }, beginningOf(resume))
  }

  async run(): Promise<AuditReport> {
    const { pool, log, resume } = this.#options
    const findings = this.#findings
    if (resume) {
      await checkSameLog(log, resume)
      await this.#recallPriceBooks(BigInt(resume.position))
      const shown = (lines: number): void => this.#progress(lines, 'lines of earlier audits')
      this.#linesHold = await checkEarlierLines(pool, resume, findings, shown)
      const tenants = resume.balances.map(({ tenantId }) => tenantId)
      // Months with wrong lines would be reported a second time.
      if (this.#linesHold)
        await this.#pass.closedPeriods.checkAgain(tenants, BigInt(resume.position))
    }
    const end = await log.endPosition()
    if (end !== undefined) await this.#pass.readTo(end)
    await this.#pass.close()
    await this.#keep(0)
    // Postgres sums the periods while the audit compares tasks with the log.
    const [, periods] = await allSettledOrThrow([this.#walkTasks(), this.#auditPeriods()])
    await this.#walkOthers()
    // Counts over wrong rows would be reported a second time.
    if (!findings.of('assets.')) await auditAssetCounts({ pool, findings })
    const priceBooks = await comparePriceBooks({ pool, log, findings })
    findings.add(periods)
    await reportPassedOver(pool, findings)
    // Totals over wrong rows would be reported a second time.
    if (!findings.of('ledger')) await auditTotals({ pool, findings })
    await this.#keep(0)
    return this.#report(priceBooks)
  }

  async #auditPeriods(): Promise<Findings> {
    // If the lines themselves differ from the log, their sums prove nothing about the totals.
    if (!this.#linesHold) return new Findings()
    const { wrong, unappliedPeriods: unapplied } = this.#pass.ledger
    return auditAllPeriods({ pool: this.#options.pool, wrong, unapplied }, (tenants) => {
      if (!this.#walking) this.#progress(tenants, 'tenants, totals by time')
    })
  }

  /** Compares the rows of tasks, then the counts over them. */
  async #walkTasks(): Promise<void> {
    const { pool, log } = this.#options
    const findings = this.#findings
    const { comparedTasks, places, position, tables } = this.#pass
    const tasks = tables.find(({ table }) => table.name === counted.tasks)
    const corrections = new CountCorrections(places)
    const onCompared = (row: ComparedRow): void => {
      if (row.of === tasks) corrections.take(row)
    }
    const stream = taskStream
    const walk = new StreamWalk({ pool, log, findings, stream, tables, onCompared })
    const changedAfter = this.#walk.done === undefined ? undefined : BigInt(this.#walk.done)
    const began = this.#walk.began ?? position.toString()
    const from = this.#walk.after ?? ''
    const left = await comparedTasks.left(walk, { after: from, changedAfter })
    this.#progress(walk.compared.get(counted.tasks) ?? 0, 'tasks')
    for (let after = left && from; after !== undefined;) {
      after = await walk.page({ after, changedAfter, left })
      if (after === undefined) break
      this.#walk = { ...this.#walk, began, after }
      await this.#keep(this.#intervalMs)
    }
    await this.#compareNativeIds(changedAfter)
    this.#walk = { done: began }
    this.#walking = false
    this.#count(walk.compared)
    if (tasks) await corrections.takeMissing(log, tasks, position)
    if (corrections.all.overflowed || places.overflowed)
      findings.push({
        code: 'not_compared',
        table: 'tasks.counts',
        key: 'counts',
        position: '',
        message: 'the counts were not compared: too many tasks are wrong',
      })
    else await auditCounts({ pool, findings, corrections: corrections.all })
  }

  /** Finds work of a provider that was settled for two tasks. The walk has compared the rows it reads. */
  async #compareNativeIds(after = BEFORE_ALL_ROWS): Promise<void> {
    const twins = await inSnapshot(this.#options.pool, ({ db }) =>
      settledTwins(db, { after, limit: MAX_FINDINGS }),
    )
    for (const { platformId, channelId, nativeId, other, position } of twins)
      this.#findings.push({
        code: 'settled_twice',
        table: 'log',
        key: platformId,
        position: position.toString(),
        message: `${nativeId} of ${channelId} is settled for ${other} too`,
      })
  }

  /** Compares the rows of all other streams, however far an earlier audit came. */
  async #walkOthers(): Promise<void> {
    const { pool, log } = this.#options
    const { tables } = this.#pass
    for (const stream of new Set(tables.map((of) => of.stream))) {
      if (stream === undefined || stream === taskStream) continue
      const walk = new StreamWalk({ pool, log, findings: this.#findings, stream, tables })
      for (let after: string | undefined = ''; after !== undefined;)
        after = await walk.page({ after })
      this.#count(walk.compared)
    }
  }

  #count(compared: ReadonlyMap<string, number>): void {
    for (const [table, rows] of compared) this.#compared.set(table, rows)
  }

  /** Reads the price books that settlements after this position may still use. */
  async #recallPriceBooks(position: bigint): Promise<void> {
    for await (const event of readTo(this.#options.log, priceBookStream, position))
      if (event.type === 'PriceBookPublished') this.#pass.checks.publish(event)
  }

  /** Saves the state, unless something is wrong: the next audit must find it again. */
  async #keep(intervalMs: number): Promise<void> {
    const { onState } = this.#options
    if (!onState || this.#findings.count > 0 || !this.#pass.models.complete) return
    if (monotonicClock.nowMs() - this.#keptMs < intervalMs) return
    this.#keptMs = monotonicClock.nowMs()
    const state = stateOf(this.#pass, this.#walk)
    if (state) await onState(state)
  }

  #progress(done: number, what: string): void {
    this.#options.onProgress?.(done, what)
  }

  #counts(): Readonly<Record<keyof typeof counted, number>> {
    const rows = Object.entries(counted).map(([name, table]) => [
      name,
      this.#compared.get(table) ?? 0,
    ])
    return Object.fromEntries(rows)
  }

  #report(priceBooks: number): AuditReport {
    const { chain, ledger, eventRows, checks } = this.#pass
    for (const { compared } of eventRows) this.#count(compared)
    const { resume, models } = this.#options
    const ofTasks = this.#pass.tables.filter(({ stream }) => stream === taskStream)
    return {
      ok: this.#findings.count === 0,
      resumedFrom: resume?.position,
      onTrust: resume ? onTrust(resume, models, ofTasks) : [],
      position: this.#pass.position.toString(),
      events: this.#pass.events,
      notCompared: this.#pass.notCompared,
      settledSources: checks.settled,
      lines: ledger.compared,
      balances: this.#pass.balancesCompared,
      ...this.#counts(),
      priceBooks,
      rows: Object.fromEntries(this.#compared),
      chain: {
        lines: chain.head.lines.toString(),
        head: chain.head.hash,
        standing: chain.storedHead,
        brokenAt: chain.brokenAt,
      },
      findings: this.#findings.kept,
      findingsInAll: this.#findings.count,
    }
  }
}
