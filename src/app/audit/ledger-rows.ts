import { rowsBetween, rowsByKey } from '../../../projections/engine/audited-rows.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { ledgerTables } from '../../../projections/ledger/query.ts'
import { timelineTables } from '../../../projections/timeline/query.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { Balances } from './balances.ts'
import { differencesOf, rowDiffers, rowMissing, type Expected } from './compare.ts'
import {
  settledSource,
  withoutSettlement,
  type LedgerEffect,
  type Settling,
} from './expected-ledger.ts'
import type { Finding, Findings } from './findings.ts'
import type { LineChain, Link } from './line-chain.ts'
import { LineCorrections } from './line-corrections.ts'
import type { LogChecks } from './log-checks.ts'
import {
  judge,
  matchStretch,
  nameOf,
  pushInOrder,
  type Appended,
  type RowSource,
  type Matched,
} from './match.ts'
import { rowsMatch } from './stretch-digest.ts'

/** Events that the ledger skipped, recorded to excuse the rows that depend on them. */
const MAX_UNAPPLIED = 10_000

const lines: Appended = { table: ledgerTables.lines, key: 'line_id', unique: true }
const settlements: Appended = { table: ledgerTables.settlements, key: 'source_id', unique: true }
const entries: Appended = {
  table: ledgerTables.entries,
  key: 'n',
  unique: false,
  nameOf: (row) => `${String(row['source_id'])} ${String(row['kind'])}`,
}

const adjustments: Appended = {
  table: ledgerTables.adjustments,
  key: 'adjustment_id',
  unique: true,
}
const grants: Appended = { table: ledgerTables.grants, key: 'grant_id', unique: true }
const besideLines = ['settlements', 'entries', 'adjustments', 'grants'] as const
const kinds = ['lines', ...besideLines] as const
const appended = { lines, settlements, entries, adjustments, grants } as const
/** Tables that are compared in stretches of the log. */
export const ledgerStretches: readonly Appended[] = Object.values(appended)

interface Deps {
  readonly chain: LineChain
  readonly checks: LogChecks
  readonly findings: Findings
  readonly log: EventLog
}

