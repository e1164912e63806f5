import { buildConnector, Client, type Dispatcher, Pool } from 'undici'
import { monotonicClock } from '../../../kernel/clock.ts'

/**
 * Connections to one origin, which are kept between requests. A server closes a connection that was
 * idle for a time of its own, and a request may be sent before that is seen: it breaks off without a
 * byte of an answer, and can be sent again on a new connection.
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
      // It waits for the end of the answer, which a stream reaches later.
      void client.close().finally(() => single.delete(client))
      return answer
    },
    close: async () => {
      await Promise.all([kept, ...single].map((one) => one.destroy()))
    },
  }
}
