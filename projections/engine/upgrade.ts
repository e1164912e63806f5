import type { Pool } from 'pg'
import type { Log } from '../../src/kernel/log.ts'
import { pause } from '../../src/kernel/pause.ts'
import { lockCheckpoint } from './checkpoint.ts'
import { isTransient } from './failures.ts'
import { schemaExists } from './schema.ts'
import { inSchema } from './transaction.ts'
import type { Projection } from './types.ts'

/** How long a try waits for readers of the tables, behind which new readers wait, and the pause after one. */
const LOCK_TIMEOUT_MS = 500
const PAUSE_MS = 2_000
/** SQLSTATE of a lock that was not free in time. */
const LOCK_NOT_AVAILABLE = '55P03'

interface UpgradeOptions {
  readonly pool: Pool
  readonly logger: Log
  readonly signal: AbortSignal
}

/** Does it in one transaction that holds the checkpoint, so that a program of the older version writes nothing meanwhile. */
async function upgrade(pool: Pool, projection: Projection): Promise<boolean> {
  const { name, version, upgrades = {} } = projection
  return inSchema(pool, name, async (client) => {
    await client.query(`set local lock_timeout to ${LOCK_TIMEOUT_MS}`)
    const found = await lockCheckpoint(client, name)
    // Another process was faster.
    if (found?.version === version) return true
    const sql = found === undefined ? undefined : upgrades[found.version]
    if (sql === undefined || !(await schemaExists(client, name))) return false
    await client.query(sql)
    await client.query('update engine.checkpoints set version = $2 where name = $1', [
      name,
      version,
    ])
    return true
  })
}

/**
 * Makes the live tables of an older version those of this one, where the read model says how; as long as a reader does not
 * let go of them, again and again. True once they are of this version; false where they cannot be changed, or the signal
 * aborts.
 * @throws a temporary failure
 */
export async function upgradeInPlace(
  { pool, logger, signal }: UpgradeOptions,
  projection: Projection,
): Promise<boolean> {
  const fields = { projection: projection.name, version: projection.version }
  while (projection.upgrades !== undefined && !signal.aborted) {
    try {
      const isDone = await upgrade(pool, projection)
      if (isDone) logger.info(fields, 'changed a projection of an older version in its place')
      return isDone
    } catch (error) {
      const isBusy = error instanceof Error && Reflect.get(error, 'code') === LOCK_NOT_AVAILABLE
      if (!isBusy && isTransient(error)) throw error
      logger.warn({ ...fields, err: error }, 'an older version could not be changed in its place')
      if (!isBusy) return false
      await pause(PAUSE_MS, signal)
    }
  }
  return false
}
