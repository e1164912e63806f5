import type { FastifyInstance } from 'fastify'
import { setImmediate as turn } from 'node:timers/promises'
import { monotonicClock } from '../../../kernel/clock.ts'
import { openConnections, spareUsedConnections } from './connections.ts'

/** Interval at which unused connections are closed. */
const SWEEP_MS = 50
/** The most turns of the event loop in which waiting connections are accepted. */
const MAX_TAKING_TURNS = 1_000
/** A client that a busy machine holds up sends its request this much later than it connects. */
const SILENT_MS = 500

/**
 * While the process is about to end, each connection closes after its answer, and the answer says
 * so: a client that kept it could send the next request just as it closes, and would not know
 * whether the gateway started it. A stream that began earlier has announced a kept connection,
 * which stays open for a next request.
 */
export function useLeaving(app: FastifyInstance, leaving: () => boolean): void {
  app.addHook('onRequest', (_request, reply, done) => {
    if (leaving()) void reply.header('connection', 'close')
    done()
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (leaving()) void reply.header('connection', 'close')
    done(null, payload)
  })
}

/** Clients open connections ahead of need. */
function closeSilentConnections(app: FastifyInstance): void {
  for (const socket of openConnections(app)) if (socket.bytesRead === 0) socket.destroy()
}

/**
 * Resolves after a turn of the event loop without a new connection. Node accepts one connection per
 * turn, and closing the listener would lose those that the operating system has already opened,
 * with their requests.
 */
async function acceptWaitingConnections({ server }: FastifyInstance): Promise<void> {
  let taken = true
  const take = (): void => {
    taken = true
  }
  server.on('connection', take)
  for (let turns = 0; taken && turns < MAX_TAKING_TURNS; turns += 1) {
    taken = false
    await turn()
  }
  server.off('connection', take)
}

/**
 * Stops listening and answers requests in flight, within the bound; then no connection is left. One that is kept closes
 * when it was unused for `unusedMs`: the proxies of SHUTDOWN_DELAY_MS no longer use it then.
 */
export async function drain(
  app: FastifyInstance,
  { boundMs, unusedMs }: { readonly boundMs: number; readonly unusedMs: number },
): Promise<void> {
  await acceptWaitingConnections(app)
  spareUsedConnections(app, unusedMs)
  const closed = new Promise<void>((resolve) => {
    // Closes the listener first: closing the routes takes turns of the event loop in which
    // connections would still be accepted.
    app.server.close(() => resolve())
  })
  const closing = app.close()
  const silentUntilMs = monotonicClock.nowMs() + Math.min(SILENT_MS, boundMs)
  const sweep = (): void => {
    app.server.closeIdleConnections()
    if (monotonicClock.nowMs() >= silentUntilMs) closeSilentConnections(app)
  }
  // Runs after requests that arrived meanwhile were read, however late the timer is.
  const sweeping = setInterval(() => setImmediate(sweep), SWEEP_MS)
  const bound = setTimeout(() => app.server.closeAllConnections(), boundMs)
  try {
    await Promise.all([closed, closing])
  } finally {
    clearInterval(sweeping)
    clearTimeout(bound)
  }
}

/** Socket errors and Postgres conditions that mean "not there now", not "wrong". */
const outageCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  // The queue of a socket file is full.
  'EAGAIN',
  'ETIMEDOUT',
  'ECONNABORTED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  // Postgres: shutting down, crashed, starting, too many connections, query cancelled, disk full.
  '57P01',
  '57P02',
  '57P03',
  '57014',
  '53100',
  '53200',
  '53300',
  // The schema, table or column does not exist: a read model of another version, or a dropped one
  // whose tables are being created.
  '3F000',
  '42P01',
  '42703',
])

const outageMessages =
  /connection terminated|^timeout expired$|timeout exceeded when trying to connect|client has encountered a connection error|query read timeout|cannot use a pool after calling end/i

/** Whether a failure means that a dependency is unavailable: the caller gets 503, not 500 (P9). */
export function isOutage(error: object): boolean {
  const code: unknown = Reflect.get(error, 'code')
  if (typeof code === 'string' && (outageCodes.has(code) || code.startsWith('08'))) return true
  const inner: unknown = Reflect.get(error, 'errors')
  if (Array.isArray(inner))
    return inner.some((each) => typeof each === 'object' && each !== null && isOutage(each))
  return error instanceof Error && outageMessages.test(error.message)
}
