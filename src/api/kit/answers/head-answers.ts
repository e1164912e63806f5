import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { owned } from '../../../platform/owned.ts'

type Done = (error: null, payload: unknown) => void

/** Ends a stream of which no byte is sent; its length is the one its route declared. */
function withoutStream(
  _request: FastifyRequest,
  _reply: FastifyReply,
  payload: unknown,
  done: Done,
): void {
  if (!(payload instanceof Readable)) return done(null, payload)
  owned(payload).destroy()
  done(null, owned(Readable.from([])))
}

/**
 * Makes HEAD answer as its GET, on every route: the framework would read a file, or all pages of a
 * table, to its end for an answer that has no body. Must be called before the routes are added.
 */
export function useHeadAnswers(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [withoutStream, ...[route.onSend ?? []].flat()]
  })
}
