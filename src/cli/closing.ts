import type { Log } from '../kernel/log.ts'

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
