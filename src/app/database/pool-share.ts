import { AsyncLocalStorage } from 'node:async_hooks'
import type { Pool, PoolClient } from 'pg'

/** Whose work is done now, where a token asked for it. */
const workFor = new AsyncLocalStorage<string>()

/** Everything that this begins, and what follows from it, is work for that token. */
export function inShareOf(tokenId: string, begin: () => void): void {
  workFor.run(tokenId, begin)
}

/** Of the connections of a pool, what one token may hold. */
export const TOKEN_SHARE = 0.5

type Connected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (destroy?: boolean | Error) => void,
) => void

/**
 * Lets no token hold more than its share of a pool: what it asks for beyond that waits for what it
 * holds, before it waits for the pool itself, so others find connections however much one asks for.
 * Work that no token asked for is not bounded.
 */
export function shareFairly(
  pool: Pool,
  share: number = TOKEN_SHARE,
): { readonly perToken: number } {
  const perToken = Math.max(1, Math.floor((pool.options.max ?? 1) * share))
  const held = new Map<string, { count: number; readonly waiting: (() => void)[] }>()
  const enter = (tokenId: string, begin: () => void): void => {
    const of = held.get(tokenId) ?? { count: 0, waiting: [] }
    held.set(tokenId, of)
    if (of.count < perToken) {
      of.count += 1
      begin()
    } else of.waiting.push(begin)
  }
  const leave = (tokenId: string): void => {
    const of = held.get(tokenId)
    const next = of?.waiting.shift()
    if (of === undefined) return
    if (next !== undefined) next()
    else if ((of.count -= 1) === 0) held.delete(tokenId)
  }
  const plain = pool.connect.bind(pool) as unknown as (connected: Connected) => void
  const connect = (connected: Connected): void => {
    const tokenId = workFor.getStore()
    if (tokenId === undefined) return plain(connected)
    enter(tokenId, () =>
      plain((error, client, release) => {
        if (error !== undefined || client === undefined) leave(tokenId)
        else {
          // The pool gives a client another `release` each time it lends it out.
          const giveBack = client.release.bind(client)
          let isOver = false
          client.release = (destroy) => {
            giveBack(destroy)
            if (isOver) return
            isOver = true
            leave(tokenId)
          }
        }
        connected(error, client, client === undefined ? release : client.release.bind(client))
      }),
    )
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
