import type { Pool } from 'pg'

/** Notes written in one statement; what arrives meanwhile goes into the next. */
const MAX_BATCH = 1_000

interface Note {
  readonly platformId: string
  readonly position: bigint
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Notes where in the log reservations stand. Lost notes are looked up by the sweep, so they need
 * not be flushed to disk one by one.
 */
export function createNoteTaker(pool: Pool) {
  let waiting: Note[] = []
  let writing = false

  const drain = async (): Promise<void> => {
    writing = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH)
      waiting = waiting.slice(MAX_BATCH)
      try {
        await write(pool, batch)
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    writing = false
  }

  return (platformId: string, position: bigint): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.push({ platformId, position, resolve, reject })
      if (!writing) void drain()
    })
}

async function write(pool: Pool, batch: readonly Note[]): Promise<void> {
  // Without a name: planned for so many notes and the table as it is.
  await pool.query({
    text: `update ops.admissions a set position = n.position
           from unnest($1::text[], $2::bigint[]) as n (platform_id, position)
           where a.platform_id = n.platform_id`,
    values: [batch.map((note) => note.platformId), batch.map((note) => note.position)],
  })
}
