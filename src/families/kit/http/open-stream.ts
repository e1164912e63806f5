import type { Dispatcher } from 'undici'
import {
  beginOnConnection,
  type BegunRequest,
  dispatchOptions,
  hasBrokenStale,
  type SentBody,
} from './kept-connections.ts'
import { monotonicClock } from '../../../kernel/clock.ts'

/** Why an exchange gave no complete answer. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  readonly reason: 'timeout' | 'aborted' | 'network' | 'too_large'
  /** Whether any byte of the request may have been sent. */
  readonly sent: boolean
  /** Whether the connection was an old one, which broke as soon as the request was sent on it. */
  readonly wasStale: boolean

  constructor(
    reason: ExchangeError['reason'],
    sent: boolean,
    { cause, wasStale = false }: { readonly cause?: unknown; readonly wasStale?: boolean } = {},
  ) {
    super(`upstream exchange: ${reason}${sent ? ' after sending' : ' before sending'}`, { cause })
    this.reason = reason
    this.sent = sent
    this.wasStale = wasStale
  }
}

/** Bytes that may wait for a reader; then the upstream is held back. */
const HIGH_WATER_BYTES = 64 * 1024
/**
 * How much longer the reader has paused upstream than it has since waited for it. An upstream that
 * cannot write closes the connection, and data sent before still arrives after that.
 */
const HELD_BACK_MS = 1_000
/** Time for which the unread rest of a body may keep its connection. */
const DISCARD_MS = 1_000

export interface StreamRequest {
  /** POST by default. */
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: SentBody
  /** Until the head of the answer has come. */
  readonly firstByteTimeoutMs: number
  /** Longest silence while the reader waits for more. */
  readonly idleTimeoutMs: number
  readonly signal: AbortSignal
  /** Whether the provider may get it twice; its body can then be gone through twice. */
  readonly repeatable?: true
}

/** An answer whose body is still coming. */
export interface OpenedStream {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /**
   * Everything that arrived since the last call, at least one piece; undefined at the end. One call
   * at a time. @throws ExchangeError
   */
  readonly read: () => Promise<readonly Buffer[] | undefined>
  readonly receivedBytes: () => number
  /** Whether its reader may have caused its end, by not reading for long. */
  readonly wasHeldBack: () => boolean
  /** From now on a silence of this length is too long. */
  readonly hurry: (idleTimeoutMs: number) => void
  /** Closes the connection; a pending read fails. */
  readonly cancel: () => void
  /** Reads a short rest of the body so that the connection can be reused. */
  readonly discard: () => void
}

interface Waiter {
  readonly resolve: (chunks: readonly Buffer[] | undefined) => void
  readonly reject: (error: ExchangeError) => void
}

/** The body of an answer between the socket and its reader. */
class Body {
  idleTimeoutMs: number
  receivedBytes = 0
  #chunks: Buffer[] = []
  #bufferedBytes = 0
  #paused = false
  #discarding = false
  #ended = false
  #error: ExchangeError | undefined
  #waiter: Waiter | undefined
  #waitingSinceMs = 0
  #pausedSinceMs = 0
  /** Time for which upstream was held back, less the time in which data was waited for since. */
  #heldBackMs = 0
  #timer: NodeJS.Timeout | undefined
  readonly #controller: Dispatcher.DispatchController

  constructor(controller: Dispatcher.DispatchController, idleTimeoutMs: number) {
    this.#controller = controller
    this.idleTimeoutMs = idleTimeoutMs
  }

  push(chunk: Buffer): void {
    this.receivedBytes += chunk.length
    if (this.#discarding) return
    const waiter = this.#takeWaiter()
    if (waiter !== undefined) {
      if (this.#heldBackMs > 0) {
        const waitedMs = monotonicClock.nowMs() - this.#waitingSinceMs
        this.#heldBackMs = Math.max(0, this.#heldBackMs - waitedMs)
      }
      return waiter.resolve([chunk])
    }
    this.#chunks.push(chunk)
    this.#bufferedBytes += chunk.length
    if (this.#bufferedBytes >= HIGH_WATER_BYTES && !this.#paused) {
      this.#paused = true
      this.#pausedSinceMs = monotonicClock.nowMs()
      this.#controller.pause()
    }
  }

  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    this.#takeWaiter()?.resolve(undefined)
  }

