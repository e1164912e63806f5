import pino, { type Logger } from 'pino'
import { ANSWERED, logRedaction } from '../api/kit/routes/log-lines.ts'
import type { Config } from '../config.ts'
import { exitCodes } from './exit-codes.ts'
import { owned } from '../platform/owned.ts'

const STDOUT = 1
/** Lines of answered requests are written together: so many characters at once, or after so long. */
const MAX_HELD = 4 * 1024
const FLUSH_INTERVAL_MS = 1_000

/** Bytes that may wait to be written: of request lines, and of all, so that a flood of requests loses no other lines. */
const MAX_WAITING_REQUEST_BYTES = 2 * 1024 * 1024
const MAX_WAITING_BYTES = 2 * MAX_WAITING_REQUEST_BYTES

/** The option of pino by which a destination gets the message of each line in `lastMsg`. */
const METADATA = Symbol.for('pino.metadata')

/** The log of a process, and how to write what it holds before the process exits. */
interface ProcessLog {
  readonly logger: Logger
  /** Blocks until the lines are written; lines that another thread is writing already may come after these. */
  readonly flush: () => void
  /** How many lines were lost since the start. */
  readonly lostLines: () => number
}

/**
 * Lines of JSON, secrets redacted. Lines of answered requests are held for up to a second, because to write each
 * alone costs more than to make it. Every other line is written at once, after the lines that are held. A process
 * that is killed loses its last second of request lines; a process that exits loses none. Where lines come faster than
 * they can be written, the newest are lost, and a line says how many once there is room again.
 */
export function createProcessLog(level: Config['logLevel'], fd: number): ProcessLog {
  let held = ''
  let timer: NodeJS.Timeout | undefined
  let waitingBytes = 0
  let lostLines = 0
  let allLostLines = 0
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (held === '') return
    const lines = held
    held = ''
    waitingBytes += Buffer.byteLength(lines)
    output.write(lines)
  }
  // Before the destination is made, which closes itself on these events.
  for (const event of ['beforeExit', 'exit']) process.on(event, flush)
  // A full disk or a closed pipe loses lines and must not end the process.
  const output = owned(pino.destination(fd))
  output.on('write', (bytes: number) => {
    waitingBytes = Math.max(0, waitingBytes - bytes)
    if (lostLines === 0 || waitingBytes > MAX_WAITING_REQUEST_BYTES / 2) return
    const lines = lostLines
    lostLines = 0
    logger.warn(
      { lines },
      'lines of the log were lost, because they could not be written fast enough',
    )
  })
  const destination = {
    [METADATA]: true,
    lastMsg: undefined,
    write(line: string) {
      const isRequest = this.lastMsg === ANSWERED
      if (waitingBytes >= (isRequest ? MAX_WAITING_REQUEST_BYTES : MAX_WAITING_BYTES)) {
        lostLines += 1
        allLostLines += 1
        // After a failed write the destination tries again only when it is given something.
        output.write('')
        return
      }
      held += line
      if (!isRequest || held.length >= MAX_HELD) flush()
      else timer ??= setTimeout(flush, FLUSH_INTERVAL_MS).unref()
    },
  }
  const logger = pino({ level, redact: logRedaction, base: null }, destination)
  return {
    logger,
    flush: () => {
      flush()
      output.flushSync()
      waitingBytes = 0
    },
    lostLines: () => allLostLines,
  }
}

/**
 * The log of this process, on stdout. An uncaught error ends the process, because its state is unknown; its last log
 * lines are written first. Other replicas take up its work, or the process itself after a restart, as after any end.
 * Unhandled rejections end it as well.
 */
export function openProcessLog(
  level: Config['logLevel'],
): Pick<ProcessLog, 'logger' | 'lostLines'> {
  const { logger, flush, lostLines } = createProcessLog(level, STDOUT)
  process.on('uncaughtException', (err, origin) => {
    logger.fatal({ err, origin }, 'an uncaught error ends the process')
    flush()
    process.exit(exitCodes.defect)
  })
  return { logger, lostLines }
}
