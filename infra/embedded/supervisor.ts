import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { type ForkOptions, forkPrivately } from './fork.ts'
import { SIGN_EVERY_VARIABLE, watchSigns } from './signs-of-life.ts'
import { owned } from '../../src/kernel/owned.ts'

/** First wait before a restart; it doubles with every restart that follows. */
export const RESTART_INITIAL_DELAY_MS = 100
/** Longest wait before a restart. */
export const RESTART_MAX_DELAY_MS = 5_000
/** A child that served this long is healthy: the next restart starts from the first wait again. */
const HEALTHY_AFTER_MS = 30_000
/** Restarts in a row, without a healthy child between them, before giving up (about two minutes). */
const MAX_CONSECUTIVE_RESTARTS = 30
/** Time for a child to end in order before it is killed. */
const STOP_TIMEOUT_MS = 20_000
/** Time to wait for the last output of a child that has exited. */
const LAST_WORDS_MS = 200
/** Lines of a child's log kept to explain its end. */
const TAIL_LINES = 15
/** Longest line of a child that is looked at. */
const MAX_LINE_CHARS = 16_384

/** The one line a child prints when it serves. */
export interface ReadyMessage {
  readonly event: 'ready'
  readonly url: string
  readonly [field: string]: unknown
}

/** Why a child ended without a request to stop. */
class ChildFailedError extends Error {
  readonly code = 'child_failed'

  constructor(name: string, reason: string) {
    super(`${name}: ${reason}`)
    this.name = 'ChildFailedError'
  }
}

export interface SuperviseOptions extends ForkOptions {
  /** For messages: "event store", "postgres". */
  readonly name: string
  /**
   * Arguments. `last` is the child's message when it last became ready: use its port again so that
   * addresses stay valid. `ended` is the end of the previous child.
   */
  readonly args: (last: ReadyMessage | undefined, ended: string | undefined) => readonly string[]
  /** Each line the child writes on stderr (JSON by convention). */
  readonly onLine: (line: string) => void
  readonly readyTimeoutMs: number
  readonly stopTimeoutMs?: number
  /** Restarts in a row before giving up; `MAX_CONSECUTIVE_RESTARTS` unless given. */
  readonly maxRestarts?: number
  /**
   * Describes the resource that a child which ended for this reason waits for: then it is restarted
   * without limit, because a restart of this process would not help.
   */
  readonly waitsFor?: (reason: string) => string | undefined
  /** Interval of the signs of life of a child; for tests. */
  readonly signEveryMs?: number
  /** Called each time the child serves: at first and after every restart. */
  readonly onReady?: (message: ReadyMessage) => void
  readonly onRestart?: (restart: {
    readonly attempt: number
    readonly delayMs: number
    readonly reason: string
  }) => void
  /** Called once, when a child that had served keeps failing; nothing is restarted after that. */
  readonly onGiveUp?: (reason: string) => void
}

export interface SupervisedChild {
  /** The first readiness; rejects with `ChildFailedError` in the child's own words when the first start fails. */
  readonly ready: Promise<ReadyMessage>
  /**
   * Message of the child when it last became ready. @throws ChildFailedError before the first
   * readiness.
   */
  current(): ReadyMessage
  /** The process id while one runs. */
  pid(): number | undefined
  /** Ends the child in order (SIGTERM, bounded wait, SIGKILL) and restarts it no more. */
  stop(): Promise<void>
}

/** The wait before restart number `attempt` (from 1), in milliseconds. */
export function restartDelayMs(attempt: number): number {
  return Math.min(RESTART_MAX_DELAY_MS, RESTART_INITIAL_DELAY_MS * 2 ** Math.min(attempt - 1, 16))
}

type ChildMessage = ReadyMessage | { readonly event: 'failed'; readonly reason: string }

