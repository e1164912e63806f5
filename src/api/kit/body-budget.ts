import { Transform, type TransformCallback } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RequestError } from './request-error.ts'

/** How many bytes of bodies a process holds at once, over all requests below the plugins using it. */
export interface BodyBudget {
  /** Takes bytes. @throws RequestError `overloaded` when they are not there */
  readonly take: (bytes: number) => void
  readonly give: (bytes: number) => void
}

/** A budget of so many bytes; a body alone always fits. */
export function createBodyBudget(limitBytes: number): BodyBudget {
  let takenBytes = 0
  return {
    take: (bytes) => {
      if (takenBytes > 0 && takenBytes + bytes > limitBytes)
        throw new RequestError('overloaded', 'Too many large requests at once')
      takenBytes += bytes
    },
    give: (bytes) => {
      takenBytes -= bytes
    },
  }
}

/** Counts a body of unknown length as it comes. */
class Metered extends Transform {
  /** Fastify compares it with the body limit and with `Content-Length`. */
  receivedEncodedLength = 0
  readonly #take: (bytes: number) => void

  constructor(take: (bytes: number) => void) {
    super()
    this.#take = take
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    try {
      this.#take(chunk.length)
    } catch (error) {
      done(error instanceof Error ? error : new Error('no room', { cause: error }))
      return
    }
    this.receivedEncodedLength += chunk.length
    done(null, chunk)
  }
}

/** Length a request says its body has; undefined when it comes in chunks. */
function statedBytes(request: FastifyRequest): number | undefined {
  const stated = Number(request.headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(stated) && stated >= 0 ? stated : undefined
}

/**
 * Admits a body only while there is room for it (P9, P10); it counts until its request is answered.
 * A body over its own limit is left to be refused for that.
 */
export function useBodyBudget(
  app: FastifyInstance,
  budget: BodyBudget,
  bodyLimitBytes: number,
): void {
  app.addHook('preParsing', (request, reply, payload, done) => {
    // Gone while its token was looked up: nothing would ever give back what it takes.
    if (reply.raw.destroyed) {
      done(new RequestError('body_invalid', 'The caller hung up'))
      return
    }
    let heldBytes = 0
    const take = (bytes: number): void => {
      budget.take(bytes)
      heldBytes += bytes
    }
    reply.raw.once('close', () => {
      budget.give(heldBytes)
    })
    const stated = statedBytes(request)
    try {
      if (stated === undefined) {
        if (request.headers['transfer-encoding'] !== undefined) {
          const metered = new Metered(take)
          payload.once('error', (error: Error) => metered.destroy(error))
          done(null, payload.pipe(metered))
          return
        }
      } else if (stated <= bodyLimitBytes) take(stated)
      done(null, payload)
    } catch (error) {
      done(error instanceof Error ? error : new Error('no room', { cause: error }))
    }
  })
}
