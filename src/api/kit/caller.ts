import type { FastifyReply } from 'fastify'
import type { CallerGone } from '../../app/calls/family.ts'

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

/** The same for whoever only looks, at the end: nothing is listened to until somebody wants to hear. */
class CallerPresence implements CallerGone {
  readonly #reply: FastifyReply
  #controller: AbortController | undefined

  constructor(reply: FastifyReply) {
    this.#reply = reply
  }

  get aborted(): boolean {
    const { raw } = this.#reply
    return this.#controller?.signal.aborted ?? (raw.destroyed && !raw.writableFinished)
  }

  addEventListener(...given: Parameters<AbortSignal['addEventListener']>): void {
    this.#controller ??= callerGone(this.#reply)
    this.#controller.signal.addEventListener(...given)
  }
}

/** Whether a caller is still there. */
export function callerPresence(reply: FastifyReply): CallerGone {
  return new CallerPresence(reply)
}
