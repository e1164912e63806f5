import type { Pool } from 'pg'
import {
  readCheckpoints,
  type Checkpoint,
  type EventReference,
} from '../../../projections/engine/checkpoint.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'

/** Longest statement of an audit: it looks at a stretch of a table, never at all of one. */
const STATEMENT_TIMEOUT_MS = 300_000
/** An audit that freezes must not hold a snapshot for ever. */
const IDLE_TIMEOUT_MS = 60_000

/** Rows of one moment, and up to which event each read model had come then. */
export interface Snapshot {
  readonly db: Queryable
  readonly position: (model: string) => bigint
  /** That event. */
  readonly lastEvent: (model: string) => EventReference | undefined
}

/** What comes before the position of every event. */
export const BEFORE_ALL = -1n

/** The last position of an event that a read model has surely considered. */
export function appliedTo(checkpoint: Checkpoint | undefined): bigint {
  return checkpoint?.position ?? BEFORE_ALL
}

/** Looks at one moment and lets go: no snapshot lives longer than the statements of one stretch. */
export async function inSnapshot<T>(
  pool: Pool,
  look: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken = true
  try {
    await client.query(
      `begin transaction isolation level repeatable read, read only;
       set local timezone to 'UTC';
       set local plan_cache_mode to force_custom_plan;
       set local statement_timeout to ${STATEMENT_TIMEOUT_MS};
       set local idle_in_transaction_session_timeout to ${IDLE_TIMEOUT_MS}`,
    )
    const checkpoints = await readCheckpoints(client)
    const position = (model: string): bigint => appliedTo(checkpoints.get(model))
    const lastEvent = (model: string) => checkpoints.get(model)?.lastEvent
    const result = await look({ db: client, position, lastEvent })
    await client.query('commit')
    broken = false
    return result
  } finally {
    if (broken) await client.query('rollback').catch(() => undefined)
    client.release(broken)
  }
}
