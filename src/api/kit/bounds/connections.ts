import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'
import { addressBlock, isWithinRanges } from '../../../kernel/address-ranges.ts'
import { monotonicClock } from '../../../kernel/clock.ts'
import { beginAtZero } from '../../../platform/counters.ts'
import { owned } from '../../../platform/owned.ts'

/** Maximum number of connections of a port; each is an open file of the process. */
export interface ConnectionBounds {
  readonly all: number
  /** From one IPv4 address or IPv6 /64; trusted proxies are exempt. */
  readonly perAddress: number
}

interface ConnectionOptions {
  readonly bounds: ConnectionBounds
  /** For the first byte of a new connection to arrive. */
  readonly firstByteTimeoutMs: number
  /** For a body that no handler read to end after the answer. */
  readonly unreadTimeoutMs: number
  readonly trustedProxies: readonly string[]
  /** Makes the answer that a connection beyond the bounds gets before it is closed. */
  readonly refusal: () => string
  /** Answers a request beyond the bound on unanswered ones; the answer ends its connection. */
  readonly refusePipelined: (request: IncomingMessage, answer: ServerResponse) => void
  /** Undefined: the port has no metrics. */
  readonly metrics: Registry | undefined
}

const closeReasons = ['all', 'address', 'silent', 'unread', 'pipelined'] as const

type CloseReason = (typeof closeReasons)[number]

/** The longest time between two looks at the connections. */
const SWEEP_MS = 1_000
/** Refused connections that are still being sent why; beyond them a connection is closed without. */
const MAX_BEING_REFUSED = 32
/** Time for a refused caller to read the reason. */
const REFUSAL_MS = 1_000
/** Bytes of a body that no handler read, after the answer: as many as the largest form. */
const UNREAD_BYTES = 128 * 1024 * 1024

/** Requests of one connection that wait for their answers at once: one packet can hold thousands. */
export const MAX_UNANSWERED = 16

/** The body of an answered request that no handler read. */
interface Unread {
  readonly request: IncomingMessage
  readonly untilMs: number
  readonly untilBytes: number
}

/** A connection whose requests are all answered. */
interface Unused {
  readonly sinceMs: number
  /** Bytes that had come by then: with more of them, a request is arriving. */
  readonly bytesRead: number
}

/** The connections of one server, from the first one on. */
class Connections {
  readonly open = new Set<Socket>()
  readonly #unused = new Map<Socket, Unused>()
  readonly #options: ConnectionOptions
  readonly #close: (reason: CloseReason) => void
  readonly #byBlock = new Map<string, number>()
  /** Times at which connections that have not sent a byte were opened, oldest first. */
  readonly #silent = new Map<Socket, number>()
  readonly #unread = new Map<Socket, Unread>()
  /** Requests without an answer; of a connection that ends for having too many, infinitely many. */
  readonly #unanswered = new WeakMap<Socket, number>()
  readonly #sweepMs: number
  #beingRefused = 0
  #sweeping: NodeJS.Timeout | undefined

  constructor(options: ConnectionOptions, onClose: (reason: CloseReason) => void) {
    this.#options = options
    this.#close = onClose
    const { firstByteTimeoutMs, unreadTimeoutMs } = options
    this.#sweepMs = Math.min(SWEEP_MS, firstByteTimeoutMs / 4, unreadTimeoutMs / 4)
  }