function parseChildMessage(line: string): ChildMessage | undefined {
  let value: unknown
  try {
    value = JSON.parse(line.slice(0, MAX_LINE_CHARS))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || !('event' in value)) return undefined
  if (value.event === 'ready' && 'url' in value && typeof value.url === 'string') {
    return { ...value, event: 'ready', url: value.url }
  }
  if (value.event === 'failed' && 'reason' in value && typeof value.reason === 'string') {
    return { event: 'failed', reason: value.reason }
  }
  return undefined
}

function eachLine(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream === null) return
  owned(createInterface({ input: owned(stream), crlfDelay: Infinity })).on('line', onLine)
}

/** One life of the child: from fork to exit. */
interface Life {
  readonly process: ChildProcess
  /** Resolves with the reason once the child is gone and its last words were read. */
  readonly ended: Promise<string>
}

function live(
  options: SuperviseOptions,
  args: readonly string[],
  onReady: (message: ReadyMessage) => void,
): Life {
  const { signEveryMs: everyMs } = options
  const signs = everyMs === undefined ? {} : { [SIGN_EVERY_VARIABLE]: String(everyMs) }
  const env = { ...options.env, ...signs }
  const child = forkPrivately({ ...options, env }, args)
  const tail: string[] = []
  let explanation: string | undefined
  let killTimer: NodeJS.Timeout | undefined
  const endWatch = watchSigns(child, { everyMs }, (silentMs) => {
    explanation = `hangs: no sign of life for ${silentMs} ms`
    child.kill('SIGKILL')
  })
  const readyTimer = setTimeout(() => {
    explanation = `not ready within ${options.readyTimeoutMs} ms`
    child.kill('SIGTERM')
    killTimer = setTimeout(() => child.kill('SIGKILL'), options.stopTimeoutMs ?? STOP_TIMEOUT_MS)
  }, options.readyTimeoutMs)
  eachLine(child.stdout, (line) => {
    const message = parseChildMessage(line)
    if (message?.event === 'failed') explanation ??= message.reason
    if (message?.event !== 'ready' || explanation !== undefined) return
    clearTimeout(readyTimer)
    onReady(message)
  })
  eachLine(child.stderr, (line) => {
    tail.push(line.slice(0, MAX_LINE_CHARS))
    if (tail.length > TAIL_LINES) tail.shift()
    options.onLine(line)
  })
  const ended = new Promise<string>((resolve) => {
    const finish = (how: string): void => {
      clearTimeout(readyTimer)
      clearTimeout(killTimer)
      endWatch()
      resolve(explanation ?? [how, ...tail].join('\n'))
    }
    child.on('error', (error) => finish(`cannot be started: ${error.message}`))
    child.once('exit', (code, signal) => {
      const how = signal === null ? `exited with status ${String(code)}` : `ended by ${signal}`
      const timer = setTimeout(finish, LAST_WORDS_MS, how)
      child.once('close', () => {
        clearTimeout(timer)
        finish(how)
      })
    })
  })
  return { process: child, ended }
}

/**
 * Runs a module as a child process and keeps it running: restarts with bounded exponential backoff, forwards its
 * log, says when it gives up. The child notices this process's death, however it dies, by the
 * channel between them (see `onStopRequest`).
 */
export function superviseChild(options: SuperviseOptions): SupervisedChild {
  let message: ReadyMessage | undefined
  let life: Life | undefined
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
    const current = live(options, options.args(message, endedBy), (said) => {
      message = said
      healthyTimer = setTimeout(() => (attempt = 0), HEALTHY_AFTER_MS)
      resolveReady(said)
      options.onReady?.(said)
    })
    life = current
    void current.ended.then((reason) => {
      life = undefined
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
    pid: () => life?.process.pid,
    async stop() {
      stopping = true
      clearTimeout(restartTimer)
      const current = life
      if (current === undefined) return
      current.process.kill('SIGTERM')
      const timer = setTimeout(
        () => current.process.kill('SIGKILL'),
        options.stopTimeoutMs ?? STOP_TIMEOUT_MS,
      )
      await current.ended
      clearTimeout(timer)
    },
  }
}