/** Compares lines, settlements and entries with the log, a stretch at a time. */
export class LedgerRows {
  /** Corrections for sums over lines known to be wrong. */
  readonly wrong = new LineCorrections()
  /** Sums of the events that the ledger skipped: derived rows may or may not include them. */
  readonly unappliedPeriods = new LineCorrections()
  /** Amounts that the balances may lack because of such events. */
  readonly unappliedBalances = new Balances()
  readonly unapplied = new Set<bigint>()
  compared = 0
  readonly #relocated = new Set<string>()
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Compares a stretch that the ledger has passed. */
  async compare(look: RowSource, effects: readonly LedgerEffect[]): Promise<void> {
    const due = effects.flatMap((effect) => effect.lines)
    const links = this.#deps.chain.ahead(due)
    // Queried together: Postgres reads the next table while the audit compares the last.
    const [inLines, ...inOthers] = await allSettledOrThrow([
      this.#match(look, 'lines', due, links && atPlaces(due, links)),
      ...besideLines.map((kind) => {
        const expected = effects.flatMap((effect) => effect[kind])
        return this.#match(look, kind, expected, expected)
      }),
    ])
    this.compared += inLines.found.agreed + inLines.found.pairs.length
    const findings = this.#missingOf(
      effects,
      new Set([inLines, ...inOthers].flatMap(({ found }) => found.missing)),
    )
    if (links && inLines.found.agreed > 0) this.#deps.chain.advance(links)
    else findings.push(...this.#judgeLines(due, inLines.found))
    for (const { of, found } of inOthers) findings.push(...judge(of, found))
    pushInOrder(this.#deps.findings, findings)
  }

  /** The rows of one kind in a stretch. */
  async #match(
    look: RowSource,
    kind: (typeof kinds)[number],
    expected: readonly Expected[],
    exact: readonly Expected[] | undefined,
  ): Promise<{ readonly of: Appended; readonly found: Matched }> {
    const of = appended[kind]
    return { of, found: await matchStretch(look, of, expected, this.#relocated, exact) }
  }

  /** Findings about missing rows; one finding when all rows of an event are missing. */
  #missingOf(effects: readonly LedgerEffect[], absent: ReadonlySet<Expected>): Finding[] {
    const findings: Finding[] = []
    if (absent.size === 0) return findings
    for (const effect of effects) {
      const rows = kinds.flatMap((kind) => effect[kind])
      const gone = rows.filter((row) => absent.has(row))
      const all = gone.length > 0 && gone.length === rows.length
      if (all) this.#excuse(effect)
      // When the log requires only one row, the finding names that row.
      findings.push(
        ...(all && rows.length > 1 ? [notApplied(effect)] : this.#missing(effect, gone)),
      )
    }
    return findings
  }

  /**
   * The effects that count: of a settlement whose source the log settled before, no money. It is a
   * finding, and the ledger skips it. This is only checked where the rows differ from the log.
   */
  async counted(
    { db, digests }: Pick<RowSource, 'db' | 'digests'>,
    effects: readonly LedgerEffect[],
  ): Promise<readonly LedgerEffect[]> {
    const expected = effects.flatMap((effect) => effect.settlements)
    const digest = digests?.get(settlements.table)
    if (expected.length === 0 || (digest && rowsMatch(settlements, expected, digest)))
      return effects
    const settled = new Map<string, bigint>()
    const keys = expected.map((row) => String(row['source_id']))
    for (const row of await rowsByKey(db, settlements.table, settlements.key, keys))
      settled.set(String(row['source_id']), BigInt(String(row['position'])))
    const here = new Set<string>()
    const counted: LedgerEffect[] = []
    for (const effect of effects) {
      const { event } = effect
      if (event.type !== 'CallSettled' && event.type !== 'TaskSettled') counted.push(effect)
      else {
        const sourceId = settledSource(event)
        const isRepeat =
          here.has(sourceId) || (await this.#isEarlier(db, event, settled.get(sourceId)))
        here.add(sourceId)
        if (isRepeat) this.#deps.checks.settledTwice(event, 'an earlier settlement exists')
        counted.push(isRepeat ? withoutSettlement(effect) : effect)
      }
    }
    return counted
  }

  /** Excuses derived rows that lack this event: the finding is not repeated for them. */
  #excuse({ event, balance, lines: unbilled }: LedgerEffect): void {
    if (this.unapplied.size < MAX_UNAPPLIED) this.unapplied.add(event.position)
    if (balance) this.unappliedBalances.apply(balance, event.position)
    for (const line of unbilled) this.unappliedPeriods.add(line, 1n)
  }

  #missing(effect: LedgerEffect, gone: readonly Expected[]): readonly Finding[] {
    const { position } = effect.event
    return gone.map((row) => {
      const of = appended[kinds.find((kind) => effect[kind].includes(row)) ?? 'entries']
      if (of === lines) this.wrong.add(row, 1n)
      return rowMissing({ table: of.table.name, key: nameOf(of, row), position }, row)
    })
  }

  /** Judges lines and their places in the chain; a line that differs gets one finding. */
  #judgeLines(expected: readonly Expected[], matched: Matched): readonly Finding[] {
    const findings: Finding[] = []
    const rows = new Map(matched.pairs)
    for (const row of matched.unexplained) {
      this.wrong.add(row, -1n)
      this.#deps.chain.stray(row)
    }
    for (const line of expected) {
      const row = rows.get(line)
      const misplaced = this.#deps.chain.next(line, row)
      if (row === undefined) continue
      const differing = differencesOf(line, row)
      const differences = differing.length > 0 ? differing : misplaced
      if (differences.length === 0) continue
      const name = { table: lines.table.name, key: nameOf(lines, line), position: line['position'] }
      findings.push(rowDiffers(name, differences))
      this.wrong.add(line, 1n)
      this.wrong.add(row, -1n)
    }
    return [...findings, ...judge(lines, { ...matched, pairs: [] })]
  }

  /** Whether the log itself settles the same source at this earlier position. */
  async #isEarlier(db: Queryable, event: Settling, earlier: bigint | undefined): Promise<boolean> {
    if (earlier === undefined || earlier >= event.position) return false
    const place = { after: earlier - 1n, upTo: earlier, limit: 1 }
    const [row] = await rowsBetween(db, timelineTables.events, place)
    if (row === undefined) return false
    const from = BigInt(String(row['revision']))
    const [before] = await this.#deps.log.readStream(String(row['stream']), { from, limit: 1 })
    return (
      before?.type === event.type &&
      before.position === earlier &&
      settledSource(before) === settledSource(event)
    )
  }
}

function atPlaces(due: readonly Expected[], links: readonly Link[]): readonly Expected[] {
  return due.map((line, at) => ({ ...line, ...links[at] }))
}

/** One finding for an event of which no row exists. */
function notApplied({
  event,
  lines: unbilled,
  settlements: [row],
  entries: moves,
}: LedgerEffect): Finding {
  const money = row
    ? `${unbilled.length} line(s), ${String(row['amount'])} ${String(row['currency'])} of ${String(row['tenant_id'])}`
    : `${moves.length} entries`
  return {
    code: 'event_not_applied',
    table: 'ledger',
    key: String(row?.['source_id'] ?? moves[0]?.['source_id']),
    position: event.position.toString(),
    message: `the ledger has nothing of this ${event.type}: ${money}; what follows from it lacks it too`,
  }
}
