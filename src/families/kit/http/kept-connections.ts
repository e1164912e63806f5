import { Readable } from 'node:stream'
import { buildConnector, Client, type Dispatcher, Pool } from 'undici'
import { monotonicClock } from '../../../kernel/clock.ts'
import { owned } from '../../../platform/owned.ts'

/**
 * Connections to one origin, kept between requests. A server closes an idle connection, and the
 * gateway may send a request on it before it sees that. Such a request fails without a byte of an
 * answer, and the gateway can send it again on a new connection.
 */

/** A connection that takes longer is given up, before anything was sent. */
export const CONNECT_TIMEOUT_MS = 5_000
/**
 * Idle connections are closed early, before most servers close them; earlier where a server names
 * its own time in `Keep-Alive`.
 */
const KEEP_ALIVE_TIMEOUT_MS = 4_000
/** A connection that breaks later than this was not stale: the provider was at work. */
const STALE_MS = 5_000
/** Codes of a connection that was closed or reset; an answer that cannot be read has others. */
const BROKEN: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

const settings = {
  pipelining: 1,
  connect: buildConnector({ timeout: CONNECT_TIMEOUT_MS }),
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  keepAliveMaxTimeout: KEEP_ALIVE_TIMEOUT_MS,
  // The exchange has its own deadline; these timeouts must not be shorter.
  headersTimeout: 0,
  bodyTimeout: 0,
}

/** The client that each request was given to, by its options. */
const clientOf = new WeakMap<Dispatcher.DispatchOptions, CountingClient>()

/** One connection at a time; it counts the requests that its connection has carried. */
class CountingClient extends Client {
  carried = 0

  constructor(origin: string | URL, options: Client.Options) {
    super(origin, options)
    this.on('connect', () => (this.carried = 0))
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    clientOf.set(options, this)
    return super.dispatch(options, handler)
  }
}

/** The body to send; for pieces, the headers have the length if it is known. */
export type SentBody = string | Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** The request in the form of the client library. */
export function dispatchOptions({
  method = 'POST',
  path,
  headers,
  body = null,
}: {
  readonly method?: Dispatcher.HttpMethod
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: SentBody | null
}): Dispatcher.DispatchOptions {
  const sent = body === null || typeof body === 'string' ? body : owned(Readable.from(body))
  return { method, path, headers, body: sent }
}

/** A request that is being sent. */
export interface BegunRequest {
  /** Whether its connection has carried an earlier request. */
  readonly isReused: boolean
  readonly atMs: number
}

/** Notes that a request is now sent on the connection of its client. */
export function beginOnConnection(options: Dispatcher.DispatchOptions): BegunRequest {
  const client = clientOf.get(options)
  const isReused = client !== undefined && client.carried > 0
  if (client !== undefined) client.carried += 1
  return { isReused, atMs: monotonicClock.nowMs() }
}

/** Whether a request without a byte of an answer failed because its connection was an old one. */
export function hasBrokenStale(request: BegunRequest | undefined, cause: unknown): boolean {
  if (request === undefined || !request.isReused) return false
  if (!(cause instanceof Error && 'code' in cause && BROKEN.has(cause.code))) return false
  return monotonicClock.nowMs() - request.atMs < STALE_MS
}

interface Connections {
  /** Sends on a kept connection where there is one. */
  readonly kept: Dispatcher
  /** Sends one request on a new connection, which is closed after its answer. */
  readonly withNew: <Answer>(send: (dispatcher: Dispatcher) => Promise<Answer>) => Promise<Answer>
  /** Closes every connection; requests under way fail. */
  readonly close: () => Promise<void>
}

/** `connections` bounds the kept ones; further requests wait. */
export function openConnections(origin: string, connections: number): Connections {
  const kept = new Pool(origin, {
    ...settings,
    connections,
    factory: (address, options) => new CountingClient(address, options),
  })
  const single = new Set<Client>()
  return {
    kept,
    withNew: (send) => {
      const client = new Client(origin, settings)
      single.add(client)
      const answer = send(client)
      // `close` waits for the end of the answer, which a stream reaches later.
      void client.close().finally(() => single.delete(client))
      return answer
    },
    close: async () => {
      await Promise.all([kept, ...single].map((one) => one.destroy()))
    },
  }
}
