import { spaceLackOf } from '../disk-space.ts'
import { askForSigns } from '../signs-of-life.ts'
import type { Life, Reports, Supervised, SuperviseOptions } from '../supervisor.ts'
import { supervise } from '../supervisor.ts'
import { START_TIMEOUT_MS } from './server.ts'
import type { PostgresLog } from './start.ts'
import { startEmbeddedPostgres } from './start.ts'

/**
 * Time in addition to the server's bound, for creating the cluster and ending processes of a killed
 * predecessor.
 */
const MARGIN_MS = 30_000

/** Postgres needs space for a segment of its log and for the writes of a recovery. */
export const POSTGRES_NEEDS_BYTES = 32 * 1024 * 1024

/** Options of the caller; the rest follows from `root`. */
export type PostgresOptions = Partial<Omit<SuperviseOptions, 'name'>> & {
  /** Folder for everything of the server, below the data directory. */
  readonly root: string
  readonly log: PostgresLog
  /** Called, again and again, once a program of Postgres works. */
  readonly launched?: () => void
}

/** One life of the server, from the look for its predecessor to its end. */
function live({ root, log, launched, signEveryMs }: PostgresOptions, reports: Reports): Life {
  const stopping = new AbortController()
  const { signal } = stopping
  let kill: () => void = () => undefined
  const run = async (): Promise<string> => {
    const server = await startEmbeddedPostgres({ root, durable: true, log, launched, signal })
    const stop = (): void => void server.stop()
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    kill = () => server.kill()
    const { url } = server
    reports.ready({ url })
    reports.sign()
    const endSigns = askForSigns(server.isAnswering, reports.sign, signEveryMs)
    const how = await server.ended
    endSigns()
    return how
  }
  return {
    ended: run().catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    ),
    stop: () => stopping.abort(new Error('stopped')),
    // A server that is still starting is ended by the bounds of its start.
    kill: () => {
      stopping.abort(new Error('killed'))
      kill()
    },
  }
}

/**
 * Runs the embedded Postgres, as a child of this process without another between them. `ready` brings the address of its
 * database, which stays valid over restarts; it holds the password: never log it.
 */
export function supervisePostgres(options: PostgresOptions): Supervised {
  const { root } = options
  return supervise(
    {
      readyTimeoutMs: START_TIMEOUT_MS + MARGIN_MS,
      ...options,
      name: 'postgres',
      waitsFor: (reason) => spaceLackOf(root, POSTGRES_NEEDS_BYTES, reason),
    },
    (reports) => live(options, reports),
  )
}
