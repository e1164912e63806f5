import { forkPrivately } from '../../infra/embedded/fork.ts'
import { eachLine, howItEnds, Tail } from '../../infra/embedded/program-output.ts'
import type { NightlyOutcome } from '../app/audit/nightly.ts'
import { type Config, dataFiles } from '../config.ts'
import type { Log } from '../kernel/log.ts'
import { programFile } from '../platform/program-files.ts'
import { boundedHeap } from '../platform/v8-flags.ts'
import { forward } from './child-log.ts'
import { environmentOf } from './child-stores.ts'
import { HEAP } from './statements.ts'

/** A child that was asked to end and did not is killed: it changes nothing that could be half done. */
const STOP_TIMEOUT_MS = 2_000

interface AuditedStores {
  readonly config: Pick<Config, 'dataDir' | 'namespace'>
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly logger: Log
}

/**
 * Audits in a child process; undefined where the signal ended it. @throws an error that says why the audit did not
 * come to its end
 */
export async function auditInChild(
  { config, eventStoreUrl, databaseUrl, logger }: AuditedStores,
  signal: AbortSignal,
): Promise<NightlyOutcome | undefined> {
  const child = forkPrivately(
    {
      modulePath: programFile('src/cli/audit-process.ts'),
      execArgv: boundedHeap(HEAP),
      env: environmentOf({ eventStoreUrl, databaseUrl, namespace: config.namespace }),
    },
    [dataFiles(config.dataDir).audit],
  )
  const tail = new Tail()
  let said: NightlyOutcome | { readonly failure: string } | undefined
  child.on('message', (message) => (said = message as typeof said))
  child.stdout?.resume()
  eachLine(child.stderr, (line) => {
    tail.add(line)
    forward(logger, 'audit', line)
  })
  let killing: NodeJS.Timeout | undefined
  const stop = (): void => {
    child.kill('SIGTERM')
    killing = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  }
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const how = await howItEnds(child)
  signal.removeEventListener('abort', stop)
  clearTimeout(killing)
  if (said === 'led' || (said !== undefined && 'report' in said)) return said
  if (signal.aborted) return undefined
  throw new Error(said?.failure ?? [how, ...tail.lines()].join('\n'))
}
