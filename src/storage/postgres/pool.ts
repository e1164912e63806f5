import { Pool } from 'pg'

const CONNECT_TIMEOUT_MS = 5_000
/**
 * Idle connections close after this time. Parts of the background work run at the same moment only every 16 s, and
 * keep their connections so: to open one takes Postgres some 7 ms.
 */
const IDLE_TIMEOUT_MS = 60_000
/** Longest statement of a request or policy; rebuilds set their own. */
const STATEMENT_TIMEOUT_MS = 30_000

interface PoolOptions {
  readonly databaseUrl: string
  /** Connections at most. */
  readonly max: number
  /**
   * The gateway gives up a database that does not answer after this time, and closes the
   * connection.
   */
  readonly queryTimeoutMs: number
  /** Longest statement; its default is that of a request or policy. */
  readonly statementTimeoutMs?: number
  readonly onLost: (error: Error) => void
}

/** Connections to Postgres, opened as they are needed. */
export function openPool(options: PoolOptions): Pool {
  const pool = new Pool({
    connectionString: options.databaseUrl,
    max: options.max,
    query_timeout: options.queryTimeoutMs,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    statement_timeout: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    application_name: 'tollgate',
    // Statements sent together share a round trip; Postgres runs them in the order sent.
    pipeline: true,
  })
  surviveLostConnections(pool, options.onLost)
  return pool
}

/** Postgres cancels a statement that takes too long; the client waits this much longer for that. */
const ANSWER_MARGIN_MS = 2_000

/** A separate pool for finance and support, so that their reads cannot starve callers. */
export function openQueryPool(
  databaseUrl: string,
  { poolSize, timeoutMs }: { readonly poolSize: number; readonly timeoutMs: number },
  onLost: (error: Error) => void,
): Pool {
  return openPool({
    databaseUrl,
    max: poolSize,
    statementTimeoutMs: timeoutMs,
    queryTimeoutMs: timeoutMs + ANSWER_MARGIN_MS,
    onLost,
  })
}

/**
 * Keeps the loss of a connection from ending the process: the pool itself only listens to idle
 * ones, and a checked-out one between two queries has no other listener. Its next query reports the
 * loss.
 */
export function surviveLostConnections(pool: Pool, onLost: (error: Error) => void): void {
  pool.on('error', onLost)
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
  })
}
