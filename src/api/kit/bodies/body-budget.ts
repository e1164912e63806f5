import { isAscii } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RequestError } from '../request-error.ts'
import { sharerOf } from '../../../domain/token/sharer.ts'
import { owned } from '../../../platform/owned.ts'
import { type Sharer, SharedUse, sharesOf } from '../../../kernel/sharers.ts'

/** The caller of a surface that asks for no token. */
const withoutToken: Sharer = { user: 'user', tenant: 'tenant' }

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
  readonly take: (sharer: Sharer, bytes: number, heldBytes: number) => void
  readonly give: (sharer: Sharer, bytes: number) => void
}

/**
 * A budget of bytes of memory, of which one user and one tenant leave a part to others; a single body
 * always fits.
 */
export function createBodyBudget({ limitBytes, silenceMs }: BodyBounds): BodyBudget {
  let takenBytes = 0
  const used = new SharedUse(sharesOf(limitBytes))
  return {
    silenceMs,
    take: (sharer, bytes, heldBytes) => {
      const isFull =
        (takenBytes > heldBytes && takenBytes + bytes > limitBytes) ||
        !used.fits(sharer, bytes, heldBytes)
      if (isFull) throw new RequestError('overloaded', 'Too many large requests are being read')
      takenBytes += bytes
      used.add(sharer, bytes)
    },
    give: (sharer, bytes) => {
      takenBytes -= bytes
      used.add(sharer, -bytes)
    },
  }
}

/**
 * A smaller body is counted once it has come: until then its connection holds little more than its
 * own buffers, and connections have bounds.
 */
const METERED_BYTES = 64 * 1024

const silent = (): RequestError => new RequestError('body_invalid', 'The body stopped arriving')

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
      this.destroy(silent())
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

/** The memory of the body of one request, until it is answered. */
interface HeldBody {
  readonly take: (bytes: number) => void
  readonly heldBytes: () => number
  readonly silenceMs: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The memory of its body, for a request below `useBodyBudget`. */
    heldBody: HeldBody | undefined
  }
}

/**
 * Takes the memory that a body that has come will need, beyond what was taken while it arrived.
 * @throws RequestError `overloaded` when that is not available
 */
export function countBody({ heldBody }: FastifyRequest, body: Buffer): void {
  if (heldBody === undefined) return
  const { ascii, other } = MEMORY_PER_BYTE
  const missingBytes = body.length * (isAscii(body) ? ascii : other) - heldBody.heldBytes()
  if (missingBytes > 0) heldBody.take(missingBytes)
}

/**
 * Takes memory for a part of a form that has come, until its request is answered.
 * @throws RequestError `overloaded` when that is not available
 */
export function takeForm({ heldBody }: FastifyRequest, memoryBytes: number): void {
  heldBody?.take(memoryBytes)
}

/**
 * Calls `onSilence` once a form that is being read stops arriving; a form whose reader is slow is not silent. Called
 * in the turn in which the reading begins, because it makes the body flow. Returns how to end it.
 */
export function watchForm(
  { raw, heldBody }: FastifyRequest,
  onSilence: (error: RequestError) => void,
): () => void {
  if (heldBody === undefined) return () => undefined
  const silence = setTimeout(() => {
    if (raw.isPaused()) silence.refresh()
    else if (!raw.complete) onSilence(silent())
  }, heldBody.silenceMs)
  const onData = (): void => void silence.refresh()
  raw.on('data', onData)
  return () => {
    clearTimeout(silence)
    raw.off('data', onData)
  }
}

/** Whether the rest of a body is counted as it arrives: one of no stated length, or a large one. */
function isMetered({ headers }: FastifyRequest, bodyLimitBytes: number): boolean {
  const stated = Number(headers['content-length'] ?? Number.NaN)
  if (Number.isNaN(stated)) return headers['transfer-encoding'] !== undefined
  return stated > METERED_BYTES && stated <= bodyLimitBytes
}

/**
 * Admits the bytes of a body only while there is room for them (P9, P10); they count until the
 * request is answered. What a body is stated to have takes no memory before it has come. A body over
 * its own limit passes here and is refused for that.
 */
export function useBodyBudget(
  app: FastifyInstance,
  budget: BodyBudget,
  bodyLimitBytes: number,
): void {
  if (!app.hasRequestDecorator('heldBody')) app.decorateRequest('heldBody', undefined)
  app.addHook('preParsing', (request, reply, payload, done) => {
    // The caller disconnected while its token was looked up: no later event would release the
    // memory.
    if (reply.raw.destroyed) {
      done(new RequestError('body_invalid', 'The caller hung up'))
      return
    }
    let heldBytes = 0
    const sharer = request.principal === undefined ? withoutToken : sharerOf(request.principal)
    const take = (bytes: number): void => {
      budget.take(sharer, bytes, heldBytes)
      heldBytes += bytes
    }
    const { silenceMs } = budget
    request.heldBody = { take, heldBytes: () => heldBytes, silenceMs }
    reply.raw.once('close', () => {
      budget.give(sharer, heldBytes)
    })
    // A form is counted by its reader.
    if (isForm(request) || !isMetered(request, bodyLimitBytes)) {
      done(null, payload)
      return
    }
    const takeRead = (bytes: number): void => take(bytes * MEMORY_PER_BYTE.ascii)
    done(null, owned(new Metered(payload, takeRead, silenceMs)))
  })
}
