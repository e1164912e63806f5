import { nextKeys, rowsByKey } from '../../../projections/engine/audited-rows.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { judge, type Told, type WalkDeps } from './access-walk.ts'
import type { Expected } from './compare.ts'
import { inSnapshot } from './snapshot.ts'
import { readTo } from './streams.ts'

/** Rows read in one snapshot. */
const PAGE_KEYS = 200

/** A row that a stream leaves in a table of a read model. */
export interface RowOfStream {
  readonly told: Told
  readonly model: string
  /** The row after an event, given the row before it. */
  readonly after: (row: Expected | undefined, event: RecordedEvent) => Expected | undefined
}

/** A kind of streams: each has a row in the table the walk pages through, or in others. */
export interface OfStreams {
  /** The stream of a row. */
  readonly stream: (key: string) => string
  readonly rows: readonly [RowOfStream, ...RowOfStream[]]
}

/**
 * Compares the existing rows with their streams, each up to its read model's position; the pass
 * over the log finds missing rows. Returns the number of rows in the first table.
 */
export async function walkRows(
  { pool, log, findings }: WalkDeps,
  { stream, rows: kinds }: OfStreams,
): Promise<number> {
  const [first] = kinds
  let compared = 0
  for (let after: string | undefined = ''; after !== undefined;) {
    const from = after
    const page = await inSnapshot(pool, async ({ db, position }) => {
      const columns = [{ table: first.told.table.name, column: first.told.by }]
      const keys = await nextKeys(db, columns, { after: from, limit: PAGE_KEYS })
      const found = []
      for (const { told, model, after: rowAfter } of kinds) {
        const rows = await rowsByKey(db, told.table, told.by, keys)
        const byKey = new Map(rows.map((row) => [String(row[told.by]), row]))
        found.push({ told, rowAfter, rows: byKey, upTo: position(model) })
      }
      return { keys, found }
    })
    for (const id of page.keys) {
      const upTo = page.found.reduce((most, of) => (of.upTo > most ? of.upTo : most), -1n)
      const events: RecordedEvent[] = []
      for await (const event of readTo(log, stream(id), upTo)) events.push(event)
      for (const { told, rowAfter, rows, upTo: reached } of page.found) {
        const row = rows.get(id)
        if (row === undefined) continue
        const says = events
          .filter((event) => event.position <= reached)
          .reduce<Expected | undefined>(rowAfter, undefined)
        judge(findings, told, new Map(says ? [[id, says]] : []), [row], id)
      }
    }
    compared += page.keys.length
    after = page.keys.length < PAGE_KEYS ? undefined : page.keys.at(-1)
  }
  return compared
}
