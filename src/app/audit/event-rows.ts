import type { AuditedRow, EventTable, Owner } from '../../../projections/engine/audited-rows.ts'
import { sourceOf } from '../../domain/any-event.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { rowMissing } from './compare.ts'
import { folded, type Finding, type Findings } from './findings.ts'
import { judge, matchStretch, nameOf, pushInOrder, type RowSource } from './match.ts'

/** The rows that an event must have left, in the order of the tables. */
export interface EventEffect {
  readonly event: RecordedEvent
  readonly rows: readonly (AuditedRow | undefined)[]
}

/** Compares the tables of a read model whose rows are each of one event, stretch by stretch. */
export class EventRows {
  readonly model: string
  readonly tables: readonly EventTable[]
  /** Number of compared rows, by table. */
  readonly compared = new Map<string, number>()
  readonly #relocated = new Set<string>()
  readonly #findings: Findings

  constructor(model: string, tables: readonly EventTable[], findings: Findings) {
    this.model = model
    this.tables = tables
    this.#findings = findings
  }

  /** The rows that an event must have written, given the owner of its source. */
  effectOf(event: RecordedEvent, owner: Owner | undefined): EventEffect {
    const { position } = event
    const rows = this.tables.map((of) => {
      const name = { table: of.table.name, key: event.id, position: position.toString() }
      return folded(this.#findings, name, () => of.row(event, owner))
    })
    return { event, rows }
  }

  async compare(look: RowSource, effects: readonly EventEffect[]): Promise<void> {
    const matched = await allSettledOrThrow(
      this.tables.map(async (of, n) => {
        const expected = effects.flatMap(({ rows: { [n]: row } }) => (row ? [row] : []))
        return { of, found: await matchStretch(look, of, expected, this.#relocated, expected) }
      }),
    )
    for (const { of, found } of matched) {
      const before = this.compared.get(of.table.name) ?? 0
      this.compared.set(of.table.name, before + found.agreed + found.pairs.length)
    }
    const absent = new Set(matched.flatMap(({ found }) => found.missing))
    const missing = absent.size === 0 ? [] : effects.flatMap((each) => this.#missing(each, absent))
    const stored = matched.flatMap(({ of, found }) => judge(of, found))
    pushInOrder(this.#findings, [...missing, ...stored])
  }

  /** Findings about missing rows of an event; one finding when all of several are missing. */
  #missing({ event, rows }: EventEffect, absent: ReadonlySet<AuditedRow>): readonly Finding[] {
    const { position, type } = event
    const all = rows.filter((row) => row !== undefined)
    if (all.length > 1 && all.every((row) => absent.has(row)))
      return [
        {
          code: 'event_not_applied',
          table: this.model,
          key: sourceOf(event) ?? event.id,
          position: position.toString(),
          message: `the ${this.model} has nothing of this ${type}`,
        },
      ]
    return this.tables.flatMap((of, n) => {
      const row = rows[n]
      if (row === undefined || !absent.has(row)) return []
      return [rowMissing({ table: of.table.name, key: nameOf(of, row), position }, row)]
    })
  }
}
