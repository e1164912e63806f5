import { watchSigns } from './signs-of-life.ts'

/** First wait before a restart; it doubles with every restart that follows. */
export const RESTART_INITIAL_DELAY_MS = 100
/** Longest wait before a restart. */
export const RESTART_MAX_DELAY_MS = 5_000
/** Service for this long is healthy: the next restart starts from the first wait again. */
const HEALTHY_AFTER_MS = 30_000
/** Restarts in a row, without a healthy life between them, before giving up (about two minutes). */
const MAX_CONSECUTIVE_RESTARTS = 30
/** Time to end in order before it is killed. */
const STOP_TIMEOUT_MS = 20_000

/** How to reach what serves. */
export interface ReadyMessage {
  readonly url: string
  readonly [field: string]: unknown
}

/** Why what is supervised ended without a request to stop. */
class ChildFailedError extends Error {
  readonly code = 'child_failed'

  constructor(name: string, reason: string) {
    super(`${name}: ${reason}`)
    this.name = 'ChildFailedError'
  }
}

/** How a restart is decided on and reported, whatever is restarted. */
export interface SuperviseOptions {
  /** For messages: "event store", "postgres". */
  readonly name: string
  readonly readyTimeoutMs: number
  readonly stopTimeoutMs?: number
  /** Restarts in a row before giving up; `MAX_CONSECUTIVE_RESTARTS` unless given. */
  readonly maxRestarts?: number
  /**
   * Describes the resource that a life which ended for this reason waits for: then the next is begun
   * without limit, because a restart of this process would not help.
   */
  readonly waitsFor?: (reason: string) => string | undefined
  /** Interval of the signs of life; for tests. */
  readonly signEveryMs?: number
  /** Called each time it serves: at first and after every restart. */
  readonly onReady?: (message: ReadyMessage) => void
  readonly onRestart?: (restart: {
    readonly attempt: number
    readonly delayMs: number
    readonly reason: string
  }) => void
  /** Called once, when what had served keeps failing; nothing is restarted after that. */
  readonly onGiveUp?: (reason: string) => void
}

/** One life of what is supervised, from its start to its end. */
export interface Life {
  /** Resolves with the reason once all of it is gone; never rejects. */
  readonly ended: Promise<string>
  /** Asks it to end in order. */
  stop(): void
  /** Ends it at once. */
  kill(): void
}

/** How a life reports to its supervisor. */
export interface Reports {
  /** Called once the child serves. */
  readonly ready: (message: ReadyMessage) => void
  /** Called while the child is alive. After the first call, silence means that it hangs. */
  readonly sign: () => void
}

/**
 * Begins a life. `last` is the message when it last became ready: use its port again so that addresses stay valid.
 * `endedBy` is the end of the life before.
 */
export type Begin<L extends Life> = (
  reports: Reports,
  last: ReadyMessage | undefined,
  endedBy: string | undefined,
) => L

export interface Supervised<L extends Life = Life> {
  /** The first readiness; rejects with `ChildFailedError` in its own words when the first start fails. */
  readonly ready: Promise<ReadyMessage>
  /** The message when it last became ready. @throws ChildFailedError before the first readiness. */
  current(): ReadyMessage
  /** The life while there is one. */
  life(): L | undefined
  /** Ends it in order (bounded wait, then kills it) and restarts it no more. */
  stop(): Promise<void>
}

/** The wait before restart number `attempt` (from 1), in milliseconds. */
export function restartDelayMs(attempt: number): number {
  return Math.min(RESTART_MAX_DELAY_MS, RESTART_INITIAL_DELAY_MS * 2 ** Math.min(attempt - 1, 16))
}

/** Asks a life to end, and kills it after the bound. @returns how to forget about killing it */
function endInTime(life: Life, { stopTimeoutMs = STOP_TIMEOUT_MS }: SuperviseOptions): () => void {
  life.stop()
  const timer = setTimeout(() => life.kill(), stopTimeoutMs)
  return () => clearTimeout(timer)
}

/** Begins a life, and ends it where it is not ready in time or hangs. */
function watched<L extends Life>(
  options: SuperviseOptions,
  begin: (reports: Reports) => L,
  onReady: (message: ReadyMessage) => void,
): { readonly life: L; readonly ended: Promise<string> } {
  const { readyTimeoutMs, signEveryMs } = options
  let explanation: string | undefined
  let forget: () => void = () => undefined
  const signs = watchSigns((silentMs) => {
    explanation = `hangs: no sign of life for ${silentMs} ms`
    life.kill()
  }, signEveryMs)
  const readyTimer = setTimeout(() => {
    explanation = `not ready within ${readyTimeoutMs} ms`
    forget = endInTime(life, options)
  }, readyTimeoutMs)
  const life = begin({
    ready: (message) => {
      if (explanation !== undefined) return
      clearTimeout(readyTimer)
      onReady(message)
    },
    sign: signs.sign,
  })
  const ended = life.ended.then((reason) => {
    clearTimeout(readyTimer)
    forget()
    signs.end()
    return explanation ?? reason
  })
  return { life, ended }
}

/**
 * Keeps something running: restarts it with bounded exponential backoff, kills it where it hangs, and
 * says when it gives up.
 */
export function supervise<L extends Life>(
  options: SuperviseOptions,
  begin: Begin<L>,
): Supervised<L> {
  let message: ReadyMessage | undefined
  let current: ReturnType<typeof watched<L>> | undefined
  let endedBy: string | undefined
  let stopping = false
  let attempt = 0
  let healthyTimer: NodeJS.Timeout | undefined
  let restartTimer: NodeJS.Timeout | undefined
  let resolveReady: (message: ReadyMessage) => void
  let rejectReady: (error: Error) => void
  const ready = new Promise<ReadyMessage>((resolve, reject) => {
    resolveReady = resolve
    rejectReady = reject
  })
  // A caller that awaits it still sees the failure; this only avoids an unhandled rejection for one
  // that stops early.
  ready.catch(() => undefined)

  const start = (): void => {
    current = watched(
      options,
      (reports) => begin(reports, message, endedBy),
      (said) => {
        message = said
        healthyTimer = setTimeout(() => (attempt = 0), HEALTHY_AFTER_MS)
        resolveReady(said)
        options.onReady?.(said)
      },
    )
    void current.ended.then((reason) => {
      current = undefined
      endedBy = reason
      clearTimeout(healthyTimer)
      return ended(reason)
    })
  }

  const ended = (reason: string): void => {
    if (stopping || message === undefined) {
      rejectReady(
        new ChildFailedError(options.name, stopping ? 'stopped before it was ready' : reason),
      )
      return
    }
    const most = options.maxRestarts ?? MAX_CONSECUTIVE_RESTARTS
    const missing = options.waitsFor?.(reason)
    attempt += attempt === most && missing !== undefined ? 0 : 1
    if (attempt > most) {
      options.onGiveUp?.(reason)
      return
    }
    const delayMs = restartDelayMs(attempt)
    // Before the callback, which may decide to stop.
    restartTimer = setTimeout(start, delayMs)
    options.onRestart?.({ attempt, delayMs, reason: missing ?? reason })
  }

  start()
  return {
    ready,
    current() {
      if (message === undefined) throw new ChildFailedError(options.name, 'not ready yet')
      return message
    },
    life: () => current?.life,
    async stop() {
      stopping = true
      clearTimeout(restartTimer)
      if (current === undefined) return
      const forget = endInTime(current.life, options)
      await current.ended
      forget()
    },
  }
}