  /** Whether the connection is served; otherwise it is refused and closed. */
  take(socket: Socket): boolean {
    const { bounds } = this.#options
    if (this.open.size >= bounds.all) return this.#refuse(socket, 'all')
    const block = this.#blockOf(socket)
    const others = (block !== undefined && this.#byBlock.get(block)) || 0
    if (others >= bounds.perAddress) return this.#refuse(socket, 'address')
    if (block !== undefined) this.#byBlock.set(block, others + 1)
    this.open.add(socket)
    this.#silent.set(socket, monotonicClock.nowMs())
    this.#sweeping ??= setInterval(() => this.#sweep(), this.#sweepMs).unref()
    socket.once('close', () => {
      this.open.delete(socket)
      this.#silent.delete(socket)
      this.#unread.delete(socket)
      this.#unused.delete(socket)
      if (block !== undefined) this.#leave(block)
    })
    return true
  }

  /**
   * Whether a request may begin. The first beyond the bound is refused: its answer comes after those
   * of the requests before it and ends the connection, and nothing after it is read.
   */
  begins(request: IncomingMessage, answer: ServerResponse): boolean {
    const { socket } = request
    const unanswered = this.#unanswered.get(socket) ?? 0
    if (unanswered < MAX_UNANSWERED) {
      this.#unanswered.set(socket, unanswered + 1)
      this.#unused.delete(socket)
      answer.once('close', () => this.#ends(socket))
      return true
    }
    if (unanswered === Infinity) return false
    this.#unanswered.set(socket, Infinity)
    stopParsing(socket)
    this.#close('pipelined')
    this.#options.refusePipelined(request, answer)
    return false
  }

  /** Closes the connections that had no request for at least so long. */
  closeUnused(leastMs: number): void {
    const untilMs = monotonicClock.nowMs() - leastMs
    for (const [socket, { sinceMs, bytesRead }] of this.#unused)
      if (sinceMs <= untilMs && socket.bytesRead === bytesRead) socket.destroy()
  }

  /** Bounds the rest of a request whose answer is complete. */
  answered(request: IncomingMessage): void {
    const { socket } = request
    // A request that no connection brought, as one of `inject`, has no socket that could be closed.
    if (request.complete || !this.open.has(socket)) return
    this.#unread.set(socket, {
      request,
      untilMs: monotonicClock.nowMs() + this.#options.unreadTimeoutMs,
      untilBytes: socket.bytesRead + UNREAD_BYTES,
    })
  }

  /** Undefined for addresses that many callers share, and for sockets that are closed already. */
  #blockOf({ remoteAddress }: Socket): string | undefined {
    if (remoteAddress === undefined) return undefined
    const isProxy = isWithinRanges(remoteAddress, this.#options.trustedProxies)
    return isProxy ? undefined : addressBlock(remoteAddress)
  }

  #ends(socket: Socket): void {
    const left = (this.#unanswered.get(socket) ?? 1) - 1
    this.#unanswered.set(socket, left)
    if (left > 0 || !this.open.has(socket)) return
    const { bytesRead } = socket
    this.#unused.set(socket, { sinceMs: monotonicClock.nowMs(), bytesRead })
  }

  #leave(block: string): void {
    const left = (this.#byBlock.get(block) ?? 1) - 1
    if (left > 0) this.#byBlock.set(block, left)
    else this.#byBlock.delete(block)
  }

  #refuse(socket: Socket, reason: CloseReason): false {
    this.#close(reason)
    owned(socket)
    if (this.#beingRefused >= MAX_BEING_REFUSED) {
      socket.destroy()
      return false
    }
    this.#beingRefused += 1
    const timer = setTimeout(() => socket.destroy(), REFUSAL_MS)
    socket.once('close', () => {
      clearTimeout(timer)
      this.#beingRefused -= 1
    })
    // The server discards the caller's remaining bytes: unread bytes would reset the connection.
    socket.resume().once('end', () => socket.destroy())
    socket.end(this.#options.refusal())
    return false
  }

  #sweep(): void {
    const nowMs = monotonicClock.nowMs()
    for (const [socket, openedMs] of this.#silent) {
      if (openedMs > nowMs - this.#options.firstByteTimeoutMs) break
      this.#silent.delete(socket)
      if (socket.bytesRead === 0) this.#end(socket, 'silent')
    }
    for (const [socket, { request, untilMs, untilBytes }] of this.#unread)
      if (request.complete) this.#unread.delete(socket)
      else if (nowMs >= untilMs || socket.bytesRead > untilBytes) this.#end(socket, 'unread')
    if (this.open.size > 0) return
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }

  #end(socket: Socket, reason: CloseReason): void {
    this.#close(reason)
    socket.destroy()
  }
}

/** The answer of `onIncoming` in node:http after which the parser reads no further request in a packet, as for one that switches protocols. */
const NOT_HTTP = 2

/**
 * Ends the reading of requests from a connection. Node would make a request and an answer of everything
 * that came in the same packet, which takes longer than to refuse them; it has no interface for this.
 */
function stopParsing(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, 'parser')
  if (typeof parser !== 'object' || parser === null || !('onIncoming' in parser)) return
  parser.onIncoming = (request: IncomingMessage & { upgrade?: boolean }) => {
    // With `upgrade` Node would hand the connection over, or close it before its answers are sent.
    request.upgrade = false
    return NOT_HTTP
  }
}

const followed = new WeakMap<object, Connections>()

/** Open connections of a server: Node does not list those without a request yet. */
export function openConnections({ server }: FastifyInstance): Iterable<Socket> {
  return followed.get(server)?.open ?? []
}

/**
 * From now on, `closeIdleConnections` of the server closes those that had no request for so long. Node and Fastify call
 * it too when they close the server; theirs would close one just as its client sends the next request.
 */
export function spareUsedConnections({ server }: FastifyInstance, leastMs: number): void {
  const connections = followed.get(server)
  if (connections !== undefined)
    server.closeIdleConnections = () => connections.closeUnused(leastMs)
}

function metricsIn(registry: Registry, bounds: ConnectionBounds, open: () => number) {
  const registers = [registry]
  const now: Gauge = new Gauge({
    name: 'tollgate_http_connections',
    help: 'Open connections of callers.',
    registers,
    collect() {
      now.set(open())
    },
  })
  const limit = new Gauge({
    name: 'tollgate_http_connections_limit',
    help: 'Maximum number of open connections of callers.',
    registers,
  })
  limit.set(bounds.all)
  const refused = new Counter({
    name: 'tollgate_http_connections_refused_total',
    help: 'Connections that the process closed, by bound: all connections, connections of one address, no byte in time, unread body, too many requests without an answer.',
    labelNames: ['reason'],
    registers,
  })
  beginAtZero(refused, { reason: closeReasons })
  return refused
}

/**
 * Follows the connections of a server and bounds them, before HTTP sees them: without a bound a
 * caller that opens connections and sends nothing would use up the files that the process may open.
 */
export function useConnections(app: FastifyInstance, options: ConnectionOptions): void {
  const server: Server = owned(app.server)
  const { metrics, bounds } = options
  let refused: Counter<'reason'> | undefined
  const connections = new Connections(options, (reason) => refused?.inc({ reason }))
  followed.set(server, connections)
  if (metrics !== undefined) refused = metricsIn(metrics, bounds, () => connections.open.size)
  const serve = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    if (connections.take(socket)) for (const each of serve) each.call(server, socket)
  })
  const begin = server.listeners('request')
  server.removeAllListeners('request')
  server.on('request', (request: IncomingMessage, answer: ServerResponse) => {
    if (connections.begins(request, answer))
      for (const each of begin) each.call(server, request, answer)
  })
  app.addHook('onResponse', (request, _reply, done) => {
    connections.answered(request.raw)
    done()
  })
}
