import type { Pool, PoolClient } from 'pg'
import { Counter, type Registry } from 'prom-client'
import { currentSharer } from '../../platform/sharer-context.ts'
import { SharerPlaces } from '../../kernel/sharer-places.ts'
import { type Shares, sharesOf } from '../../kernel/sharers.ts'

type Connected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (destroy?: boolean | Error) => void,
) => void

/** Time to wait for a pool that has no timeout. */
const WAIT_TIMEOUT_MS = 5_000

/**
 * Limits each user and each tenant to its share of a pool: further requests wait for connections of
 * their own first, so that others still find free ones. They wait no longer than for the pool. Work
 * that no request caused, or several share, is not bounded.
 *
 * Code that holds a connection must not ask for another: many such requests of one user would wait
 * for each other.
 */
export function shareFairly(
  pool: Pool,
  { userShare, registry }: { readonly userShare?: number; readonly registry?: Registry } = {},
): Shares {
  const shares = sharesOf(pool.options.max ?? 1, userShare)
  const waits = new Counter({
    name: 'tollgate_database_share_waits_total',
    help: 'Waits for a Postgres connection because the user or the tenant already held its share of the pool.',
    registers: registry === undefined ? [] : [registry],
  })
  const waitMs = pool.options.connectionTimeoutMillis || WAIT_TIMEOUT_MS
  const places = new SharerPlaces(shares, waitMs, () => waits.inc())
  const plain = pool.connect.bind(pool) as unknown as (connected: Connected) => void
  const connect = (connected: Connected): void => {
    const sharer = currentSharer()
    if (sharer === undefined) return plain(connected)
    places.enter(sharer, (isLate) => {
      if (isLate) return connected(shareIsHeld(), undefined, () => undefined)
      return plain((error, client, release) => {
        if (error !== undefined || client === undefined) places.leave(sharer)
        else onceReleased(client, () => places.leave(sharer))
        connected(error, client, client === undefined ? release : client.release.bind(client))
      })
    })
  }
  const shared = (connected?: Connected): Promise<PoolClient> | undefined => {
    if (connected !== undefined) {
      connect(connected)
      return undefined
    }
    return new Promise((resolve, reject) =>
      connect((error, client) => {
        if (client !== undefined) resolve(client)
        else reject(error ?? new Error('the pool has no connection'))
      }),
    )
  }
  pool.connect = shared as Pool['connect']
  return shares
}

const shareIsHeld = (): Error =>
  new Error(
    'timeout exceeded when trying to connect: the caller holds its share of the connections',
  )

/** The pool gives a client another `release` each time it lends it out. */
export function onceReleased(client: PoolClient, leave: () => void): void {
  const release = client.release.bind(client)
  let isOver = false
  client.release = (destroy) => {
    release(destroy)
    if (isOver) return
    isOver = true
    leave()
  }
}
