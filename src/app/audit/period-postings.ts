import type { Pool } from 'pg'
import {
  type AuditedRow,
  type AuditedTable,
  type PostedStretch,
  rowsInTime,
  type TimePlace,
} from '../../../projections/engine/audited-rows.ts'
import { ledgerTables } from '../../../projections/ledger/query.ts'
import { coveredMembers } from './line-chain.ts'
import { inSnapshot } from './snapshot.ts'

/**
 * The postings of a closed month in the order of their leaves, with each leaf by docs/verify.md. The rows are those
 * that the pass has compared with the log, read once more: in memory they would have to be sorted by time, and a month
 * may have millions.
 */

/** Rows of one table read in one snapshot. */
const PAGE_ROWS = 2_000

/** The figure that a posting moves; no event ends credit yet. */
export type MovedFigure = 'paid' | 'promotional' | 'usage' | 'grants' | 'settled'

/** A posting of a closed month. */
export interface PeriodPosting {
  /** In the form of a column of times. */
  readonly at: string
  readonly moves: MovedFigure
  readonly leaf: string
  readonly row: AuditedRow
}

interface Source {
  readonly table: AuditedTable
  readonly time: string
  /** The column that orders rows of one time; of lines their place in the chain, which is that of the log. */
  readonly order: string
  readonly moves: (row: AuditedRow) => MovedFigure
  readonly leaf: (row: AuditedRow) => readonly unknown[]
}

/** A column of times has microseconds, a leaf has milliseconds. */
function inMs(time: unknown): string {
  return String(time).replace(/000Z$/, 'Z')
}

const sources: readonly Source[] = [
  {
    table: ledgerTables.lines,
    time: 'settled_at',
    order: 'seq',
    moves: () => 'settled',
    leaf: (row) => ['line', ...coveredMembers(row)],
  },
  {
    table: ledgerTables.grants,
    time: 'granted_at',
    order: 'position',
    moves: (row) => (row['credit'] === 'promotional' ? 'promotional' : 'paid'),
    leaf: (row) => [
      'grant',
      row['grant_id'],
      inMs(row['granted_at']),
      ...['tenant_id', 'currency', 'amount', 'credit', 'reference'].map((name) => row[name]),
      null,
      row['reason'],
      row['position'],
    ],
  },
  {
    table: ledgerTables.adjustments,
    time: 'posted_at',
    order: 'position',
    moves: (row) => (row['line_id'] === null ? 'grants' : 'usage'),
    leaf: (row) => [
      'adjustment',
      row['adjustment_id'],
      inMs(row['posted_at']),
      ...['tenant_id', 'currency', 'amount'].map((name) => row[name]),
      row['line_id'] === null ? 'grant' : 'line',
      row['line_id'] ?? row['grant_id'],
      ...['code', 'reason', 'position'].map((name) => row[name]),
    ],
  },
]

/** The rows of one table in the order of time, a page in memory. */
class TimeCursor {
  current: AuditedRow | undefined
  readonly of: Source
  readonly #pool: Pool
  readonly #stretch: PostedStretch
  #page: readonly AuditedRow[] = []
  #index = 0
  #last: TimePlace | undefined

  constructor(pool: Pool, of: Source, stretch: PostedStretch) {
    this.#pool = pool
    this.of = of
    this.#stretch = stretch
  }

  async advance(): Promise<void> {
    this.#index += 1
    const isReadAll = this.#last !== undefined && this.#page.length < PAGE_ROWS
    if (this.#index >= this.#page.length && !isReadAll) await this.#nextPage()
    this.current = this.#page[this.#index]
  }

  async #nextPage(): Promise<void> {
    const { table, time, order } = this.of
    const page = { after: this.#last, limit: PAGE_ROWS }
    this.#page = await inSnapshot(this.#pool, ({ db }) =>
      rowsInTime(db, table, { time, order }, this.#stretch, page),
    )
    this.#index = 0
    const last = this.#page.at(-1)
    if (last) this.#last = { at: String(last[time]), order: BigInt(String(last[order])) }
  }

  /** Whether its row comes before that of another one. */
  isBefore(other: TimeCursor): boolean {
    if (this.current === undefined || other.current === undefined)
      return other.current === undefined
    const [at, than] = [this, other].map(({ of, current }) => String(current?.[of.time]))
    if (at !== than) return String(at) < String(than)
    return BigInt(String(this.current['position'])) < BigInt(String(other.current['position']))
  }
}

/** The postings of a stretch of time, in the order time, position, number of the line. */
async function* postingsIn(pool: Pool, stretch: PostedStretch): AsyncGenerator<PeriodPosting> {
  const cursors = sources.map((of) => new TimeCursor(pool, of, stretch))
  for (const cursor of cursors) await cursor.advance()
  for (;;) {
    const next = cursors.reduce((first, cursor) => (cursor.isBefore(first) ? cursor : first))
    const { current: row, of } = next
    if (row === undefined) return
    const leaf = JSON.stringify(of.leaf(row))
    yield { at: String(row[of.time]), moves: of.moves(row), leaf, row }
    await next.advance()
  }
}

/** The postings that a month has: those that it had at its position, less those of the period before. */
export interface PeriodMembers {
  readonly tenantId: string
  readonly currency: string
  readonly to: string
  readonly position: bigint
  /** The standing period before: its end and its position; undefined: there is none. */
  readonly before: { readonly to: string; readonly position: bigint } | undefined
}

/** Before the position of every posting. */
const BEFORE_ALL = -(2n ** 63n)

export async function* postingsOf(
  pool: Pool,
  { tenantId, currency, to, position, before }: PeriodMembers,
): AsyncGenerator<PeriodPosting> {
  const account = { tenantId, currency, upTo: position }
  // All that is late is dated before all else.
  if (before)
    yield* postingsIn(pool, { ...account, from: undefined, to: before.to, after: before.position })
  yield* postingsIn(pool, { ...account, from: before?.to, to, after: BEFORE_ALL })
}
