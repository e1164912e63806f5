import type { Pool, PoolClient } from 'pg'
import { currentSharer } from '../../../src/platform/sharer-context.ts'

/** What tokens ask of a gateway's main pool, as it is asked and granted. */
interface TokenConnections {
  /** Connections asked for by a token, those that still wait included. */
  readonly asked: (tokenId: string) => number
  /** Most connections one token held at a time. */
  readonly mostHeld: (tokenId: string) => number
  /** Refusals of connections to tokens. */
  readonly failures: readonly string[]
}

type Connected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (destroy?: boolean | Error) => void,
) => void

/** Watches a pool from outside of its shares. */
export function watchConnections(pool: Pool): TokenConnections {
  const asked = new Map<string, number>()
  const held = new Map<string, number>()
  const most = new Map<string, number>()
  const failures: string[] = []
  const hold = (tokenId: string, change: 1 | -1): void => {
    const now = (held.get(tokenId) ?? 0) + change
    held.set(tokenId, now)
    most.set(tokenId, Math.max(most.get(tokenId) ?? 0, now))
  }
  const plain = pool.connect.bind(pool) as unknown as (connected: Connected) => void
  const watched = (tokenId: string, connected: Connected): void => {
    asked.set(tokenId, (asked.get(tokenId) ?? 0) + 1)
    plain((error, client, release) => {
      if (error !== undefined || client === undefined) failures.push(String(error))
      else {
        hold(tokenId, 1)
        const giveBack = client.release.bind(client)
        client.release = (destroy) => {
          hold(tokenId, -1)
          giveBack(destroy)
        }
      }
      connected(error, client, client?.release.bind(client) ?? release)
    })
  }
  const connect = (connected?: Connected): Promise<PoolClient> | undefined => {
    if (connected === undefined)
      return new Promise((resolve, reject) => {
        void connect((error, client) => {
          if (client === undefined) reject(error ?? new Error('no connection'))
          else resolve(client)
        })
      })
    const tokenId = currentSharer()?.user
    if (tokenId === undefined) plain(connected)
    else watched(tokenId, connected)
    return undefined
  }
  pool.connect = connect as Pool['connect']
  return {
    asked: (tokenId) => asked.get(tokenId) ?? 0,
    mostHeld: (tokenId) => most.get(tokenId) ?? 0,
    failures,
  }
}
