import { rowsByKey, type AuditedRow } from '../../../projections/engine/audited-rows.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { taskTables } from '../../../projections/tasks/query.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { differencesOf, rowDiffers, rowMissing, type Expected } from './compare.ts'
import type { Findings } from './findings.ts'

/** Tasks whose row is missing or misplaced, recorded to excuse rows that depend on them. */
const MAX_ASTRAY = 1_000

/** A tenant's tasks of one family, numbered from 0 in the order of the log. */
export interface Scope {
  readonly scopeId: number
  readonly tenantId: string
  readonly family: string
  nextSeq: bigint
  /** The number of rows known to be missing: later rows may be numbered without them. */
  missing: bigint
}

/** A task's list and its place in it. */
export interface TaskPlace {
  readonly scopeId: number
  readonly seq: bigint
}

export interface Requested {
  readonly platformId: string
  readonly position: bigint
  readonly scope: Scope
  readonly seq: bigint
}

/** The place of every new task in its tenant's list by the log, and whether its row exists. */
export class TaskPlaces {
  /** Missing rows, with the place they should have. */
  readonly missing = new Map<string, TaskPlace>()
  /** Rows that have another place than this. */
  readonly displaced = new Map<string, TaskPlace>()
  overflowed = false
  readonly #scopes = new Map<string, Scope>()
  readonly #findings: Findings

  constructor(scopes: readonly Omit<Scope, 'missing'>[], findings: Findings) {
    this.#findings = findings
    for (const scope of scopes) this.#scopes.set(keyOf(scope), { ...scope, missing: 0n })
  }

  scopes(): readonly Scope[] {
    return [...this.#scopes.values()]
  }

  /** Numbers the tasks that begin in a stretch. */
  take(events: readonly RecordedEvent[]): readonly Requested[] {
    return events.flatMap((event) => {
      if (event.type !== 'TaskRequested') return []
      const { platformId } = event.data
      const scope = this.#scopeOf(event.data)
      const seq = scope.nextSeq
      scope.nextSeq += 1n
      return [{ platformId, position: event.position, scope, seq }]
    })
  }

  /** Checks that the rows of new tasks exist, at their places. */
  compare(requested: readonly Requested[], rows: readonly AuditedRow[]): void {
    const stored = new Map(rows.map((row) => [row['platform_id'], row]))
    for (const { platformId, position, scope, seq } of requested) {
      const { scopeId } = scope
      const name = { table: taskTables.tasks.name, key: platformId, position }
      const expected = { platform_id: platformId, scope_id: scopeId, seq }
      const row = stored.get(platformId)
      if (row === undefined) {
        this.#findings.push(rowMissing(name, { tenant_id: scope.tenantId, ...expected }))
        this.#keep(this.missing, platformId, { scopeId, seq })
        scope.missing += 1n
        continue
      }
      // If a row was never made, the later ones have smaller numbers.
      const without = { ...expected, seq: seq - scope.missing }
      if (differencesOf(without, row).length === 0) continue
      const differences = differencesOf(expected, row)
      if (differences.length === 0) continue
      this.#findings.push(rowDiffers(name, differences))
      this.#keep(this.displaced, platformId, { scopeId, seq })
    }
  }

  #keep(places: Map<string, TaskPlace>, platformId: string, place: TaskPlace): void {
    if (places.size < MAX_ASTRAY) places.set(platformId, place)
    else this.overflowed = true
  }

  #scopeOf(data: { readonly tenantId: string; readonly family: string }): Scope {
    const found = this.#scopes.get(keyOf(data))
    if (found) return found
    const { tenantId, family } = data
    const scope = { scopeId: this.#scopes.size, tenantId, family, nextSeq: 0n, missing: 0n }
    this.#scopes.set(keyOf(data), scope)
    return scope
  }
}

/** Reads the places of new tasks. */
export function placesOf(
  db: Queryable,
  requested: readonly Requested[],
): Promise<readonly AuditedRow[]> {
  const ids = requested.map(({ platformId }) => platformId)
  return rowsByKey(db, taskTables.places, 'platform_id', ids)
}

function keyOf({ tenantId, family }: Pick<Scope, 'tenantId' | 'family'>): string {
  return `${family} ${tenantId}`
}

/** The row of a scope by the log. */
export function scopeRow(scope: Scope): Expected {
  return {
    scope_id: scope.scopeId,
    tenant_id: scope.tenantId,
    family: scope.family,
    next_seq: scope.nextSeq,
  }
}
