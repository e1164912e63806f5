import { once } from 'node:events'
import { createServer } from 'node:net'

/** These are lower than the ports that a system gives to connections, and to servers that listen on any. */
const FIRST = 10_000
const COUNT = 20_000
const TRIES = 100

/**
 * A free port for a server that is restarted at the same address. The system gives it to no other server while that one
 * is away: its callers would reach the store of another test.
 */
export async function lastingPort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error(`no free port in ${TRIES} tries`)
}
