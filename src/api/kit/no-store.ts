import type { FastifyInstance } from 'fastify'

/** Keeps every answer of these routes out of caches: secrets and balances are among them. */
export function useNoStore(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.header('cache-control', 'no-store')
    done()
  })
}
