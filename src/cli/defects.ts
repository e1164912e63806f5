import type { Logger } from 'pino'
import { exitCodes } from './exit-codes.ts'

/**
 * What nobody caught ends the process, as nobody knows what state it is in; its last words are written out
 * before. What it was doing is taken up by others, or by itself once started again, as after any end.
 * Promises that nobody waits for come here as well.
 */
export function endOnDefects(logger: Logger, flush: () => void): void {
  process.on('uncaughtException', (err, origin) => {
    logger.fatal({ err, origin }, 'what nobody caught ends the process')
    flush()
    process.exit(exitCodes.defect)
  })
}
