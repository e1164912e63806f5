import type { Pool } from 'pg'
import {
  nextKeys,
  rowsByKey,
  type AuditedRow,
  type AuditedTable,
} from '../../../projections/engine/audited-rows.ts'
import { ledgerTables } from '../../../projections/ledger/query.ts'
import { COARSE_SHIFT, FINE_SHIFT, taskTables } from '../../../projections/tasks/query.ts'
import { timelineTables } from '../../../projections/timeline/query.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { differencesOf, rowDiffers, rowMissing, rowUnexplained, type Expected } from './compare.ts'
import { Corrections } from './corrections.ts'
import { holdRow, isWatch, nativeId, pollRow, taskRow, type TaskHistory } from './expected-task.ts'
import type { Findings } from './findings.ts'
import { allOver } from '../../kernel/all-over.ts'
import { inSnapshot, type Snapshot } from './snapshot.ts'
import { readTasks } from './streams.ts'
import type { Place, TaskPlaces } from './task-places.ts'

/** Tasks looked at in one snapshot. */
const PAGE_TASKS = 250

/** Rows of one page of tasks, and the positions of their read models. */
interface Page {
  readonly ids: readonly string[]
  readonly rows: Readonly<Record<'tasks' | 'polls' | 'holds' | 'sources', Rows>>
  readonly position: Snapshot['position']
}
type Rows = ReadonlyMap<string, AuditedRow>

/** The key of the count that includes a task, at a level that has buckets. */
export function countKey(count: {
  readonly scopeId: number
  readonly level: number
  readonly bucket: number
  readonly status: string
  readonly model: string
}): string {
  const { scopeId, level, bucket, status, model } = count
  return [scopeId, level, bucket, status, model].join('\n')
}

/**
 * Compares the rows of tasks one by one with their streams, up to the read model's position when
 * the row was read, so that writes meanwhile do not matter. It remembers nothing between pages.
 */
export class TaskWalk {
  /** Corrections for counts over rows of tasks known to be wrong. */
  readonly corrections = new Corrections()
  compared = 0
  readonly #pool: Pool
  readonly #log: EventLog
  readonly #findings: Findings
  readonly #unapplied: ReadonlySet<bigint>
  readonly #places: TaskPlaces

  constructor(deps: {
    readonly pool: Pool
    readonly log: EventLog
    readonly findings: Findings
    /** Events that the ledger is known to have skipped. */
    readonly unapplied: ReadonlySet<bigint>
    readonly places: TaskPlaces
  }) {
    this.#pool = deps.pool
    this.#log = deps.log
    this.#findings = deps.findings
    this.#unapplied = deps.unapplied
    this.#places = deps.places
  }

  /** Compares the next page after a platform id; returns its last id, undefined at the end. */
  async page(after: string, changedAfter: bigint | undefined): Promise<string | undefined> {
    const page = await inSnapshot(this.#pool, (snapshot) => readPage(snapshot, after, changedAfter))
    const histories = await readTasks(this.#log, page.ids)
    for (const id of page.ids) this.#compare(id, histories.get(id) ?? [], page)
    return page.ids.length < PAGE_TASKS ? undefined : page.ids.at(-1)
  }

  /** Sums over rows lack missing rows, although the counts include them correctly. */
  async countMissing(position: bigint): Promise<void> {
    const { missing } = this.#places
    for (const [id, history] of await readTasks(this.#log, [...missing.keys()])) {
      const row = taskRow(upTo(history, position))
      this.#correct(missing.get(id), row, 1n)
    }
  }

  #compare(id: string, history: TaskHistory, { rows, position }: Page): void {
    const events = upTo(history, position('tasks'))
    const task = taskRow(events)
    const standing = rows.tasks.get(id)
    this.compared += standing ? 1 : 0
    // The pass over the log reports a missing row where its task begins.
    const displaced = this.#places.displaced.get(id)
    if (standing && (this.#judge(taskTables.tasks, id, task, standing) || displaced)) {
      const place = { scopeId: Number(standing['scope_id']), seq: BigInt(String(standing['seq'])) }
      this.#correct(displaced ?? place, task, 1n)
      this.#correct(place, standing, -1n)
    }
    const poll = rows.polls.get(id)
    if (!isWatch(task, poll)) this.#judge(taskTables.polls, id, pollRow(task), poll)
    const settled = upTo(history, position('ledger'))
    const applied = settled.filter((event) => !this.#unapplied.has(event.position))
    const hold = rows.holds.get(id)
    const expected = holdRow(settled)
    const excused = holdRow(applied)
    const fits = excused && hold && differencesOf(excused, hold).length === 0
    if (hold && !fits) this.#judge(ledgerTables.holds, id, expected, hold)
    const source = rows.sources.get(id)
    const told = upTo(history, position('timeline'))
    if (source && told.length > 0)
      this.#judge(timelineTables.sources, id, { native_id: nativeId(told) }, source)
  }

  /** Whether a row differs from its stream; adds the finding. */
  #judge(
    { name: table }: AuditedTable,
    key: string,
    expected: Expected | undefined,
    row: AuditedRow | undefined,
  ): boolean {
    const name = { table, key, position: expected?.['position'] ?? row?.['position'] }
    if (expected && row) {
      const differences = differencesOf(expected, row)
      if (differences.length > 0) this.#findings.push(rowDiffers(name, differences))
      return differences.length > 0
    }
    if (expected) this.#findings.push(rowMissing(name, expected))
    else if (row) this.#findings.push(rowUnexplained(name, row))
    return expected !== undefined || row !== undefined
  }

  #correct(place: Place | undefined, row: Expected | AuditedRow | undefined, sign: 1n | -1n): void {
    if (place === undefined || row === undefined || String(row['visible']) !== 'true') return
    const { scopeId, seq } = place
    const [status, model] = [String(row['status']), String(row['model'])]
    for (const [level, shift] of [
      [1, COARSE_SHIFT],
      [2, FINE_SHIFT],
    ] as const) {
      const bucket = Number(seq >> BigInt(shift))
      this.corrections.add(countKey({ scopeId, level, bucket, status, model }), [sign])
    }
  }
}

function upTo(history: TaskHistory, position: bigint): TaskHistory {
  return history.filter((event) => event.position <= position)
}

async function readPage(
  { db, position }: Snapshot,
  after: string,
  changedAfter: bigint | undefined,
): Promise<Page> {
  const walked = [
    { table: taskTables.tasks.name, column: 'platform_id', changedAfter },
    { table: ledgerTables.holds.name, column: 'source_id', changedAfter },
    // Polls have no position: a full audit compares those of unchanged tasks.
    ...(changedAfter === undefined
      ? [{ table: taskTables.polls.name, column: 'platform_id' }]
      : []),
  ]
  const ids = await nextKeys(db, walked, { after, limit: PAGE_TASKS })
  const byId = async (table: AuditedTable, column: string): Promise<Rows> => {
    const rows = await rowsByKey(db, table, column, ids)
    return new Map(rows.map((row) => [String(row[column]), row]))
  }
  const [tasks, polls, holds, sources] = await allOver([
    byId(taskTables.tasks, 'platform_id'),
    byId(taskTables.polls, 'platform_id'),
    byId(ledgerTables.holds, 'source_id'),
    byId(timelineTables.sources, 'source_id'),
  ])
  return { ids, rows: { tasks, polls, holds, sources }, position }
}
