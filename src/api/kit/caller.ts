import type { FastifyReply } from 'fastify'

/** Aborts when the connection closes before the answer is out; never afterwards. */
export function callerGone(reply: FastifyReply): AbortController {
  const controller = new AbortController()
  const { raw } = reply
  const check = (): void => {
    if (!raw.writableFinished) controller.abort()
  }
  if (raw.destroyed) check()
  else raw.once('close', check)
  return controller
}
