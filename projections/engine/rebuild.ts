import type { Pool, PoolClient } from 'pg'
import { eventsThrough } from '../../src/eventlog/log/position.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import { pause } from '../../src/kernel/pause.ts'
import { BuildTarget, type Goal, type RebuildProgress } from './build.ts'
import { compareDigests, type Digested, type RebuildComparison } from './comparison.ts'
import { lockCheckpoint, readCheckpoint, resetCheckpoint } from './checkpoint.ts'
import { isTransient, messageOf } from './failures.ts'
import { tryLead } from './leadership.ts'
import {
  copyRights,
  createIndexes,
  createSchema,
  dropOldSchema,
  nextSchema,
  schemaExists,
  swapSchemas,
} from './schema.ts'
import { inSchema, schemaIdentifier } from './transaction.ts'
import type { Projection } from './types.ts'

export type { RebuildProgress } from './build.ts'
export type { BreakdownDifference, RebuildComparison } from './comparison.ts'

/**
 * How long the drop of the old tables waits for their readers; new readers never wait for the drop.
 */
const DROP_LOCK_TIMEOUT_MS = 1_000
const DROP_PAUSE_MS = 500
const DROP_ATTEMPTS = 40
/** Rounds of catching up with a live projection before the rest is done under its lock. */
const CATCH_UP_ROUNDS = 10

interface RebuildOptions {
  readonly pool: Pool
  readonly log: EventLog
  readonly projection: Projection
  readonly onProgress?: (progress: RebuildProgress) => void
  readonly signal?: AbortSignal
  /** Swap even if the live tables differ from the log. */
  readonly force?: boolean
  /** Only compare: nothing is swapped. */
  readonly check?: boolean
}

interface RebuildResult {
  /**
   * `different`: nothing was swapped; the rebuilt tables stay in `<name>_next` for inspection.
   * `equal`: the tables were only compared, and the rebuilt ones are dropped.
   */
  readonly outcome: 'swapped' | 'different' | 'equal'
  /** Undefined if there were no tables of the same version to compare with. */
  readonly comparison: RebuildComparison | undefined
  readonly events: number
}

/** Another process is rebuilding this projection. */
export class RebuildRunningError extends Error {
  override readonly name = 'RebuildRunningError'
  readonly code = 'rebuild_running'

  constructor(projection: string) {
    super(`${projection} is being rebuilt by another process`)
  }
}

/** There are no live tables of this version: a check has nothing to compare with. */
class NothingToCompareError extends Error {
  override readonly name = 'NothingToCompareError'
  readonly code = 'nothing_to_compare'

  constructor(projection: string) {
    super(`${projection} has no live tables of this version to compare with`)
  }
}

interface Live extends Goal {
  /** The failure's message when the tables could not be read. */
  readonly digested: Digested | string
}

async function digestTables(client: PoolClient, projection: Projection): Promise<Digested> {
  const digest = await projection.digest(client)
  return { digest, breakdown: await projection.breakdown?.(client) }
}

/**
 * A snapshot of the live tables at one position; no writer waits for it. Undefined if there are no
 * tables of this version.
 */
async function digestLive(pool: Pool, projection: Projection): Promise<Live | undefined> {
  const { name, version } = projection
  return inSchema(pool, name, async (client) => {
    await client.query('set transaction isolation level repeatable read, read only')
    await client.query('set local statement_timeout to 0')
    const found = await readCheckpoint(client, name)
    if (found?.version !== version || !(await schemaExists(client, name))) return undefined
    try {
      return { ...found, digested: await digestTables(client, projection) }
    } catch (error) {
      return { ...found, digested: messageOf(error) }
    }
  })
}

async function compare(target: BuildTarget, live: Live): Promise<RebuildComparison> {
  const rebuilt = await inSchema(target.pool, target.schema, async (client) => {
    await client.query('set local statement_timeout to 0')
    return digestTables(client, target.projection)
  })
  return compareDigests(eventsThrough(live.at), live.digested, rebuilt)
}

/** The last events, the new names and the checkpoint in one transaction that holds the checkpoint. */
async function swap(target: BuildTarget): Promise<void> {
  const { pool, projection, schema } = target
  const { name, version } = projection
  await inSchema(pool, schema, async (client) => {
    const live = await lockCheckpoint(client, name)
    // Readers never see less than they saw, also where an older version was live.
    if (live !== undefined && live.version <= version) await target.finish(client, live)
    await swapSchemas(client, name)
    await client.query(
      `insert into engine.checkpoints
         (name, version, commit, prepare, events, recorded_at, last_event, indexed)
       select $1, $2, commit, prepare, events, recorded_at, last_event, true
       from engine.checkpoints where name = $3
       on conflict (name) do update
       set version = excluded.version, commit = excluded.commit, prepare = excluded.prepare,
           events = excluded.events, recorded_at = excluded.recorded_at,
           last_event = excluded.last_event, indexed = true, stopped = null,
           updated_at = clock_timestamp()`,
      [name, version, schema],
    )
    await client.query('delete from engine.checkpoints where name = $1', [schema])
  })
}

