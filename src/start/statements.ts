import type { ChildProcess } from 'node:child_process'
import { forkPrivately } from '../../infra/embedded/fork.ts'
import { createLineFiles, type LineFiles } from '../app/finance/line-files/files.ts'
import type { LinesJob } from '../app/finance/line-files/job.ts'
import type { CloseDeps } from '../app/finance/statements/close.ts'
import { statementSigner } from '../app/finance/statements/key.ts'
import { createJobProcess, type RunJob } from '../app/finance/statements/process.ts'
import { createStatements } from '../app/finance/statements/statements.ts'
import type { Statements } from '../app/finance/statements/types.ts'
import { type Config, dataFiles, readVariable, signingHost } from '../config.ts'
import type { Log } from '../kernel/log.ts'
import { programFile } from '../platform/program-files.ts'
import { createDiskFloor } from '../storage/local/disk.ts'
import { boundedHeap, type HeapBounds } from '../platform/v8-flags.ts'

/** Where Postgres is comes in the environment of a child: every user of the machine can read arguments. */
export const DATABASE_VARIABLE = 'DATABASE_URL'

/** Variables, apart from addresses, that decide how stores are reached. */
const PASSED_ON = ['NODE_EXTRA_CA_CERTS', 'PGSSLMODE'] as const

/** Pages of rows live briefly: a small young generation is enough, and what is left of a page is freed early. */
export const HEAP: HeapBounds = { halfYoungMib: 8, growthPercent: 50 }

/** The variables of the environment that a child of the gateway needs to reach the stores. */
export function passedOn(): Readonly<Record<string, string>> {
  const found = PASSED_ON.map((name) => [name, readVariable(name)] as const)
  return Object.fromEntries(
    found.filter((entry): entry is [(typeof entry)[0], string] => entry[1] !== undefined),
  )
}

/** Starts the process that does the jobs of statements; another build of it can be named. */
export function launchStatements(
  databaseUrl: string,
  modulePath = programFile('src/cli/statements-process.ts'),
): ChildProcess {
  return forkPrivately(
    {
      modulePath,
      messages: 'clones',
      execArgv: boundedHeap(HEAP),
      env: { ...passedOn(), [DATABASE_VARIABLE]: databaseUrl },
    },
    [],
  )
}

/** The use cases of closed months; the process that does its jobs starts with the first one. */
export function openStatements(
  {
    config,
    databaseUrl,
    markerSecret,
    logger,
  }: {
    readonly config: Pick<Config, 'publicBaseUrl' | 'external'>
    readonly databaseUrl: string
    readonly markerSecret: string
    readonly logger: Log
  },
  sources: Pick<CloseDeps, 'log' | 'db' | 'clock' | 'crashPoint'>,
): {
  readonly statements: Statements
  readonly runJob: RunJob
  readonly stop: () => Promise<void>
} {
  const host = signingHost(config)
  const signer = host === undefined ? undefined : statementSigner(host, markerSecret)
  const { run: runJob, stop } = createJobProcess({
    launch: () => launchStatements(databaseUrl),
    logger,
  })
  const buildTree: CloseDeps['buildTree'] = (job) => runJob('tree', job)
  const deps = { ...sources, signer, issuerName: host, buildTree, logger }
  return { statements: createStatements(deps), runJob, stop }
}

/** The most that the spool takes, which is on the same disk. */
const SPOOL_BYTES = 268_435_456

/**
 * Files of lines. They are written by another process than the one that closes months: a large file takes half a
 * minute, for which no statement waits.
 */
export function openLineFiles({
  config,
  databaseUrl,
  logger,
}: {
  readonly config: Pick<Config, 'dataDir' | 'external' | 'uploads'>
  readonly databaseUrl: string
  readonly logger: Log
}): { readonly lineFiles: LineFiles; readonly stop: () => Promise<void> } {
  const { run, stop } = createJobProcess({ launch: () => launchStatements(databaseUrl), logger })
  const { lineFiles: directory } = dataFiles(config.dataDir)
  const write = (job: LinesJob, callerGone: AbortSignal) => run('lines', job, callerGone)
  const floorBytes = config.external === undefined ? config.uploads.diskFloorBytes : SPOOL_BYTES
  const checkDisk = createDiskFloor({ directory: config.dataDir, floorBytes })
  return { lineFiles: createLineFiles({ directory, checkDisk, write }), stop }
}
