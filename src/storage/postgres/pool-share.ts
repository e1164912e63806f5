import type { Pool, PoolClient } from 'pg'
import { Counter, type Registry } from 'prom-client'
import { currentToken } from '../../kernel/token-context.ts'
import { TokenPlaces } from '../../kernel/token-places.ts'

/** The number of a pool's connections that one token may hold. */
const TOKEN_SHARE = 0.5

type Connected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (destroy?: boolean | Error) => void,
) => void

/** Time to wait for a pool that has no timeout. */
const WAIT_TIMEOUT_MS = 5_000

/**
 * Limits each token to its share of a pool: further requests of the token wait for the token's own
 * connections first, so that other tokens still find free ones. They wait no longer than for the
 * pool. Work without a token, or shared by several tokens, is not bounded.
 *
 * Code that holds a connection must not ask for another: many such requests of one token would wait
 * for each other.
 */
export function shareFairly(
  pool: Pool,
  { share = TOKEN_SHARE, registry }: { readonly share?: number; readonly registry?: Registry } = {},
): { readonly perToken: number } {
  const perToken = Math.max(1, Math.floor((pool.options.max ?? 1) * share))
  const waits = new Counter({
    name: 'tollgate_database_share_waits_total',
    help: 'Waits for a Postgres connection because the token already held its share of the pool.',
    registers: registry === undefined ? [] : [registry],
  })
  const waitMs = pool.options.connectionTimeoutMillis || WAIT_TIMEOUT_MS
  const places = new TokenPlaces(perToken, waitMs, () => waits.inc())
  const plain = pool.connect.bind(pool) as unknown as (connected: Connected) => void
  const connect = (connected: Connected): void => {
    const tokenId = currentToken()
    if (tokenId === undefined) return plain(connected)
    places.enter(tokenId, (isLate) => {
      if (isLate) return connected(shareIsHeld(), undefined, () => undefined)
      return plain((error, client, release) => {
        if (error !== undefined || client === undefined) places.leave(tokenId)
        else onceReleased(client, () => places.leave(tokenId))
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
  return { perToken }
}

const shareIsHeld = (): Error =>
  new Error('timeout exceeded when trying to connect: the token holds its share of the connections')

/** The pool gives a client another `release` each time it lends it out. */
function onceReleased(client: PoolClient, leave: () => void): void {
  const release = client.release.bind(client)
  let isOver = false
  client.release = (destroy) => {
    release(destroy)
    if (isOver) return
    isOver = true
    leave()
  }
}
