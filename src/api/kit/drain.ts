import type { FastifyInstance } from 'fastify'

/** Connections whose last answer is sent are closed this often. */
const SWEEP_MS = 50

/** Stops listening and answers what is in flight, no longer than the bound; then no connection is left. */
export async function drain(app: FastifyInstance, boundMs: number): Promise<void> {
  const closing = app.close()
  // A connection that was busy when closing began would otherwise be kept alive for its client.
  const sweeping = setInterval(() => app.server.closeIdleConnections(), SWEEP_MS)
  const bound = setTimeout(() => app.server.closeAllConnections(), boundMs)
  try {
    await closing
  } finally {
    clearInterval(sweeping)
    clearTimeout(bound)
  }
}
