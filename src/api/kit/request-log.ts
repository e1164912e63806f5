import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type Level = (typeof LEVELS)[number]

/**
 * The log of one request. The logger's own child, which redacts what it is bound to, is made when
 * there is a line to write: most requests write none, or one.
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
    // It is for what nobody is to see.
  }

  child(...of: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#made().child(...of)
  }

  #made(): FastifyBaseLogger {
    this.#child ??= this.#parent.child({ ...this.#bindings })
    return this.#child
  }

  #write(level: Exclude<Level, 'silent'>, line: readonly unknown[]): void {
    // A level of the logger's own making is unknown here, and the logger asked.
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
