import { programFile } from '../../../src/kernel/program-files.ts'
import { spaceLackOf } from '../disk-space.ts'
import { superviseChild } from '../supervisor.ts'
import type { SupervisedChild, SuperviseOptions } from '../supervisor.ts'
import { START_TIMEOUT_MS } from './server.ts'

/**
 * Time in addition to the server's bound, for creating the cluster and ending processes of a killed
 * predecessor.
 */
const MARGIN_MS = 30_000

/** Postgres needs space for a segment of its log and for the writes of a recovery. */
export const POSTGRES_NEEDS_BYTES = 32 * 1024 * 1024

/** Options of the caller; the rest follows from `root`. */
export type PostgresOptions = Partial<Omit<SuperviseOptions, 'name' | 'modulePath' | 'args'>> &
  Pick<SuperviseOptions, 'onLine'> & {
    /** Folder for everything of the server, below the data directory. */
    readonly root: string
  }

/**
 * Runs the embedded Postgres. `ready` brings the address of its database, which stays valid over restarts; it holds the
 * password: never log it.
 */
export function supervisePostgres(options: PostgresOptions): SupervisedChild {
  const { root, ...rest } = options
  return superviseChild({
    readyTimeoutMs: START_TIMEOUT_MS + MARGIN_MS,
    ...rest,
    name: 'postgres',
    waitsFor: (reason) => spaceLackOf(root, POSTGRES_NEEDS_BYTES, reason),
    modulePath: programFile('infra/embedded/postgres/main.ts'),
    args: () => ['--data', root],
  })
}
