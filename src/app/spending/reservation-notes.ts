import type { Pool } from 'pg'
import { createBatchedWriter } from '../../storage/postgres/batched-writes.ts'

interface Note {
  readonly platformId: string
  readonly position: bigint
}

/** Notes where in the log reservations stand; a lost note is looked up by the sweep. */
export function createNoteTaker(pool: Pool) {
  const write = createBatchedWriter<Note>(pool, (notes) => ({
    // Without a name: planned for so many notes and the table as it is.
    text: `update ops.admissions a set position = n.position
           from unnest($1::text[], $2::bigint[]) as n (platform_id, position)
           where a.platform_id = n.platform_id`,
    values: [notes.map((note) => note.platformId), notes.map((note) => note.position)],
  }))
  return (platformId: string, position: bigint): Promise<void> => write({ platformId, position })
}
