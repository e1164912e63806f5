import type { Pool } from 'pg'
import {
  nextKeys,
  rowsByKey,
  type AuditedRow,
  type StreamTable,
} from '../../../projections/engine/audited-rows.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { differencesOf, rowDiffers, rowMissing, rowUnexplained } from './compare.ts'
import { folded, type Findings } from './findings.ts'
import { inSnapshot, type Snapshot } from './snapshot.ts'
import { readEach, readTo } from './streams.ts'

/** Owners looked at in one snapshot: with one row each, and with several. */
const PAGE_OWNERS = 250
const PAGE_OWNERS_OF_MANY = 50

/** A table of a read model, as far as that has come. */
export interface WalkedTable extends StreamTable {
  readonly model: string
  /** The rows without events that the read model is known to have skipped: those are right too. */
  readonly excused?: StreamTable['rows']
}

/** A row that was compared, and the one that the log requires. */
export interface ComparedRow {
  readonly of: WalkedTable
  readonly key: string
  readonly expected: AuditedRow | undefined
  readonly stored: AuditedRow
  readonly differs: boolean
}

interface WalkDeps {
  readonly pool: Pool
  readonly log: EventLog
  readonly findings: Findings
  /** The stream of an owner. */
  readonly stream: (owner: string) => string
  /** Tables of streams of this kind, and tables of any stream; others are left out. */
  readonly tables: readonly WalkedTable[]
  readonly onCompared?: (row: ComparedRow) => void
}

type Rows = readonly AuditedRow[]

/** Rows of some owners at one moment. */
interface StreamPage {
  readonly owners: readonly string[]
  /** In the order of the tables, by owner. */
  readonly rows: readonly ReadonlyMap<string, Rows>[]
  readonly position: Snapshot['position']
  readonly passedOver: Snapshot['passedOver']
}

/**
 * Compares rows with the fold of their streams, up to the position of the read model when the row
 * was read, so that later writes do not matter. It keeps no state between pages.
 */
export class StreamWalk {
  /** Number of compared rows, by table. */
  readonly compared = new Map<string, number>()
  readonly #deps: WalkDeps
  readonly #tables: readonly WalkedTable[]
  readonly #types: ReadonlySet<string>

  constructor(deps: WalkDeps) {
    const { stream, tables } = deps
    this.#deps = deps
    this.#tables = tables.filter((of) => of.stream === stream || of.stream === undefined)
    this.#types = new Set(this.#tables.flatMap(({ types }) => [...types]))
  }

