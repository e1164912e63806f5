import { buildConnector, type Dispatcher, Pool } from 'undici'
import {
  ExchangeError,
  type OpenedStream,
  openStream,
  sendable,
  type SentBody,
  type StreamRequest,
} from './open-stream.ts'

/** One HTTP exchange with an upstream; its errors say exactly how far it got. */

/** A connection that takes longer is given up, before anything was sent. */
export const CONNECT_TIMEOUT_MS = 5_000
/**
 * Idle connections are closed early, before an upstream could close one while a request is sent.
 */
const KEEP_ALIVE_TIMEOUT_MS = 4_000
/** Maximum size of an upstream's answer; a larger one is cut off and counts as malformed. */
export const MAX_RESPONSE_BYTES = 8 * 1024 * 1024

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path with query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: SentBody
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Set if the answer may be larger than `MAX_RESPONSE_BYTES`. */
  readonly maxResponseBytes?: number
}

export interface ExchangeResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The body as received. */
  readonly pieces: readonly Buffer[]
  /** The body as UTF-8 text, decoded at its first use. */
  readonly text: string
}

/** A class: V8 makes a new shape for each object literal that has a getter, and reads its members slowly. */
class WholeResponse implements ExchangeResponse {
  readonly statusCode: number
  readonly headers: ExchangeResponse['headers']
  readonly pieces: readonly Buffer[]
  #text: string | undefined

  constructor(statusCode: number, headers: ExchangeResponse['headers'], pieces: readonly Buffer[]) {
    this.statusCode = statusCode
    this.headers = headers
    this.pieces = pieces
  }

  get text(): string {
    const { pieces } = this
    const [only] = pieces
    this.#text ??= (pieces.length === 1 && only ? only : Buffer.concat(pieces)).toString('utf8')
    return this.#text
  }
}

/** The connections to one origin. */
export interface Exchange {
  /** @throws ExchangeError */
  readonly request: (request: ExchangeRequest) => Promise<ExchangeResponse>
  /** Resolves with the head of the answer; its body follows piece by piece. @throws ExchangeError */
  readonly open: (request: StreamRequest) => Promise<OpenedStream>
  readonly close: () => Promise<void>
}

/** Opens a pool to an origin; `connections` bounds its sockets, further requests wait. */
export function openExchange(origin: string, connections: number): Exchange {
  const pool = new Pool(origin, {
    connections,
    pipelining: 1,
    connect: buildConnector({ timeout: CONNECT_TIMEOUT_MS }),
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // The exchange has its own deadline; these timeouts must not be shorter.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return {
    request: (request) => exchange(pool, request),
    open: (request) => openStream(pool, request),
    close: () => pool.destroy(),
  }
}

function exchange(pool: Pool, request: ExchangeRequest): Promise<ExchangeResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const maxBytes = request.maxResponseBytes ?? MAX_RESPONSE_BYTES
    let sizeBytes = 0
    let statusCode = 0
    let headers: ExchangeResponse['headers'] = {}
    let controller: Dispatcher.DispatchController | undefined
    let settled = false

    const finish = (act: () => void): void => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      request.signal.removeEventListener('abort', onAbort)
      act()
    }
    const fail = (reason: ExchangeError['reason'], cause?: unknown): void => {
      finish(() => {
        const error = new ExchangeError(reason, controller !== undefined, cause)
        controller?.abort(error)
        reject(error)
      })
    }
    const onAbort = (): void => fail('aborted', request.signal.reason)
    const timer = setTimeout(() => fail('timeout'), request.timeoutMs)
    request.signal.addEventListener('abort', onAbort)
    if (request.signal.aborted) return onAbort()

    pool.dispatch(
      {
        method: request.method,
        path: request.path,
        headers: request.headers,
        body: request.body === undefined ? null : sendable(request.body),
      },
      {
        // Called right before the first byte is written: until then nothing was sent.
        onRequestStart: (started) => {
          if (settled) started.abort(new ExchangeError('aborted', false))
          else controller = started
        },
        onResponseStart: (_controller, code, received) => {
          statusCode = code
          headers = received
        },
        onResponseData: (_controller, chunk) => {
          sizeBytes += chunk.length
          if (sizeBytes > maxBytes) fail('too_large')
          else chunks.push(chunk)
        },
        onResponseEnd: () => finish(() => resolve(new WholeResponse(statusCode, headers, chunks))),
        onResponseError: (_controller, error) => fail('network', error),
      },
    )
  })
}
