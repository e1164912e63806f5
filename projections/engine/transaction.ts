import type { Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import type { Queryable } from './queryable.ts'

/** Longest single statement of an apply; a batch takes a fraction of a second. */
const STATEMENT_TIMEOUT_MS = 120_000
/** A process that freezes inside a transaction must not hold a checkpoint row for ever. */
const IDLE_TIMEOUT_MS = 60_000

const SCHEMA_NAME = /^[a-z][a-z_]{0,50}$/

/** A schema name as an SQL identifier. @throws Error unless it is a plain lower-case name. */
export function schemaIdentifier(name: string): string {
  if (!SCHEMA_NAME.test(name)) throw new Error(`not a schema name: ${name}`)
  return `"${name}"`
}

/** Makes unqualified names mean this schema until the transaction ends. */
export async function useSchema(client: PoolClient, schema: string): Promise<void> {
  await client.query(`set local search_path to ${schemaIdentifier(schema)}`)
}

/**
 * Runs `work` in one transaction with `search_path` set to `schema`. Commits asynchronously: rows
 * and checkpoint are in the same transaction, so a crash loses both or neither, and the log has
 * the events. Statements are planned for the tables and arrays of the moment: a plan kept from when a
 * table was small would read all of it for every batch.
 */
export async function inSchema<T>(
  pool: Pool,
  schema: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  // Without a listener a connection that dies between two queries would end the process.
  const ignore = (): void => undefined
  client.on('error', ignore)
  let broken = true
  try {
    const begun = client.query(
      `begin; set local synchronous_commit to off; set local timezone to 'UTC';
       set local statement_timeout to ${STATEMENT_TIMEOUT_MS};
       set local plan_cache_mode to force_custom_plan;
       set local idle_in_transaction_session_timeout to ${IDLE_TIMEOUT_MS};
       set local search_path to ${schemaIdentifier(schema)}`,
    )
    // The first query of the work is sent before this one is answered.
    const [, result] = await allSettledOrThrow([begun, work(client)])
    await client.query('commit')
    broken = false
    return result
  } catch (error) {
    broken = await client.query('rollback').then(
      () => false,
      () => true,
    )
    throw error
  } finally {
    client.off('error', ignore)
    client.release(broken)
  }
}

/**
 * The client of a transaction in which every statement after a failed one fails with the error of
 * that one: Postgres reports for them only that the transaction is aborted, and they are often
 * awaited first.
 */
export function failingByFirst(client: PoolClient): PoolClient {
  let failed: { readonly by: unknown } | undefined
  const query = async <Row extends QueryResultRow>(
    asked: string | QueryConfig,
    values?: readonly unknown[],
  ) => {
    const queryable: Queryable = client
    const answer =
      typeof asked === 'string' ? queryable.query<Row>(asked, values) : queryable.query<Row>(asked)
    return answer.catch((error: unknown) => {
      failed ??= { by: error }
      throw failed.by
    })
  }
  return Object.create(client, { query: { value: query } }) as PoolClient
}
