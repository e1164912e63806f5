import pino from 'pino'
import { logLine } from '../../infra/embedded/child.ts'
import type { Log } from '../kernel/log.ts'

/**
 * The log of a child process, which its parent forwards. It writes through the stream of the process: pino's own
 * destination blocks for ever on a parent that no longer reads.
 */
export const childLogger: Log = {
  debug: () => undefined,
  info: (fields, message) => logLine('info', message, shown(fields)),
  warn: (fields, message) => logLine('warn', message, shown(fields)),
  error: (fields, message) => logLine('error', message, shown(fields)),
}

function shown(fields: object): Readonly<Record<string, unknown>> {
  const { err, ...rest } = fields as { readonly err?: unknown }
  return err instanceof Error ? { ...rest, err: pino.stdSerializers.err(err) } : { ...fields }
}
