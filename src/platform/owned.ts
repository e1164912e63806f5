import type { EventEmitter } from 'node:events'

const noop = (): void => undefined

/**
 * Gives a stream, socket, server or child process a listener for its failure. Its user listens as
 * well; without any listener a failure would end the process.
 */
export function owned<Emitter extends EventEmitter>(emitter: Emitter): Emitter {
  emitter.on('error', noop)
  return emitter
}
