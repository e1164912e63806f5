import type { Dispatcher } from 'undici'
import {
  beginOnConnection,
  type BegunRequest,
  dispatchOptions,
  hasBrokenStale,
  openConnections,
  type SentBody,
} from './kept-connections.ts'
import { ExchangeError, type OpenedStream, openStream, type StreamRequest } from './open-stream.ts'

/** One HTTP exchange with an upstream; its errors say exactly how far it got. */

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
  /** Whether the provider may get it twice; its body can then be gone through twice. */
  readonly repeatable?: true
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
  const lines = openConnections(origin, connections)
  const onceMore = async <Answer>(
    { method, repeatable }: Pick<ExchangeRequest | StreamRequest, 'method' | 'repeatable'>,
    send: (dispatcher: Dispatcher) => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      return await send(lines.kept)
    } catch (error) {
      const mayRepeat = repeatable === true || method === 'GET'
      if (!mayRepeat || !(error instanceof ExchangeError) || !error.wasStale) throw error
      return lines.withNew(send)
    }
  }
  return {
    request: (request) => onceMore(request, (dispatcher) => exchange(dispatcher, request)),
    open: (request) => onceMore(request, (dispatcher) => openStream(dispatcher, request)),
    close: () => lines.close(),
  }
}

function exchange(dispatcher: Dispatcher, request: ExchangeRequest): Promise<ExchangeResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const maxBytes = request.maxResponseBytes ?? MAX_RESPONSE_BYTES
    let sizeBytes = 0
    let statusCode = 0
    let headers: ExchangeResponse['headers'] = {}
    let controller: Dispatcher.DispatchController | undefined
    let began: BegunRequest | undefined
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
        const wasStale = reason === 'network' && statusCode === 0 && hasBrokenStale(began, cause)
        const error = new ExchangeError(reason, controller !== undefined, { cause, wasStale })
        controller?.abort(error)
        reject(error)
      })
    }
    const onAbort = (): void => fail('aborted', request.signal.reason)
    const timer = setTimeout(() => fail('timeout'), request.timeoutMs)
    request.signal.addEventListener('abort', onAbort)
    if (request.signal.aborted) return onAbort()

    const sent = dispatchOptions(request)
    dispatcher.dispatch(sent, {
      // Called right before the first byte is written: until then nothing was sent.
      onRequestStart: (started) => {
        began = beginOnConnection(sent)
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
    })
  })
}
