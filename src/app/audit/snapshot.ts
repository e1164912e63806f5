import type { Pool, QueryConfig, QueryResultRow } from 'pg'
import {
  readCheckpoints,
  type Checkpoint,
  type EventReference,
} from '../../../projections/engine/checkpoint.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'

/** Longest statement of an audit: each reads a stretch of a table, never all of it. */
const STATEMENT_TIMEOUT_MS = 300_000
/** Ends the snapshot of an audit that hangs. */
const IDLE_TIMEOUT_MS = 60_000

/** Rows of one moment, with each read model's last event at that moment. */
export interface Snapshot {
  readonly db: Queryable
  readonly position: (model: string) => bigint
  /** The last event of a read model. */
  readonly lastEvent: (model: string) => EventReference | undefined
}

/** Before the position of every event. */
export const BEFORE_ALL = -1n

/** The last position whose event a read model has certainly processed. */
export function appliedTo(checkpoint: Checkpoint | undefined): bigint {
  return checkpoint?.position ?? BEFORE_ALL
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
    const lastEvent = (model: string) => checkpoints.get(model)?.lastEvent
    const result = await look({ db: failingByFirst(client), position, lastEvent })
    await client.query('commit')
    broken = false
    return result
  } finally {
    if (broken) await client.query('rollback').catch(() => undefined)
    client.release(broken)
  }
}

/**
 * A transaction in which every statement after a failed one fails with the error of that one:
 * Postgres reports for them only that the transaction is aborted, and they are often awaited first.
 */
function failingByFirst(client: Queryable): Queryable {
  let failed: { readonly by: unknown } | undefined
  return {
    query: async <Row extends QueryResultRow>(
      asked: string | QueryConfig,
      values?: readonly unknown[],
    ) => {
      const answer =
        typeof asked === 'string' ? client.query<Row>(asked, values) : client.query<Row>(asked)
      return answer.catch((error: unknown) => {
        failed ??= { by: error }
        throw failed.by
      })
    },
  }
}
