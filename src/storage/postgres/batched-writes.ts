import type { Pool, QueryConfig } from 'pg'
import { runForAll } from '../../platform/sharer-context.ts'
import { pause } from '../../kernel/pause.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'

/** The most items of one statement; items that arrive meanwhile go into the next one. */
const MAX_BATCH = 1_000
/** How long the first item waits for further items. */
const GATHER_MS = 20

interface Waiting<Item> {
  readonly item: Item
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Writes items that arrive one by one in few statements. Use it only for data that the gateway can
 * find again: a crash of Postgres may lose the last writes.
 */
export function createBatchedWriter<Item>(
  pool: Pool,
  statementOf: (batch: readonly Item[]) => QueryConfig,
): (item: Item) => Promise<void> {
  let waiting: Waiting<Item>[] = []
  let isWriting = false

  const drain = async (): Promise<void> => {
    isWriting = true
    await pause(GATHER_MS)
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH)
      waiting = waiting.slice(MAX_BATCH)
      try {
        await writeUnflushed(pool, statementOf(batch.map(({ item }) => item)))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    isWriting = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!isWriting) void runForAll(drain)
    })
}

async function writeUnflushed(pool: Pool, statement: QueryConfig): Promise<void> {
  const client = await pool.connect()
  try {
    await allSettledOrThrow([
      client.query('begin; set local synchronous_commit to off'),
      client.query(statement),
      // After a failed statement nothing is committed.
      client.query('commit'),
    ])
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  }
}
