import type { Pool } from 'pg'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { priceBookStream } from '../../domain/pricing/events.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { walkTenants, walkTokens } from './access-walk.ts'
import { auditAssetCounts } from './asset-counts.ts'
import { walkAssets } from './asset-walk.ts'
import { Balances } from './balances.ts'
import { auditCounts } from './counts.ts'
import { walkFiles } from './file-walk.ts'
import { type Finding, Findings } from './findings.ts'
import { NO_LINES } from './line-chain.ts'
import { BEFORE_ALL, LogPass, type Beginning } from './log-pass.ts'
import { auditPeriods } from './periods.ts'
import { comparePriceBooks } from './price-books.ts'
import type { ReadModel } from './read-models.ts'
import { beginningOf, checkEarlierLines, checkSameLog, onTrust, stateOf } from './resume.ts'
import type { AuditState } from './state.ts'
import { readTo } from './streams.ts'
import { TaskWalk } from './task-walk.ts'
import { auditTotals } from './totals.ts'

/** How often the audit saves its state, by default. */
const STATE_INTERVAL_MS = 5_000

export interface AuditOptions {
  readonly pool: Pool
  readonly log: EventLog
  /** The read models as this program knows them. */
  readonly models: readonly ReadModel[]
  /** Where an earlier audit ended; undefined audits from the start of the log. */
  readonly resume?: AuditState | undefined
  /** Saves how far the audit found everything correct. */
  readonly onState?: (state: AuditState) => Promise<void>
  readonly stateIntervalMs?: number
  readonly onProgress?: (done: number, what: string) => void
}

export interface AuditReport {
  readonly ok: boolean
  /** Where this audit began: an earlier audit found everything before it correct. */
  readonly resumedFrom: string | undefined
  /** What an earlier audit compared and this one did not, in words; empty for a full audit. */
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
  readonly tasks: number
  readonly timelineEvents: number
  readonly tenants: number
  readonly tokens: number
  readonly files: number
  /** Files kept by providers. */
  readonly uploads: number
  readonly voices: number
  readonly assets: number
  readonly assetGroups: number
  readonly verifications: number
  readonly priceBooks: number
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
 * an earlier audit ended. It only reads, in bounded memory, while the gateway goes on running.
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

  constructor(options: AuditOptions) {
    this.#options = options
    this.#intervalMs = options.stateIntervalMs ?? STATE_INTERVAL_MS
    this.#walk = options.resume?.walk ?? {}
    const { pool, log, models, resume } = options
    const deps = { pool, log, models, findings: this.#findings }
    const onStretch = async (): Promise<void> => {
      this.#progress(this.#pass.events, 'events of the log')
      await this.#keep(this.#intervalMs)
    }
    this.#pass = new LogPass({ ...deps, onStretch }, resume ? beginningOf(resume) : fromTheStart())
  }

  async run(): Promise<AuditReport> {
    const { pool, log, resume } = this.#options
    const findings = this.#findings
    if (resume) {
      await checkSameLog(log, resume)
      await this.#recallPriceBooks(BigInt(resume.position))
      const shown = (lines: number): void => this.#progress(lines, 'lines of earlier audits')
      this.#linesHold = await checkEarlierLines(pool, resume, findings, shown)
    }
    const end = await log.endPosition()
    if (end !== undefined) await this.#pass.readTo(end)
    await this.#pass.close()
    await this.#keep(0)
    // Postgres sums the periods while the audit compares tasks with the log.
    const [tasks, periods] = await allSettledOrThrow([this.#walkTasks(), this.#auditPeriods()])
    const tenants = await walkTenants({ pool, log, findings })
    const tokens = await walkTokens({ pool, log, findings })
    const walked = await walkFiles({ pool, log, findings })
    const library = await walkAssets({ pool, log, findings })
    // Counts over wrong rows would be reported a second time.
    if (!findings.of('assets.')) await auditAssetCounts({ pool, findings })
    const priceBooks = await comparePriceBooks({ pool, log, findings })
    findings.add(periods)
    // Totals over wrong rows would be reported a second time.
    if (!findings.of('ledger')) await auditTotals({ pool, findings })
    await this.#keep(0)
    return this.#report({ tasks, tenants, tokens, ...walked, ...library, priceBooks })
  }

  async #auditPeriods(): Promise<Findings> {
    const all = new Findings()
    // If the lines themselves are not the log's, their sums prove nothing about the totals.
    if (!this.#linesHold) return all
    const { pool } = this.#options
    const { wrong, unappliedPeriods: missed } = this.#pass.ledger
    // Side by side, because Postgres does most of the work.
    const done = { days: 0, hours: 0, quarters: 0 }
    const audits = (['days', 'hours', 'quarters'] as const).map(async (table) => {
      const findings = new Findings()
      const shown = (tenants: number): void => {
        done[table] = tenants
        if (!this.#walking)
          this.#progress(Math.min(...Object.values(done)), 'tenants, totals by time')
      }
      const known = { corrections: wrong[table], unapplied: missed[table] }
      await auditPeriods({ pool, table, findings, ...known }, shown)
      return findings
    })
    for (const found of await allSettledOrThrow(audits)) all.add(found)
    return all
  }

  /** Compares the rows of tasks, then the counts over them. */
  async #walkTasks(): Promise<number> {
    const { pool, log } = this.#options
    const findings = this.#findings
    const { places, position } = this.#pass
    const { unapplied } = this.#pass.ledger
    const walk = new TaskWalk({ pool, log, findings, unapplied, places })
    const changedAfter = this.#walk.done === undefined ? undefined : BigInt(this.#walk.done)
    const began = this.#walk.began ?? position.toString()
    for (let after = this.#walk.after ?? ''; ;) {
      const next = await walk.page(after, changedAfter)
      this.#progress(walk.compared, 'tasks')
      if (next === undefined) break
      after = next
      this.#walk = { ...this.#walk, began, after }
      await this.#keep(this.#intervalMs)
    }
    this.#walk = { done: began }
    this.#walking = false
    await walk.countMissing(position)
    const { corrections } = walk
    if (corrections.overflowed || places.overflowed)
      findings.push({
        code: 'not_compared',
        table: 'tasks.counts',
        key: 'counts',
        position: '',
        message: 'too many tasks are wrong to say what the counts should be',
      })
    else await auditCounts({ pool, findings, corrections })
    return walk.compared
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

  #report(
    compared: Pick<
      AuditReport,
      | 'tasks'
      | 'tenants'
      | 'tokens'
      | 'files'
      | 'uploads'
      | 'voices'
      | 'assets'
      | 'assetGroups'
      | 'verifications'
      | 'priceBooks'
    >,
  ): AuditReport {
    const { chain, ledger, timeline, checks } = this.#pass
    return {
      ok: this.#findings.count === 0,
      resumedFrom: this.#options.resume?.position,
      onTrust: this.#options.resume ? onTrust(this.#options.resume) : [],
      position: this.#pass.position.toString(),
      events: this.#pass.events,
      notCompared: this.#pass.notCompared,
      settledSources: checks.settled,
      lines: ledger.compared,
      balances: this.#pass.balancesCompared,
      timelineEvents: timeline.compared,
      ...compared,
      chain: {
        lines: chain.head.lines.toString(),
        head: chain.head.hash,
        standing: chain.standing,
        brokenAt: chain.brokenAt,
      },
      findings: this.#findings.kept,
      findingsInAll: this.#findings.count,
    }
  }
}

function fromTheStart(): Beginning {
  return {
    position: BEFORE_ALL,
    chain: { lines: 0n, hash: NO_LINES },
    balances: new Balances(),
    scopes: [],
    last: undefined,
  }
}
