import { join } from 'node:path'
import type { Logger } from 'pino'
import { prepareDataDir } from '../../infra/embedded/data-dir.ts'
import { superviseChild } from '../../infra/embedded/supervised-child.ts'
import type { Supervised } from '../../infra/embedded/supervisor.ts'
import type { Config } from '../config.ts'
import { allSettledOrThrow } from '../kernel/all-settled.ts'
import type { Log } from '../kernel/log.ts'
import { programFile } from '../platform/program-files.ts'
import { forward } from '../start/child-log.ts'
import { parseRoles, requireConfiguration } from './check.ts'
import { type Closer, closeInOrder, waitForEnd } from './closing.ts'
import { exitCodes } from './exit-codes.ts'
import { openProcessLog } from './log-output.ts'
import { beginEmbeddedStores, type BegunStores, reportExposed, reportRestart } from './stores.ts'

/**
 * Past the drain bound the process ends even if something hangs. Longer than its parts may take together, which a busy
 * machine needs: calls that are cut short get 15 s to be settled, the journal 10 s to be flushed and 11 s to drain its
 * spool, leases 2 s to be freed.
 */
const STOP_MARGIN_MS = 40_000

const SANDBOX_READY_TIMEOUT_MS = 30_000

/**
 * Runs the gateway until a signal, or until a part of it cannot be kept running. Embedded stores and the sandbox are
 * processes, which become ready while this one loads the code of the gateway.
 */
export async function serve(config: Config, version: string, roleList?: string): Promise<void> {
  const { logger, lostLines } = openProcessLog(config.logLevel)
  const wanted = parseRoles(roleList)
  // Configuration errors are reported before anything is started.
  const configured = await requireConfiguration(config, wanted, (what) => logger.warn({}, what))
  const closers: Closer[] = []
  const ended = waitForEnd(logger)
  try {
    const begun = await beginStoresFor(config, logger, ended.fail)
    closers.unshift({ part: 'stores', close: () => begun.close() })
    const sandbox = configured === undefined ? beginSandbox(config, logger, ended.fail) : undefined
    closers.unshift({ part: 'sandbox', close: async () => sandbox?.stop() })
    const [stores, ready, { runGateway }] = await allSettledOrThrow([
      begun.ready,
      sandbox?.ready,
      begun.launched.then(() => import('./gateway.ts')),
    ])
    await runGateway({
      config,
      wanted,
      stores,
      configured,
      sandboxUrl: ready?.url,
      ended,
      logger,
      lostLines,
      version,
      closers,
    })
    process.exitCode = await ended.promise
    await closeAll(closers, config, logger)
  } catch (error) {
    await closeAll(closers, config, logger)
    throw error
  }
}

async function beginStoresFor(
  config: Config,
  logger: Logger,
  fail: (reason: string) => void,
): Promise<BegunStores> {
  if (config.external === undefined) return beginEmbeddedStores(config, logger, fail)
  // The spool belongs to this process alone, also with an external log.
  const dataDir = await prepareDataDir(config.dataDir, reportExposed(config, logger))
  return {
    launched: Promise.resolve(),
    ready: Promise.resolve(config.external),
    close: () => dataDir.release(),
  }
}

/** Begins the simulated providers and keeps them running. */
function beginSandbox(config: Config, log: Log, onGiveUp: (reason: string) => void): Supervised {
  return superviseChild({
    name: 'sandbox',
    modulePath: programFile('infra/sandbox/main.ts'),
    args: (last) => [
      '--data',
      join(config.dataDir, 'sandbox'),
      '--time-scale',
      String(config.sandboxTimeScale),
      '--port',
      last === undefined ? '0' : new URL(last.url).port,
    ],
    onLine: (line) => forward(log, 'sandbox', line),
    readyTimeoutMs: SANDBOX_READY_TIMEOUT_MS,
    onRestart: (restart) => reportRestart(log, 'sandbox', restart),
    onGiveUp: (reason) => onGiveUp(`sandbox keeps failing: ${reason}`),
  })
}

/** Closes in the reverse order of starting. */
function closeAll(
  closers: readonly Closer[],
  { shutdownDelayMs, drainTimeoutMs }: Config,
  logger: Logger,
): Promise<void> {
  return closeInOrder(closers, {
    logger,
    withinMs: shutdownDelayMs + drainTimeoutMs + STOP_MARGIN_MS,
    giveUp: () => process.exit(exitCodes.failed),
  })
}
