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
export const MEMORY_PER_BYTE = { ascii: 7, other: 9 } as const

/** Bounds of all bodies that one process reads or works on at the same time. */
interface BodyBounds {
  /** Memory, copies included. */
  readonly limitBytes: number
  /** Memory of the bodies of one token. */
  readonly perTokenBytes: number
  /** The longest silence within a body that is counted as it arrives. */
  readonly silenceMs: number
}

/**
 * The memory that the bodies of all requests below the plugins using this budget may take together.
 */
export interface BodyBudget extends Pick<BodyBounds, 'silenceMs'> {
  /**
   * Takes more bytes of memory for a request.
   * @throws RequestError `overloaded` when they are not available
   */
  readonly take: (tokenId: string, bytes: number, heldBytes: number) => void
  readonly give: (tokenId: string, bytes: number) => void
}

/**
 * A budget of bytes of memory, of which one token leaves a part to others; a single body always
 * fits.
 */
export function createBodyBudget({ limitBytes, perTokenBytes, silenceMs }: BodyBounds): BodyBudget {
  let takenBytes = 0
  const takenBy = new Map<string, number>()
  return {
    silenceMs,
    take: (tokenId, bytes, heldBytes) => {
      const ofToken = takenBy.get(tokenId) ?? 0
      const isFull =
        (takenBytes > heldBytes && takenBytes + bytes > limitBytes) ||
        (ofToken > heldBytes && ofToken + bytes > perTokenBytes)
      if (isFull) throw new RequestError('overloaded', 'Too many large requests are being read')
      takenBytes += bytes
      takenBy.set(tokenId, ofToken + bytes)
    },
    give: (tokenId, bytes) => {
      takenBytes -= bytes
      const left = (takenBy.get(tokenId) ?? 0) - bytes
      if (left > 0) takenBy.set(tokenId, left)
      else takenBy.delete(tokenId)
    },
  }
}

/** The memory of a smaller body is taken before it comes: its sender can hold little of it. */
const METERED_BYTES = 64 * 1024

/**
 * Counts a body as it arrives, and disconnects its sender after a silence. If no handler reads the
 * body, Node discards it after the answer.
 */
class Metered extends Readable {
  /** Fastify compares it with the body limit and with `Content-Length`. */
  receivedEncodedLength = 0
  readonly #body: Readable
  readonly #take: (bytes: number) => void
  readonly #silenceMs: number
  #isRead = false
  #silence: NodeJS.Timeout | undefined

  constructor(body: Readable, take: (bytes: number) => void, silenceMs: number) {
    super()
    this.#body = body
    this.#take = take
    this.#silenceMs = silenceMs
  }

  override _read(): void {
    if (this.#isRead) {
      this.#body.resume()
      return
    }
    this.#isRead = true
    if (this.#body.destroyed) {
      this.destroy(new Error('the caller hung up'))
      return
    }
    this.#silence = setTimeout(() => {
      this.destroy(new RequestError('body_invalid', 'The body stopped arriving'))
    }, this.#silenceMs)
    this.#body
      .on('data', this.#onData)
      .once('end', () => {
        clearTimeout(this.#silence)
        this.push(null)
      })
      .on('error', (error) => this.destroy(error))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#silence)
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
    this.#silence?.refresh()
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
    // The caller disconnected while its token was looked up: no later event would release the
    // memory.
    if (reply.raw.destroyed) {
      done(new RequestError('body_invalid', 'The caller hung up'))
      return
    }
    let heldBytes = 0
    const tokenId = request.principal?.tokenId ?? ''
    const take = (bytes: number): void => {
      budget.take(tokenId, bytes, heldBytes)
      heldBytes += bytes
    }
    const takeRead = (bytes: number): void => take(bytes * MEMORY_PER_BYTE.ascii)
    request.takeMemory = take
    reply.raw.once('close', () => {
      budget.give(tokenId, heldBytes)
    })
    if (isForm(request)) {
      done(null, payload)
      return
    }
    const stated = statedBytes(request)
    try {
      const isChunked = stated === undefined && request.headers['transfer-encoding'] !== undefined
      const comes = stated ?? 0
      if (isChunked || (comes > METERED_BYTES && comes <= bodyLimitBytes)) {
        done(null, owned(new Metered(payload, takeRead, budget.silenceMs)))
        return
      }
      if (comes <= bodyLimitBytes) takeRead(comes)
      done(null, payload)
    } catch (error) {
      done(error instanceof Error ? error : new Error('no room', { cause: error }))
    }
  })
}
