import type { Pool, PoolClient, QueryConfig } from 'pg'
import { runForAll } from '../../platform/sharer-context.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import type { Currency } from '../../kernel/money.ts'

/**
 * Decides about one balance in sequence over all replicas, under a lock per tenant and currency.
 * Requests that arrive during one decision share the next transaction.
 */

/** First key of the advisory locks, so that they meet no other use. */
const LOCK_SPACE = 7_207_002
/** For the lock of a batch, also when it is taken twice. */
const LOCK_TIMEOUT_MS = 5_000
/** Most requests decided in one transaction; later ones go into the next. */
const MAX_BATCH = 256
/** Most requests waiting for one tenant; further ones are refused as overload. */
const MAX_WAITING = 2_000
/** A request that waited this long is refused as overload. */
const MAX_WAIT_MS = 4_000

export interface BalanceKey {
  readonly tenantId: string
  readonly currency: Currency
}

/** A refusal or none for each request; an empty list when all pass. */
export type QueueRefusals = readonly (DomainError | undefined)[]

export interface BatchResult {
  /** Settles once the decision's writes are done; the commit is sent without waiting for it. */
  readonly refusals: Promise<QueueRefusals>
}

/** Decides requests of one tenant and currency. */
export interface Deciding<Request> {
  /** Decides each of them in a transaction. */
  readonly decide: (client: PoolClient, batch: readonly Request[]) => Promise<BatchResult>
  /**
   * One statement that admits all requests or none: its row's `passed` says which. If none, each
   * request is decided separately. Undefined if one statement cannot decide.
   */
  readonly tryAdmitAll?: (batch: readonly Request[]) => QueryConfig | undefined
}

interface Waiting<Request> {
  readonly request: Request
  readonly untilMs: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The balance cannot be read: nothing was started. */
export function balanceUnavailable(cause: unknown): DomainError {
  return new DomainError('database_unavailable', 'the balance cannot be checked at the moment', {
    reason: cause instanceof Error ? cause.message : 'overload',
  })
}

/** The ledger is behind an earlier read of it: nothing was started. */
export function ledgerWentBack(): DomainError {
  return new DomainError('read_model_behind', 'the balance cannot be checked at the moment', {
    reason: 'the ledger is behind an earlier read of it',
  })
}

/**
 * Returns the function that requests a decision. It throws the refusal, or `database_unavailable`
 * when the balance cannot be read or too many requests are waiting.
 */
export function createTenantQueue<Request extends BalanceKey>(
  pool: Pool,
  { decide, tryAdmitAll }: Deciding<Request>,
): (request: Request) => Promise<void> {
  const queues = new Map<string, Waiting<Request>[]>()

  const refusalsOf = async (key: string, requests: readonly Request[]): Promise<QueueRefusals> => {
    const untilMs = monotonicClock.nowMs() + LOCK_TIMEOUT_MS
    const lock: Lock = (client, settings = '') => beginLocked(client, key, untilMs, settings)
    const statement = tryAdmitAll?.(requests)
    if (statement !== undefined && (await allPass(pool, lock, statement))) return []
    return underLock(pool, lock, (client) => decide(client, requests))
  }

  const drain = async (key: string, queue: Waiting<Request>[]): Promise<void> => {
    for (;;) {
      const nowMs = monotonicClock.nowMs()
      // The oldest requests are at the front.
      while ((queue[0]?.untilMs ?? nowMs) < nowMs)
        queue.shift()?.reject(balanceUnavailable(undefined))
      const batch = queue.splice(0, MAX_BATCH)
      if (batch.length === 0) break
      try {
        const refusals = await refusalsOf(
          key,
          batch.map(({ request }) => request),
        )
        for (const [index, { resolve, reject }] of batch.entries()) {
          const refusal = refusals[index]
          if (refusal === undefined) resolve()
          else reject(refusal)
        }
      } catch (error) {
        const failure = isDomainError(error) ? error : balanceUnavailable(error)
        for (const { reject } of batch) reject(failure)
      }
    }
    queues.delete(key)
  }

  return (request) =>
    new Promise((resolve, reject) => {
      const key = `${request.tenantId}\n${request.currency}`
      const queue = queues.get(key)
      const waiting = { request, untilMs: monotonicClock.nowMs() + MAX_WAIT_MS, resolve, reject }
      if (queue !== undefined) {
        if (queue.length >= MAX_WAITING) reject(balanceUnavailable(undefined))
        else queue.push(waiting)
        return
      }
      const opened = [waiting]
      queues.set(key, opened)
      void runForAll(() => drain(key, opened))
    })
}

/** Begins a transaction under the lock of one balance; waits for the lock until a time. */
function beginLocked(
  client: PoolClient,
  key: string,
  untilMs: number,
  settings: string,
): Promise<unknown> {
  // 0 would mean no timeout.
  const leftMs = Math.max(1, Math.ceil(untilMs - monotonicClock.nowMs()))
  return client.query(
    `begin; set local lock_timeout = ${leftMs}; ${settings}
     select pg_advisory_xact_lock(${LOCK_SPACE}, hashtext(${client.escapeLiteral(key)}))`,
  )
}

/**
 * Sends statements without waiting for their answers. Postgres runs them in order, and each sees
 * all earlier commits. A commit after a failed statement commits nothing.
 */
async function inOneSession<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    const result = await work(client)
    client.release()
    return result
  } catch (error) {
    // Closes the session, and with it the transaction and its lock.
    client.release(true)
    throw error
  }
}

/** Planning a statement with many parts takes several times as long as running it. */
const PLANNED_ONCE = 'set local plan_cache_mode to force_generic_plan;'

type Lock = (client: PoolClient, settings?: string) => Promise<unknown>

/** Takes one round trip. */
async function allPass(pool: Pool, lock: Lock, statement: QueryConfig): Promise<boolean> {
  return inOneSession(pool, async (client) => {
    const [, { rows }] = await allSettledOrThrow([
      lock(client, PLANNED_ONCE),
      client.query<{ passed: boolean }>(statement),
      client.query('commit'),
    ])
    return rows[0]?.passed === true
  })
}

/** Takes two round trips. */
async function underLock(
  pool: Pool,
  lock: Lock,
  decide: (client: PoolClient) => Promise<BatchResult>,
): Promise<QueueRefusals> {
  return inOneSession(pool, async (client) => {
    const locked = lock(client)
    const [{ refusals }] = await allSettledOrThrow([decide(client), locked])
    const [written] = await allSettledOrThrow([refusals, client.query('commit')])
    return written
  })
}
