import type { FastifyInstance } from 'fastify'

/** What a browser is to save it as: the name itself, and one in plain letters for who cannot read that. */
export function dispositionOf(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const whole = encodeURIComponent(filename).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`
}

/** Keeps every answer of these routes out of caches: secrets and balances are among them. */
export function useNoStore(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.header('cache-control', 'no-store')
    done()
  })
}
