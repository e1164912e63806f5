import type { Pool } from 'pg'
import {
  nextKeys,
  rowsByKey,
  type AuditedRow,
  type StreamTable,
} from '../../../projections/engine/audited-rows.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { differencesOf, rowDiffers, rowMissing, rowUnexplained } from './compare.ts'
import { folded, type Findings } from './findings.ts'
import { lastPosition, positionsOf, rowsOf, type OwnerRows } from './owner-rows.ts'
import { BEFORE_ALL_EVENTS, inSnapshot, type Snapshot } from './snapshot.ts'
import { readEach, readTo } from './streams.ts'

/** Owners looked at in one snapshot: with one row each, and with several. */
export const PAGE_OWNERS = 250
const PAGE_OWNERS_OF_MANY = 50
/** Owners of whose rows only the positions are read, in one snapshot. */
const PAGE_POSITIONS = 2_000

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

/** The owners that a walk visits. */
interface Visited {
  /** Only owners after this one, in their order. */
  readonly after: string
  /** Only owners with a row that changed after this position. */
  readonly changedAfter?: bigint | undefined
  /** Only these of them: their rows were counted with their positions before. */
  readonly left?: ((owner: string) => boolean) | undefined
}

/** Rows of some owners at one moment. */
interface StreamPage {
  readonly owners: readonly string[]
  readonly rows: OwnerRows
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
  /** The tables of this kind of stream, and after them those of any stream. */
  readonly #tables: readonly WalkedTable[]
  readonly #own: readonly WalkedTable[]
  readonly #types: ReadonlySet<string>

  constructor(deps: WalkDeps) {
    const { stream, tables } = deps
    this.#deps = deps
    this.#own = tables.filter((of) => of.stream === stream)
    this.#tables = [...this.#own, ...tables.filter((of) => of.stream === undefined)]
    this.#types = new Set(this.#tables.flatMap(({ types }) => [...types]))
  }

  /** Compares the rows of the next owners; returns the last of them, undefined at the end. */
  async page({ left, ...next }: Visited): Promise<string | undefined> {
    const isOfMany = this.#own.some(({ owner, key }) => owner !== key)
    const limit = isOfMany ? PAGE_OWNERS_OF_MANY : PAGE_OWNERS
    const { owners, page } = await inSnapshot(this.#deps.pool, async (snapshot) => {
      const all = await this.#nextOwners(snapshot.db, next, limit)
      const due = left ? all.filter(left) : all
      return { owners: all, page: await this.#pageOf(snapshot, due) }
    })
    if (!left) this.#count(page.rows)
    await readEach(page.owners, async (owner) => {
      this.#compare(owner, await this.#history(owner, page), page)
    })
    return owners.length < limit ? undefined : owners.at(-1)
  }

  /**
   * Reads the last position of each of the next owners, undefined where no row has any; returns the
   * last of them, undefined at the end.
   */
  async positions(
    next: Visited,
    take: (owner: string, position: bigint | undefined) => void,
  ): Promise<string | undefined> {
    const { owners, rows } = await inSnapshot(this.#deps.pool, async ({ db }) => {
      const all = await this.#nextOwners(db, next, PAGE_POSITIONS)
      return { owners: all, rows: await rowsOf(db, this.#own.map(positionsOf), all) }
    })
    this.#count(rows)
    for (const owner of owners) take(owner, lastPosition(owner, rows))
    return owners.length < PAGE_POSITIONS ? undefined : owners.at(-1)
  }

  /**
   * Compares the rows of owners with events at hand. Returns the owners whose rows differ, without
   * those that have a later event.
   */
  async differing(
    histories: ReadonlyMap<string, readonly RecordedEvent[]>,
  ): Promise<ReadonlySet<string>> {
    const { findings, pool } = this.#deps
    const page = await inSnapshot(pool, (snapshot) => this.#pageOf(snapshot, [...histories.keys()]))
    const differing = page.owners.filter((owner) => {
      const events = histories.get(owner) ?? []
      const last = events.at(-1)?.position ?? BEFORE_ALL_EVENTS
      const own = page.rows.slice(0, this.#own.length)
      if ((lastPosition(owner, own) ?? BEFORE_ALL_EVENTS) > last) return false
      const before = findings.count
      this.#compare(owner, events, page)
      return findings.count > before
    })
    return new Set(differing)
  }

  async #nextOwners(
    db: Queryable,
    { after, changedAfter }: Visited,
    limit: number,
  ): Promise<readonly string[]> {
    const columns = this.#own
      // Rows without a position do not say when they changed: a full audit compares them.
      .filter(({ table }) => changedAfter === undefined || 'position' in table.columns)
      .map(({ table, owner }) => ({ table: table.name, column: owner, changedAfter }))
    return nextKeys(db, columns, { after, limit })
  }

  async #pageOf(
    { db, position, passedOver }: Snapshot,
    owners: readonly string[],
  ): Promise<StreamPage> {
    return { owners, rows: await rowsOf(db, this.#tables, owners), position, passedOver }
  }

  #count(rows: OwnerRows): void {
    for (const [n, { table, stream }] of this.#tables.entries()) {
      if (stream === undefined) continue
      let count = this.compared.get(table.name) ?? 0
      for (const ofOwner of rows[n]?.values() ?? []) count += ofOwner.length
      this.compared.set(table.name, count)
    }
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
      if (of.stream === undefined && stored.length === 0) continue
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
      readonly stored: readonly AuditedRow[]
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
