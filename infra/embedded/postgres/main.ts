import { parseArgs } from 'node:util'
import { giveSigns } from '../signs-of-life.ts'
import { announceFailure, announceReady, logLine, onStopRequest } from '../child.ts'
import { isAnswering } from './database.ts'
import { startEmbeddedPostgres } from './start.ts'

/** The child process that runs Postgres: `--data DIR`. */

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { data: { type: 'string' } } })
  if (values.data === undefined) {
    announceFailure('usage: --data DIR')
    return 2
  }
  const stopping = new AbortController()
  onStopRequest((why) => {
    logLine('info', 'stopping postgres', { why })
    stopping.abort(new Error(why))
  })
  try {
    const started = await startEmbeddedPostgres({
      root: values.data,
      durable: true,
      log: logLine,
      signal: stopping.signal,
    })
    if (!stopping.signal.aborted) {
      announceReady(started.url)
      giveSigns(() => isAnswering(started.url))
    }
    const stopped = new Promise<undefined>((resolve) => {
      if (stopping.signal.aborted) resolve(undefined)
      stopping.signal.addEventListener('abort', () => resolve(undefined), { once: true })
    })
    const died = await Promise.race([started.ended, stopped])
    if (died === undefined) {
      await started.stop()
      return 0
    }
    announceFailure(died)
    return 1
  } catch (error) {
    if (stopping.signal.aborted) return 0
    announceFailure(error instanceof Error ? error.message : String(error))
    return 1
  }
}

process.exit(await main())
