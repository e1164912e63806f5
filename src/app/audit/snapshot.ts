import type { Pool } from 'pg'
import {
  readCheckpoints,
  type Checkpoint,
  type EventReference,
} from '../../../projections/engine/checkpoint.ts'
import { readPassedOver } from '../../../projections/engine/passed-over.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { failingByFirst } from '../../../projections/engine/transaction.ts'
import { MAX_FINDINGS } from './findings.ts'

/** Longest statement of an audit: each reads a stretch of a table, never all of it. */
const STATEMENT_TIMEOUT_MS = 300_000
/** Ends the snapshot of an audit that hangs. */
const IDLE_TIMEOUT_MS = 60_000

/** Rows of one moment, with each read model's last event at that moment. */
export interface Snapshot {
  readonly db: Queryable
  readonly position: (model: string) => bigint
  /** Positions of the events that a read model passed over: no row follows from them. */
  readonly passedOver: (model: string) => ReadonlySet<bigint>
  /** The last event of a read model. */
  readonly lastEvent: (model: string) => EventReference | undefined
}

/** Before the position of every event. */
export const BEFORE_ALL_EVENTS = -1n

/** The last position whose event a read model has certainly processed. */
export function appliedTo(checkpoint: Checkpoint | undefined): bigint {
  return checkpoint?.position ?? BEFORE_ALL_EVENTS
}

/** Reads at one moment: a snapshot lives no longer than the statements of one stretch. */
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
    const notes = await readPassedOver(client, MAX_FINDINGS)
    const passedOver = (model: string): ReadonlySet<bigint> =>
      new Set(notes.flatMap((note) => (note.projection === model ? [note.position] : [])))
    const lastEvent = (model: string) => checkpoints.get(model)?.lastEvent
    const result = await look({ db: failingByFirst(client), position, passedOver, lastEvent })
    await client.query('commit')
    broken = false
    return result
  } finally {
    if (broken) await client.query('rollback').catch(() => undefined)
    client.release(broken)
  }
}
