import { isAscii } from 'node:buffer'
import { Transform, type TransformCallback } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RequestError } from './request-error.ts'

/** Whether a request brings a form with parts. */
export function isForm(request: FastifyRequest): boolean {
  return /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')
}

/**
 * Bytes of memory for each byte of a JSON body until it is sent upstream: the body, gathered from
 * what came in pieces; its text; the values read from that; their text as it is sent, and its
 * bytes. Beyond ASCII the engine keeps a character in two bytes, wherever in the body the first one
 * is.
 */
export const MEMORY_PER_BYTE = { ascii: 6, other: 8 } as const

/** How much memory the bodies of a process take at once, over all requests below the plugins using it. */
export interface BodyBudget {
  /**
   * Takes bytes of memory for a request that holds some already.
   * @throws RequestError `overloaded` when they are not available
   */
  readonly take: (bytes: number, heldBytes: number) => void
  readonly give: (bytes: number) => void
}

/** A budget of so many bytes of memory; a body alone always fits. */
export function createBodyBudget(limitBytes: number): BodyBudget {
  let takenBytes = 0
  return {
    take: (bytes, heldBytes) => {
      if (takenBytes > heldBytes && takenBytes + bytes > limitBytes)
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

/** Takes more for a request below `useBodyBudget`. */
const takers = new WeakMap<FastifyRequest, (bytes: number) => void>()

/**
 * Takes the memory that the body of a request will need beyond what was taken as it was read.
 * @throws RequestError `overloaded` when that is not available
 */
export function countBody(request: FastifyRequest, body: Buffer): void {
  const { ascii, other } = MEMORY_PER_BYTE
  if (!isAscii(body)) takers.get(request)?.(body.length * (other - ascii))
}

/** Length a request says its body has; undefined when it comes in chunks. */
function statedBytes(request: FastifyRequest): number | undefined {
  const stated = Number(request.headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(stated) && stated >= 0 ? stated : undefined
}

/**
 * Takes memory for a form until its request is answered: its reader knows its bound and its memory,
 * and reads it without the counting of other bodies.
 * @throws RequestError `overloaded` when that is not available
 */
export function takeForm(request: FastifyRequest, memoryBytes: number): void {
  takers.get(request)?.(memoryBytes)
}

/**
 * Admits a body only while there is room for it (P9, P10); it counts until its request is answered.
 * A body over its own limit passes here and is refused for that.
 */
export function useBodyBudget(
  app: FastifyInstance,
  budget: BodyBudget,
  bodyLimitBytes: number,
): void {
  app.addHook('preParsing', (request, reply, payload, done) => {
    // The caller left while its token was looked up: nothing would ever release what it takes.
    if (reply.raw.destroyed) {
      done(new RequestError('body_invalid', 'The caller hung up'))
      return
    }
    let heldBytes = 0
    const take = (bytes: number): void => {
      budget.take(bytes, heldBytes)
      heldBytes += bytes
    }
    const takeRead = (bytes: number): void => take(bytes * MEMORY_PER_BYTE.ascii)
    takers.set(request, take)
    reply.raw.once('close', () => {
      budget.give(heldBytes)
    })
    if (isForm(request)) {
      done(null, payload)
      return
    }
    const stated = statedBytes(request)
    try {
      if (stated === undefined) {
        if (request.headers['transfer-encoding'] !== undefined) {
          const metered = new Metered(takeRead)
          payload.once('error', (error: Error) => metered.destroy(error))
          done(null, payload.pipe(metered))
          return
        }
      } else if (stated <= bodyLimitBytes) takeRead(stated)
      done(null, payload)
    } catch (error) {
      done(error instanceof Error ? error : new Error('no room', { cause: error }))
    }
  })
}
