import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Connections whose last answer is sent are closed this often. */
const SWEEP_MS = 50

/** Open connections of a server: Node does not tell of those on which nothing was asked yet. */
const connections = new WeakMap<object, Set<Socket>>()

/** Follows the connections of a server from its first one on, for `drain`. */
export function followConnections(app: FastifyInstance): void {
  const open = new Set<Socket>()
  connections.set(app.server, open)
  app.server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
}

/** Clients open connections ahead of need; for Node these are not idle. */
function closeUnusedConnections(app: FastifyInstance): void {
  for (const socket of connections.get(app.server) ?? [])
    if (socket.bytesRead === 0) socket.destroy()
}

/** Stops listening and answers what is in flight, no longer than the bound; then no connection is left. */
export async function drain(app: FastifyInstance, boundMs: number): Promise<void> {
  const closing = app.close()
  // A connection that was busy when closing began would otherwise be kept alive for its client.
  const sweeping = setInterval(() => {
    app.server.closeIdleConnections()
    closeUnusedConnections(app)
  }, SWEEP_MS)
  const bound = setTimeout(() => app.server.closeAllConnections(), boundMs)
  try {
    await closing
  } finally {
    clearInterval(sweeping)
    clearTimeout(bound)
  }
}
