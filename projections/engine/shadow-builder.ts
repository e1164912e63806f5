import type { Pool } from 'pg'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import type { Log } from '../../src/kernel/log.ts'
import { readCheckpoints } from './checkpoint.ts'
import { isTransient } from './failures.ts'
import { rebuildProjection, RebuildRunningError } from './rebuild.ts'
import type { Projection } from './types.ts'
import { upgradeInPlace } from './upgrade.ts'

interface BesideOptions {
  readonly pool: Pool
  readonly log: EventLog
  readonly projections: readonly Projection[]
  readonly logger: Log
  readonly signal: AbortSignal
}

/**
 * While a program of another version leads and updates the read models it knows, builds the ones
 * that this program has in a newer version, so that readers miss nothing meanwhile. Returns a
 * function that checks for work, at most one check at a time; a permanent failure is left to the
 * leader.
 */
export function createBesideBuilder(options: BesideOptions) {
  const { pool, log, projections, logger, signal } = options
  const failed = new Set<string>()
  let building: Promise<void> | undefined

  const buildOne = async (projection: Projection): Promise<void> => {
    const fields = { projection: projection.name, version: projection.version }
    try {
      if ((await upgradeInPlace({ pool, logger, signal }, projection)) || signal.aborted) return
      logger.info(fields, 'building a new version beside the one that serves')
      await rebuildProjection({ pool, log, projection, signal })
      logger.info(fields, 'the new version is in its place')
    } catch (error) {
      if (signal.aborted || error instanceof RebuildRunningError || isTransient(error)) return
      failed.add(projection.name)
      logger.error({ ...fields, err: error }, 'a new version could not be built')
    }
  }
  const buildAll = async (): Promise<void> => {
    const live = await readCheckpoints(pool)
    for (const projection of projections) {
      const version = live.get(projection.name)?.version
      const older = version !== undefined && version < projection.version
      if (older && !failed.has(projection.name) && !signal.aborted) await buildOne(projection)
    }
  }
  return {
    begin: (): void => {
      building ??= buildAll()
        .catch((error: unknown) => logger.warn({ err: error }, 'versions could not be compared'))
        .finally(() => (building = undefined))
    },
    /** Resolves when no build is running. */
    idle: (): Promise<void> => building ?? Promise.resolve(),
  }
}
