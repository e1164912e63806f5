import type { Pool } from 'pg'
import type { AuditedRow } from '../../../projections/engine/audited-rows.ts'
import {
  COARSE_SHIFT,
  COUNTED_TASKS,
  differingCounts,
  differingSums,
  FINE_SHIFT,
  listedScopes,
  standingCount,
  type CountedTasks,
} from '../../../projections/tasks/query.ts'
import { taskStream } from '../../domain/task/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { rowDiffers } from './compare.ts'
import { Corrections } from './corrections.ts'
import { MAX_FINDINGS, type Findings } from './findings.ts'
import { inSnapshot } from './snapshot.ts'
import type { ComparedRow, WalkedTable } from './stream-walk.ts'
import { readEach, readTo } from './streams.ts'
import type { TaskPlace, TaskPlaces } from './task-places.ts'

interface Deps {
  readonly pool: Pool
  readonly findings: Findings
  /** Corrections for counts over rows of tasks known to be wrong. */
  readonly corrections: Corrections
}

type Count = CountedTasks & { readonly scopeId: number }

/** The key of a count. */
function countKey(count: Omit<Count, 'counted' | 'stands'>): string {
  const { scopeId, level, bucket, status, model } = count
  return [scopeId, level, bucket, status, model].join('\n')
}

/** Corrections of the counts for rows of tasks known to be wrong. */
export class CountCorrections {
  readonly all = new Corrections()
  readonly #places: TaskPlaces

  constructor(places: TaskPlaces) {
    this.#places = places
  }

  /** Takes a row of a task that was compared with its stream. */
  take({ key, expected, stored, differs }: ComparedRow): void {
    const displaced = this.#places.displaced.get(key)
    if (!differs && displaced === undefined) return
    const place = { scopeId: Number(stored['scope_id']), seq: BigInt(String(stored['seq'])) }
    this.#add(displaced ?? place, expected, 1n)
    this.#add(place, stored, -1n)
  }

  /** Sums over rows lack missing rows, although the counts include them correctly. */
  async takeMissing(log: EventLog, tasks: WalkedTable, position: bigint): Promise<void> {
    await readEach(this.#places.missing, async ([id, place]) => {
      const events: RecordedEvent[] = []
      for await (const event of readTo(log, taskStream(id), position)) events.push(event)
      this.#add(place, tasks.rows(events).get(id), 1n)
    })
  }

  #add({ scopeId, seq }: TaskPlace, row: AuditedRow | undefined, sign: 1n | -1n): void {
    if (row === undefined || String(row['visible']) !== 'true') return
    const [status, model] = [String(row['status']), String(row['model'])]
    for (const [level, shift] of [
      [1, COARSE_SHIFT],
      [2, FINE_SHIFT],
    ] as const) {
      const bucket = Number(seq >> BigInt(shift))
      this.all.add(countKey({ scopeId, level, bucket, status, model }), [sign])
    }
  }
}

/** Judges one count and returns its difference from the log. */
function judge(findings: Findings, corrections: Corrections, count: Count): bigint {
  const { scopeId, level, bucket, status, model, stands } = count
  const [correction = 0n] = corrections.of(countKey(count), 1)
  const log = BigInt(count.counted) + correction
  if (log === BigInt(stands)) return 0n
  const key = `scope ${scopeId} level ${level} bucket ${bucket} ${status} ${model}`
  const differences = [{ field: 'n', log: log.toString(), stands }]
  findings.push(rowDiffers({ table: 'tasks.counts', key }, differences))
  return log - BigInt(stands)
}

/** Compares the buckets of one scope; returns the difference they make to each whole count. */
async function auditBuckets(
  deps: Deps,
  scope: { readonly scopeId: number; readonly nextSeq: number },
  judged: Set<string>,
): Promise<Corrections> {
  const { pool, findings, corrections } = deps
  const { scopeId, nextSeq } = scope
  const whole = new Corrections()
  for (let fromSeq = 0; fromSeq === 0 || fromSeq < nextSeq; fromSeq += COUNTED_TASKS) {
    const next = fromSeq + COUNTED_TASKS
    const range = { fromSeq, toSeq: next < nextSeq ? next : undefined, limit: MAX_FINDINGS }
    const rows = await inSnapshot(pool, ({ db }) => differingCounts(db, scopeId, range))
    for (const row of rows) {
      const count = { ...row, scopeId }
      judged.add(countKey(count))
      const off = judge(findings, corrections, count)
      if (row.level === 1) whole.add(countKey({ ...count, level: 0, bucket: 0 }), [off])
    }
  }
  return whole
}

/**
 * Compares the counts of lists with the rows of tasks, which were compared with the log before.
 * Each group of buckets has its own snapshot, so that tasks and counts are of one moment.
 */
export async function auditCounts(deps: Deps): Promise<void> {
  const { pool, findings, corrections } = deps
  const judged = new Set<string>()
  for (const scope of await inSnapshot(pool, ({ db }) => listedScopes(db))) {
    const { scopeId } = scope
    const whole = await auditBuckets(deps, scope, judged)
    const sums = await inSnapshot(pool, ({ db }) => differingSums(db, scopeId, MAX_FINDINGS))
    for (const row of sums) judge(findings, whole, { ...row, scopeId })
  }
  for (const key of corrections.keys()) {
    if (judged.has(key)) continue
    // The count agrees with a wrong row, so it is wrong by as much.
    const [scopeId, level, bucket, status = '', model = ''] = key.split('\n')
    const place = { scopeId: Number(scopeId), level: Number(level), bucket: Number(bucket) }
    const stands = await inSnapshot(pool, ({ db }) =>
      standingCount(db, { ...place, status, model }),
    )
    const count = { ...place, status, model, counted: `${stands}`, stands: `${stands}` }
    judge(findings, corrections, count)
  }
}