  fail(error: ExchangeError): void {
    if (this.#ended || this.#error !== undefined) return
    this.#error = error
    clearTimeout(this.#timer)
    this.#takeWaiter()?.reject(error)
  }

  read(): Promise<readonly Buffer[] | undefined> {
    if (this.#chunks.length > 0) {
      const chunks = this.#chunks
      this.#chunks = []
      this.#bufferedBytes = 0
      if (this.#paused) {
        this.#paused = false
        this.#heldBackMs += monotonicClock.nowMs() - this.#pausedSinceMs
        this.#controller.resume()
      }
      return Promise.resolve(chunks)
    }
    if (this.#error !== undefined) return Promise.reject(this.#error)
    if (this.#ended) return Promise.resolve(undefined)
    this.#waitingSinceMs = monotonicClock.nowMs()
    this.watch()
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
    })
  }

  wasHeldBack(): boolean {
    const pausedMs = this.#paused ? monotonicClock.nowMs() - this.#pausedSinceMs : 0
    return this.#heldBackMs + pausedMs >= HELD_BACK_MS
  }

  /**
   * One timer for a whole stream: it checks the last arrival when it fires, instead of being set
   * for every piece.
   */
  watch(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#check(), this.idleTimeoutMs)
  }

  hurry(idleTimeoutMs: number): void {
    this.idleTimeoutMs = idleTimeoutMs
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiter !== undefined) this.watch()
  }

  abort(reason: ExchangeError['reason']): void {
    const error = new ExchangeError(reason, true)
    // Called first: otherwise the connection's own error on closing would become the reason.
    this.fail(error)
    if (!this.#ended) this.#controller.abort(error)
  }

  discard(): void {
    if (this.#ended || this.#error !== undefined) return
    this.#discarding = true
    this.#chunks = []
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.abort('aborted'), DISCARD_MS)
    if (this.#paused) this.#controller.resume()
  }

  #check(): void {
    this.#timer = undefined
    if (this.#waiter === undefined) return
    const silentMs = monotonicClock.nowMs() - this.#waitingSinceMs
    if (silentMs >= this.idleTimeoutMs - 1) return this.abort('timeout')
    this.#timer = setTimeout(() => this.#check(), this.idleTimeoutMs - silentMs)
  }

  #takeWaiter(): Waiter | undefined {
    const waiter = this.#waiter
    this.#waiter = undefined
    return waiter
  }
}

function readerOf(body: Body): Omit<OpenedStream, 'statusCode' | 'headers'> {
  return {
    read: () => body.read(),
    receivedBytes: () => body.receivedBytes,
    wasHeldBack: () => body.wasHeldBack(),
    hurry: (idleTimeoutMs) => body.hurry(idleTimeoutMs),
    cancel: () => body.abort('aborted'),
    discard: () => body.discard(),
  }
}

/** Sends a request and resolves when its answer begins. @throws ExchangeError */
export function openStream(dispatcher: Dispatcher, request: StreamRequest): Promise<OpenedStream> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let began: BegunRequest | undefined
    let body: Body | undefined
    let over = false

    const conclude = (): void => {
      over = true
      clearTimeout(timer)
    }
    const fail = (reason: ExchangeError['reason'], cause?: unknown): void => {
      if (over) return
      conclude()
      request.signal.removeEventListener('abort', onAbort)
      const wasStale = reason === 'network' && hasBrokenStale(began, cause)
      const error = new ExchangeError(reason, controller !== undefined, { cause, wasStale })
      controller?.abort(error)
      reject(error)
    }
    const onAbort = (): void => {
      if (body === undefined) fail('aborted', request.signal.reason)
      else body.abort('aborted')
    }
    const timer = setTimeout(() => fail('timeout'), request.firstByteTimeoutMs)
    request.signal.addEventListener('abort', onAbort)
    if (request.signal.aborted) return onAbort()

    const sent = dispatchOptions(request)
    dispatcher.dispatch(sent, {
      // Called right before the first byte is written: until then nothing was sent.
      onRequestStart: (started) => {
        began = beginOnConnection(sent)
        if (over) started.abort(new ExchangeError('aborted', false))
        else controller = started
      },
      onResponseStart: (started, statusCode, headers) => {
        if (over || statusCode < 200) return
        conclude()
        const opened = new Body(started, request.idleTimeoutMs)
        body = opened
        resolve({ statusCode, headers, ...readerOf(opened) })
      },
      onResponseData: (_controller, chunk) => body?.push(chunk),
      onResponseEnd: () => {
        request.signal.removeEventListener('abort', onAbort)
        body?.end()
      },
      onResponseError: (_controller, error) => {
        request.signal.removeEventListener('abort', onAbort)
        if (body === undefined) fail('network', error)
        else body.fail(new ExchangeError('network', true, { cause: error }))
      },
    })
  })
}

/** The whole body of an answer, for those that turn out not to be streams. @throws ExchangeError */
export async function readWhole(opened: OpenedStream, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  for (;;) {
    const more = await opened.read()
    if (more === undefined) return Buffer.concat(chunks).toString('utf8')
    chunks.push(...more)
    if (opened.receivedBytes() > maxBytes) {
      opened.cancel()
      throw new ExchangeError('too_large', true)
    }
  }
}
