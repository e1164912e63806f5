import { isAscii } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RequestError } from './request-error.ts'
import { owned } from '../../kernel/owned.ts'

/** Whether the body of a request is a multipart form. */
export function isForm(request: FastifyRequest): boolean {
  return /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')
}

/**
 * Bytes of memory for each byte of a JSON body until it is sent upstream: the joined body, its
 * text, the parsed values, the serialised text and its bytes. If a text has a character beyond
 * Latin-1, the engine uses two bytes for each character.
 */
export const MEMORY_PER_BYTE = { ascii: 6, other: 8 } as const

/**
 * The memory that the bodies of all requests below the plugins using this budget may take at once.
 */
export interface BodyBudget {
  /**
   * Takes more bytes of memory for a request.
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

/**
 * Counts a body of unknown length while it is read. If no handler reads it, the request is left as
 * it is: Node discards the body after the answer.
 */
class Metered extends Readable {
  /** Fastify compares it with the body limit and with `Content-Length`. */
  receivedEncodedLength = 0
  readonly #body: Readable
  readonly #take: (bytes: number) => void
  #isRead = false

  constructor(body: Readable, take: (bytes: number) => void) {
    super()
    this.#body = body
    this.#take = take
  }

  override _read(): void {
    if (this.#isRead) {
      this.#body.resume()
      return
    }
    this.#isRead = true
    if (this.#body.destroyed) this.destroy(new Error('the caller hung up'))
    else
      this.#body
        .on('data', this.#onData)
        .once('end', () => this.push(null))
        .on('error', (error) => this.destroy(error))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#isRead) this.#body.off('data', this.#onData).resume()
    done(error)
  }

  readonly #onData = (chunk: Buffer): void => {
    try {
      this.#take(chunk.length)
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error('no room', { cause: error }))
      return
    }
    this.receivedEncodedLength += chunk.length
    if (!this.push(chunk)) this.#body.pause()
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Takes more memory for a request below `useBodyBudget`. */
    takeMemory: ((bytes: number) => void) | undefined
  }
}

/**
 * Takes the memory that the body of a request will need in addition to that taken while it was
 * read.
 * @throws RequestError `overloaded` when that is not available
 */
export function countBody(request: FastifyRequest, body: Buffer): void {
  const { ascii, other } = MEMORY_PER_BYTE
  if (!isAscii(body)) request.takeMemory?.(body.length * (other - ascii))
}

/** The declared length of a body; undefined if it is sent in chunks. */
function statedBytes(request: FastifyRequest): number | undefined {
  const stated = Number(request.headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(stated) && stated >= 0 ? stated : undefined
}

/**
 * Takes memory for a form until its request is answered; the form's reader bounds it, so it is not
 * counted like other bodies.
 * @throws RequestError `overloaded` when that is not available
 */
export function takeForm(request: FastifyRequest, memoryBytes: number): void {
  request.takeMemory?.(memoryBytes)
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
  if (!app.hasRequestDecorator('takeMemory')) app.decorateRequest('takeMemory', undefined)
  app.addHook('preParsing', (request, reply, payload, done) => {
    // The caller disconnected while its token was looked up: nothing would release the memory.
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
    request.takeMemory = take
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
          done(null, owned(new Metered(payload, takeRead)))
          return
        }
      } else if (stated <= bodyLimitBytes) takeRead(stated)
      done(null, payload)
    } catch (error) {
      done(error instanceof Error ? error : new Error('no room', { cause: error }))
    }
  })
}
