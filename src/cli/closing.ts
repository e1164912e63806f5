import type { Logger } from 'pino'
import type { Log } from '../kernel/log.ts'
import { exitCodes } from './exit-codes.ts'
import { note } from './output.ts'

/** The end of a process: why it ends, and how its parts are closed. */

/** A part of the process that is closed at its end. */
export interface Closer {
  /** The name of the part, for the operator who reads that it did not close in time. */
  readonly part: string
  readonly close: () => Promise<unknown>
}

interface ClosingOptions {
  readonly logger: Log
  readonly withinMs: number
  /** Called when time is up; ends the process. */
  readonly giveUp: () => void
}

/** Closes one part after the other; one that hangs does not keep the process, and the log names it. */
export async function closeInOrder(
  closers: readonly Closer[],
  { logger, withinMs, giveUp }: ClosingOptions,
): Promise<void> {
  let waitsFor = ''
  const deadline = setTimeout(() => {
    logger.error({ waitsFor, withinMs }, 'stopping took too long')
    giveUp()
  }, withinMs)
  for (const { part, close } of closers) {
    waitsFor = part
    await close().catch((error: unknown) => logger.warn({ part, err: error }, 'closing failed'))
  }
  clearTimeout(deadline)
  logger.info({}, 'stopped')
}

/** How the process is asked to end. */
export interface Ending {
  /** Resolves with the exit code. */
  readonly promise: Promise<number>
  /** Aborts when it does. */
  readonly signal: AbortSignal
  readonly fail: (reason: string) => void
  readonly startAgain: (reason: string) => void
}

/**
 * Resolves with the exit code to end with: 0 on a signal, 75 when only a new process can go on, 1 when a part cannot
 * be kept running.
 */
export function waitForEnd(logger: Logger): Ending {
  let end: (exitCode: number) => void = () => undefined
  const promise = new Promise<number>((resolve) => {
    end = resolve
  })
  const ending = new AbortController()
  void promise.then(() => ending.abort())
  let draining = false
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      // A second signal ends at once. No acknowledged event is lost by it.
      if (draining && signal !== 'SIGHUP') process.exit(exitCodes.failed)
      draining = true
      logger.info({ signal }, 'draining')
      end(exitCodes.inOrder)
    })
  const endWith = (exitCode: number, reason: string, message: string): void => {
    logger.fatal({ reason }, message)
    note(`tollgate: ${reason}`)
    end(exitCode)
  }
  const fail = (reason: string): void => endWith(exitCodes.failed, reason, 'cannot go on')
  const startAgain = (reason: string): void =>
    endWith(exitCodes.startAgain, `${reason}; start it again`, 'ends, to be started again')
  return { promise, signal: ending.signal, fail, startAgain }
}
