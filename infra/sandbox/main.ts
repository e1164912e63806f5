import pino from 'pino'
import { OptionError, parseOptions, type SandboxOptions } from './options.ts'
import { startSandbox } from './server.ts'

/** Unread log lines beyond this are dropped. */
const MAX_LOG_BACKLOG_BYTES = 4 * 1024 * 1024

/**
 * The sandbox as a child process. One JSON line
 * `{"event":"ready","url":"http://127.0.0.1:N","port":N}` on stdout once it listens, logs as JSON
 * lines on stderr. When it cannot start, one line `{"event":"failed","reason":"…"}` on stdout instead.
 * It stops on SIGTERM, on SIGINT and when its parent is gone.
 * Exit codes: 0 stopped in order, 1 could not start, 2 bad command line.
 */
async function run(): Promise<void> {
  const stopped = new Promise<string>((resolve) => {
    process.once('SIGTERM', () => resolve('SIGTERM'))
    process.once('SIGINT', () => resolve('SIGINT'))
    // An IPC channel closes when the parent dies, however it dies.
    if (process.channel !== undefined) process.once('disconnect', () => resolve('disconnect'))
  })
  const options = readOptions()
  // A parent that stopped reading, or is gone, must neither block the sandbox nor end it.
  const output = pino.destination({ fd: 2, sync: false, maxLength: MAX_LOG_BACKLOG_BYTES })
  output.on('error', () => undefined)
  process.stdout.on('error', () => undefined)
  const log = pino({ level: options.logLevel, name: 'sandbox' }, output)
  const sandbox = await startSandbox(options, log)
  const { url, port } = sandbox
  process.stdout.write(`${JSON.stringify({ event: 'ready', url, port })}\n`)
  const reason = await stopped
  log.info({ reason }, 'stopping')
  await sandbox.close()
  output.flushSync()
}

/** Says why it ends, once for the supervisor and once in the log. */
function complain(error: unknown, exitCode: number): never {
  const reason = reasonOf(error)
  process.stdout.write(`${JSON.stringify({ event: 'failed', reason })}\n`)
  process.stderr.write(`${JSON.stringify({ level: 60, name: 'sandbox', msg: reason })}\n`)
  process.exit(exitCode)
}

/** In words for the operator. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, address, port } = error as NodeJS.ErrnoException & {
    readonly address?: string
    readonly port?: number
  }
  return code === 'EADDRINUSE'
    ? `port ${port} of ${address} is in use by another program`
    : error.message
}

function readOptions(): SandboxOptions {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    return complain(error, error instanceof OptionError ? 2 : 1)
  }
}

run().then(
  () => process.exit(0),
  (error: unknown) => complain(error, 1),
)