  /**
   * Compares the rows of the next owners after one; returns the last of them, undefined at the end.
   * With `changedAfter` only owners with a row that changed after that position.
   */
  async page(after: string, changedAfter?: bigint): Promise<string | undefined> {
    const own = this.#tables.filter(({ stream }) => stream !== undefined)
    const limit = own.some(({ owner, key }) => owner !== key) ? PAGE_OWNERS_OF_MANY : PAGE_OWNERS
    const columns = own
      // Rows without a position do not say when they changed: a full audit compares them.
      .filter(({ table }) => changedAfter === undefined || 'position' in table.columns)
      .map(({ table, owner }) => ({ table: table.name, column: owner, changedAfter }))
    const page = await inSnapshot(
      this.#deps.pool,
      async ({ db, position, passedOver }): Promise<StreamPage> => {
        const owners = await nextKeys(db, columns, { after, limit })
        const rows = await allSettledOrThrow(
          this.#tables.map(async ({ table, owner }) =>
            byColumn(await rowsByKey(db, table, owner, owners), owner),
          ),
        )
        return { owners, rows, position, passedOver }
      },
    )
    await readEach(page.owners, async (owner) => {
      this.#compare(owner, await this.#history(owner, page), page)
    })
    return page.owners.length < limit ? undefined : page.owners.at(-1)
  }

  async #history(owner: string, { position }: StreamPage): Promise<readonly RecordedEvent[]> {
    const positions = this.#tables.map(({ model }) => position(model))
    const last = positions.reduce((most, each) => (each > most ? each : most))
    const events: RecordedEvent[] = []
    for await (const event of readTo(this.#deps.log, this.#deps.stream(owner), last))
      if (this.#types.has(event.type)) events.push(event)
    return events
  }

  #compare(
    owner: string,
    history: readonly RecordedEvent[],
    { rows, position, passedOver }: StreamPage,
  ): void {
    for (const [n, of] of this.#tables.entries()) {
      const stored = rows[n]?.get(owner) ?? []
      if (of.stream !== undefined)
        this.compared.set(of.table.name, (this.compared.get(of.table.name) ?? 0) + stored.length)
      else if (stored.length === 0) continue
      const reached = position(of.model)
      const passed = passedOver(of.model)
      const events = history.filter(
        (event) => event.position <= reached && !passed.has(event.position),
      )
      const name = { table: of.table.name, key: owner }
      const expected = folded(this.#deps.findings, name, () => of.rows(events))
      if (expected) this.#judge(of, owner, { events, expected, stored })
    }
  }

  #judge(
    of: WalkedTable,
    owner: string,
    found: {
      readonly events: readonly RecordedEvent[]
      readonly expected: ReadonlyMap<string, AuditedRow>
      readonly stored: Rows
    },
  ): void {
    const left = new Map(found.stored.map((row) => [String(row[of.key]), row]))
    const nameOf = (key: string, { position }: AuditedRow) => {
      return { table: of.table.name, key: key === owner ? owner : `${owner} ${key}`, position }
    }
    for (const [key, expected] of found.expected) {
      const stored = left.get(key)
      left.delete(key)
      if (stored === undefined) {
        // The pass over the log finds missing rows of those that stay for ever.
        if (!of.begun && !of.mayLack?.(expected))
          this.#deps.findings.push(rowMissing(nameOf(key, expected), expected))
        continue
      }
      const differences = differencesOf(expected, stored)
      const differs = differences.length > 0 && !isExcused(of, found.events, key, stored)
      if (differs) this.#deps.findings.push(rowDiffers(nameOf(key, expected), differences))
      this.#deps.onCompared?.({ of, key, expected, stored, differs })
    }
    // Rows of any kind of stream are searched for elsewhere.
    if (of.stream === undefined) return
    for (const [key, stored] of left) {
      this.#deps.findings.push(rowUnexplained(nameOf(key, stored), stored))
      this.#deps.onCompared?.({ of, key, expected: undefined, stored, differs: true })
    }
  }
}

function byColumn(rows: Rows, column: string): ReadonlyMap<string, Rows> {
  const groups = new Map<string, AuditedRow[]>()
  for (const row of rows) {
    const group = groups.get(String(row[column]))
    if (group) group.push(row)
    else groups.set(String(row[column]), [row])
  }
  return groups
}

function isExcused(
  { excused }: WalkedTable,
  events: readonly RecordedEvent[],
  key: string,
  stored: AuditedRow,
): boolean {
  const expected = excused?.(events).get(key)
  return expected !== undefined && differencesOf(expected, stored).length === 0
}

/** Checks that the rows which the events of a stretch begin exist: no walk over rows can miss them. */
export async function compareBegun(
  db: Queryable,
  events: readonly RecordedEvent[],
  tables: readonly StreamTable[],
  findings: Findings,
): Promise<void> {
  for (const { table, key, begun } of tables) {
    const missing = new Map<string, RecordedEvent>()
    for (const event of begun ? events : []) {
      const id = begun?.(event)
      if (id !== undefined) missing.set(id, event)
    }
    for (const row of await rowsByKey(db, table, key, [...missing.keys()]))
      missing.delete(String(row[key]))
    for (const [id, { position, data }] of missing) {
      const says = 'tenantId' in data ? { tenant_id: data.tenantId } : {}
      findings.push(rowMissing({ table: table.name, key: id, position }, says))
    }
  }
}
