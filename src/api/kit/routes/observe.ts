import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { DomainError } from '../../../kernel/errors.ts'
import { beginAtZero } from '../../../platform/counters.ts'
import { callerOf } from '../tokens/authenticate.ts'
import { ANSWERED } from './log-lines.ts'

/** The route's pattern, never the path as sent: bounded for metrics and free of ids in logs. */
function routeOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? 'none'
}

/** Status logged for an answer whose caller had left. */
const CALLER_LEFT = 499

/** Routes that are asked by machines, again and again. */
const watched: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

declare module 'fastify' {
  interface FastifyReply {
    /** Whether it was counted and logged. */
    isObserved: boolean
  }
}

function outcomeOf(status: number): 'served' | 'refused' | 'failed' {
  if (status >= 500) return 'failed'
  return status >= 400 ? 'refused' : 'served'
}

/** Counts and times answers in the registry. */
function createAnswerSeries(registry: Registry) {
  const labelNames = ['method', 'route', 'status'] as const
  const total = new Counter({
    name: 'tollgate_http_requests_total',
    help: 'Answered requests; status 499 where the caller disconnected first.',
    labelNames,
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'tollgate_http_request_seconds',
    help: 'Time from receiving a request to sending the last byte of its answer.',
    labelNames,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
  })
  // The series by route and status are too many to begin at 0, as a counter that an alarm reads must.
  const answers = new Counter({
    name: 'tollgate_http_answers_total',
    help: 'Answers to callers by outcome: served, refused (4xx), failed (5xx); those of /healthz, /readyz and /metrics are not counted.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  beginAtZero(answers, { outcome: ['served', 'refused', 'failed'] })
  /** Series by their labels: looking them up by label each time costs more than counting. */
  const series = new Map<string, ReturnType<typeof seriesOf>>()
  const seriesOf = (labels: Record<(typeof labelNames)[number], string>) => ({
    total: total.labels(labels),
    seconds: seconds.labels(labels),
    answers: watched.has(labels.route)
      ? undefined
      : answers.labels({ outcome: outcomeOf(Number(labels.status)) }),
  })
  return (method: string, route: string, status: number, elapsedMs: number): void => {
    const key = `${method} ${status} ${route}`
    let counted = series.get(key)
    if (counted === undefined) {
      counted = seriesOf({ method, route, status: String(status) })
      series.set(key, counted)
    }
    counted.total.inc()
    counted.answers?.inc()
    counted.seconds.observe(elapsedMs / 1_000)
  }
}

/** Counts and times every answer, also one whose caller left, and writes one log line for each. */
export function useObservation(app: FastifyInstance, registry: Registry): void {
  const count = createAnswerSeries(registry)
  // The gateway chooses every field of this line, so redaction would find nothing, at twice the cost of the rest.
  const lines = app.log.child({}, { redact: [] })
  app.decorateReply('isObserved', false)
  const observe = (request: FastifyRequest, reply: FastifyReply, status: number): void => {
    if (reply.isObserved) return
    reply.isObserved = true
    const { method } = request
    const route = routeOf(request)
    const elapsedMs = reply.elapsedTime
    count(method, route, status, elapsedMs)
    const caller = callerOf(request)
    // Monitors ask every few seconds; a healthy answer needs no log line.
    const quiet = watched.has(route) && reply.statusCode < 400
    lines[quiet ? 'debug' : 'info'](
      {
        reqId: request.id,
        method,
        route,
        status,
        durationMs: Math.round(elapsedMs * 10) / 10,
        platformId: reply.getHeader('x-platform-id'),
        callId: reply.getHeader('x-call-id'),
        tenantId: caller?.tenantId,
        tokenId: caller?.tokenId,
      },
      ANSWERED,
    )
  }
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) observe(request, reply, CALLER_LEFT)
    })
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    observe(request, reply, reply.statusCode)
    done()
  })
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type Level = (typeof LEVELS)[number]

/**
 * The log of one request. The child logger, which redacts its bound fields, is made when there is a
 * line to write: most requests write none, or one.
 */
class RequestLog implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger
  readonly #bindings: Readonly<Record<string, unknown>>
  #child: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, bindings: Readonly<Record<string, unknown>>) {
    this.#parent = parent
    this.#bindings = bindings
  }

  get level(): FastifyBaseLogger['level'] {
    return this.#parent.level
  }

  trace(...line: readonly unknown[]): void {
    this.#write('trace', line)
  }

  debug(...line: readonly unknown[]): void {
    this.#write('debug', line)
  }

  info(...line: readonly unknown[]): void {
    this.#write('info', line)
  }

  warn(...line: readonly unknown[]): void {
    this.#write('warn', line)
  }

  error(...line: readonly unknown[]): void {
    this.#write('error', line)
  }

  fatal(...line: readonly unknown[]): void {
    this.#write('fatal', line)
  }

  silent(..._line: readonly unknown[]): void {
    // Lines of this level are never written.
  }

  child(...of: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#made().child(...of)
  }

  #made(): FastifyBaseLogger {
    this.#child ??= this.#parent.child({ ...this.#bindings })
    return this.#child
  }

  #write(level: Exclude<Level, 'silent'>, line: readonly unknown[]): void {
    // A custom level of the logger is unknown here, so the logger decides.
    const least = LEVELS.findIndex((known) => known === this.#parent.level)
    if (LEVELS.indexOf(level) < least) return
    const child = this.#made()
    Reflect.apply(child[level], child, line)
  }
}

/** Makes the logs of requests when they are written to, not for every request. */
export function useRequestLogs(app: FastifyInstance): void {
  app.setChildLoggerFactory((logger, bindings, options) =>
    options.level === undefined && options.serializers === undefined
      ? new RequestLog(logger, bindings)
      : logger.child(bindings, options),
  )
}

/** A detail of a domain error that is a text; an empty one counts as absent. */
export function textDetail(error: DomainError, name: string): string | undefined {
  const value = error.details[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A detail of a domain error that is a finite number. */
export function numberDetail(error: DomainError, name: string): number | undefined {
  const value = error.details[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** A detail of a domain error that is a list. */
export function listDetail(error: DomainError, name: string): readonly unknown[] | undefined {
  const value = error.details[name]
  return Array.isArray(value) ? value : undefined
}