/**
 * Drops the old tables once their last readers are done; the next rebuild drops any that remain.
 */
async function dropOld(target: BuildTarget, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; attempt <= DROP_ATTEMPTS && !signal.aborted; attempt += 1) {
    try {
      await inSchema(target.pool, 'public', async (client) => {
        await client.query(`set local lock_timeout to ${DROP_LOCK_TIMEOUT_MS}`)
        await dropOldSchema(client, target.projection.name)
      })
      return
    } catch (error) {
      if (!isTransient(error)) throw error
      await pause(DROP_PAUSE_MS, signal)
    }
  }
}

async function prepare(pool: Pool, projection: Projection): Promise<void> {
  const schema = nextSchema(projection.name)
  await inSchema(pool, 'public', async (client) => {
    await dropOldSchema(client, projection.name)
    await createSchema(client, projection, schema)
    await copyRights(client, projection.name, schema)
    await resetCheckpoint(client, schema, projection.version)
  })
}

/** Drops tables that were built only to be compared. */
async function dropBuilt({ pool, schema }: BuildTarget): Promise<void> {
  await inSchema(pool, 'public', async (client) => {
    await client.query(`drop schema ${schemaIdentifier(schema)} cascade`)
    await client.query('delete from engine.checkpoints where name = $1', [schema])
  })
}

async function rebuildAlone(options: RebuildOptions, signal: AbortSignal): Promise<RebuildResult> {
  const { pool, projection, check = false } = options
  const before = await liveCheckpoint(pool, projection)
  if (check && before === undefined) throw new NothingToCompareError(projection.name)
  await prepare(pool, projection)
  const schema = nextSchema(projection.name)
  const target = new BuildTarget({ ...options, schema, signal })
  const current = async (): Promise<Goal | undefined> => {
    const found = await readCheckpoint(pool, projection.name)
    return found?.version === projection.version ? found : undefined
  }

  await target.readTo(before)
  target.say('indexing')
  await inSchema(pool, target.schema, async (client) => {
    await client.query('set local statement_timeout to 0')
    await createIndexes(client, projection, target.schema)
  })

  let comparison: RebuildComparison | undefined
  if (before !== undefined) {
    // The live tables moved on meanwhile: catch up first, then read exactly to the snapshot's
    // position.
    await target.readTo(await current())
    target.say('comparing')
    const live = await digestLive(pool, projection)
    if (live !== undefined) {
      await target.readTo(live)
      comparison = await compare(target, live)
      if (!comparison.equal && options.force !== true)
        return { outcome: 'different', comparison, events: target.events() }
    }
  }
  if (check) {
    if (comparison === undefined) throw new NothingToCompareError(projection.name)
    await dropBuilt(target)
    return { outcome: 'equal', comparison, events: target.events() }
  }
  for (let round = 0; round < CATCH_UP_ROUNDS; round += 1)
    if ((await target.readTo(before === undefined ? undefined : await current())) === 0) break
  target.say('swapping')
  await swap(target)
  await dropOld(target, signal)
  target.say('done')
  return { outcome: 'swapped', comparison, events: target.events() }
}

/** Position of the live projection of this version; undefined when there is none. */
async function liveCheckpoint(pool: Pool, projection: Projection): Promise<Goal | undefined> {
  const found = await readCheckpoint(pool, projection.name)
  if (found?.version !== projection.version) return undefined
  const client = await pool.connect()
  try {
    return (await schemaExists(client, projection.name)) ? found : undefined
  } finally {
    client.release()
  }
}

/**
 * Builds a projection again from the start of the log in `<name>_next` while the live one stays in
 * use, compares both at one position, and swaps them in one transaction. A difference is reported
 * and prevents the swap, unless forced. A check swaps nothing, and drops the tables it built when
 * both are equal. The process may be killed at any time and run again. Needs `migrateEngine` before
 * and three connections of the pool.
 * @throws RebuildRunningError when another process rebuilds it; NothingToCompareError for a check
 *   without live tables; PoisonEventError when the log holds an event that cannot be applied;
 *   `log_unavailable` or LogOlderError when the log that was read ends before the last event that
 *   the live tables have: nothing is swapped then.
 */
export async function rebuildProjection(options: RebuildOptions): Promise<RebuildResult> {
  const { name } = options.projection
  const leadership = await tryLead(options.pool, `rebuild.${name}`)
  if (!leadership) throw new RebuildRunningError(name)
  try {
    const signal = options.signal
      ? AbortSignal.any([options.signal, leadership.lost])
      : leadership.lost
    return await rebuildAlone(options, signal)
  } finally {
    await leadership.release()
  }
}
