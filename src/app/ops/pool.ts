import type { Pool } from 'pg'

/**
 * Keeps the loss of a connection from ending the process: the pool itself only listens to idle ones,
 * and one that is lent out but between two queries has nobody else to tell. Whoever uses it next
 * learns of the loss from that query.
 */
export function surviveLostConnections(pool: Pool, onLost: (error: Error) => void): void {
  pool.on('error', onLost)
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
  })
}
