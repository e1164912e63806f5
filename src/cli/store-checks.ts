import { buffer } from 'node:stream/consumers'
import { Pool } from 'pg'
import { allProjections } from '../../projections/registry.ts'
import { checkIfAdopted } from '../app/access/installation.ts'
import { checkSecret } from '../app/access/secret-agreement.ts'
import { type Config, ConfigError } from '../config.ts'
import { createEventLog } from '../eventlog/log/client.ts'
import { monotonicClock, systemClock, wallClock } from '../kernel/clock.ts'
import { newSecret } from '../kernel/ids.ts'
import { isDomainError } from '../kernel/errors.ts'
import { pause } from '../kernel/pause.ts'
import { lackedByDatabase, NotMigratedError } from '../start/migration.ts'
import { databaseConnections } from '../start/open-files.ts'
import type { Role } from '../start/roles.ts'
import { resultKey } from '../storage/object-key.ts'
import { createS3Store } from '../storage/s3/store.ts'
import { surviveLostConnections } from '../storage/postgres/pool.ts'
import { type Check, runChecks } from './check.ts'
import { messageOf } from './explain.ts'
import { CommandError } from './output.ts'
import { checkPostgres } from './stores.ts'
import { unavailableStoreOf } from './store-outage.ts'
import { requireStoreUrls } from './store-urls.ts'

/** Asks the stores of a configuration for what a start needs of them; changes nothing in them. */

const OLDEST_POSTGRES = 150_000
/** A clock that differs by more shortens or lengthens leases and tokens, and dates calls wrongly. */
const MAX_CLOCK_OFF_MS = 2_000
/** A store that is away is asked again for so long. */
const PATIENCE_MS = 5_000
const ASK_AGAIN_MS = 500

type Urls = NonNullable<Config['external']>

/** The checks of the stores that a process of these roles works on. */
export function storeChecks(
  wanted: ReadonlySet<Role>,
  replicas: number,
): (config: Config) => readonly Check[] {
  return (config) => {
    const { external, objectStorage } = config
    return [
      ...(external === undefined || isUnreadable(external)
        ? []
        : [
            () => untilAnswered(() => checkDatabase(config, external, { wanted, replicas })),
            () => untilAnswered(() => checkLog(config, external)),
            () => untilAnswered(() => checkBoth(config, external)),
          ]),
      ...(objectStorage.kind === 's3'
        ? [() => untilAnswered(() => checkBucket(config, objectStorage.s3))]
        : []),
    ]
  }
}

/** Another check reports such an address. */
function isUnreadable(external: Urls): boolean {
  try {
    requireStoreUrls(external)
    return false
  } catch {
    return true
  }
}

/** Repeats a check while the store is away, which may come back. */
async function untilAnswered(check: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const untilMs = monotonicClock.nowMs() + PATIENCE_MS
  for (;;)
    try {
      return await check()
    } catch (error) {
      const isAway = unavailableStoreOf(error) !== undefined || isStorageAway(error)
      if (!isAway || monotonicClock.nowMs() >= untilMs) throw error
      await pause(ASK_AGAIN_MS)
    }
}

function isStorageAway(error: unknown): boolean {
  const cause = error instanceof CommandError ? error.cause : undefined
  return isDomainError(cause) && cause.details['trouble'] === 'away'
}

/** Names a clock that is off, by the times before and after it was read. */
function clockFaults(name: string, readMs: number, beforeMs: number): readonly string[] {
  const offMs = Math.max(readMs - wallClock.nowMs(), 0) + Math.min(readMs - beforeMs, 0)
  if (Math.abs(offMs) <= MAX_CLOCK_OFF_MS) return []
  const side = offMs > 0 ? 'ahead of' : 'behind'
  const seconds = (Math.abs(offMs) / 1_000).toFixed(1)
  return [
    `the clock of ${name} is ${seconds} s ${side} that of this machine: keep both in step with NTP`,
  ]
}

async function withPool<T>(url: string, run: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = new Pool({ connectionString: url, max: 1, application_name: 'tollgate' })
  surviveLostConnections(pool, () => undefined)
  try {
    return await run(pool)
  } finally {
    await pool.end()
  }
}

/** Processes that work on the stores. */
interface Processes {
  readonly wanted: ReadonlySet<Role>
  readonly replicas: number
}

async function checkDatabase(
  config: Config,
  { databaseUrl }: Urls,
  { wanted, replicas }: Processes,
): Promise<readonly string[]> {
  const { markerSecret } = config
  const connections = replicas * databaseConnections(config, wanted.has('projector'))
  await checkPostgres(databaseUrl)
  return withPool(databaseUrl, (pool) =>
    runChecks([
      () => checkServer(pool, connections),
      () => checkRights(pool, wanted),
      async () => {
        if (markerSecret === undefined || !(await checkSecret(pool, markerSecret)).isShort)
          return []
        return ['MARKER_SECRET is short: replace it by one of 32 characters or more']
      },
    ]),
  )
}

/** Checks the version of Postgres, its clock, its places, and that it takes writes. @throws ConfigError */
async function checkServer(pool: Pool, connections: number): Promise<void> {
  const beforeMs = wallClock.nowMs()
  const { rows } = await pool.query<{
    number: number
    version: string
    nowMs: number
    isStandby: boolean
    places: number
  }>(
    `select current_setting('server_version_num')::int as number,
       current_setting('server_version') as version,
       extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs",
       pg_is_in_recovery() as "isStandby",
       current_setting('max_connections')::int
         - current_setting('superuser_reserved_connections')::int as places`,
  )
  const faults = rows.flatMap(({ number, version, nowMs, isStandby, places }) => [
    ...(number < OLDEST_POSTGRES
      ? [`the Postgres of DATABASE_URL has version ${version}: version 15 or newer is needed`]
      : []),
    ...(isStandby ? ['the Postgres of DATABASE_URL is a standby, which takes no writes'] : []),
    ...(connections > places
      ? [
          `the replicas open up to ${connections} connections, and the Postgres of DATABASE_URL has ${places}: raise its max_connections, or lower DATABASE_POOL_SIZE or QUERY_POOL_SIZE`,
        ]
      : []),
    ...clockFaults('the Postgres of DATABASE_URL', nowMs, beforeMs),
  ])
  if (faults.length > 0) throw new ConfigError(faults)
}

/** Checks the rights of the account, and warns of tables that are not there yet. @throws CommandError */
async function checkRights(pool: Pool, wanted: ReadonlySet<Role>): Promise<readonly string[]> {
  const migrates = wanted.has('projector')
  const missing = await missingRights(pool, migrates)
  if (missing.length > 0)
    throw Object.assign(
      new CommandError(
        `the account of DATABASE_URL lacks rights for the role ${[...wanted].join(', ')}: ` +
          `${missing.join(', ')}; infra/postgres/roles.sql gives them`,
      ),
      { code: INSUFFICIENT_PRIVILEGE },
    )
  const lacked = migrates ? [] : await lackedByDatabase(pool)
  return lacked.length === 0 ? [] : [new NotMigratedError(lacked).message]
}

/** SQLSTATE, which decides the exit code. */
const INSUFFICIENT_PRIVILEGE = '42501'

/** Rights that the account lacks on the tables that are there, in words. */
async function missingRights(pool: Pool, migrates: boolean): Promise<readonly string[]> {
  const schemas = ['engine', 'ops', ...allProjections.map(({ name }) => name)]
  const { rows } = await pool.query<{ missing: string }>(
    migrates
      ? `select 'to create schemas' as missing
         where not has_database_privilege(current_database(), 'create')
         union all
         select 'to own the schema ' || nspname from pg_namespace
         where nspname = any($1::text[]) and not pg_has_role(nspowner, 'usage')`
      : `select 'to use the schema ' || nspname as missing from pg_namespace
         where nspname = any($1::text[]) and not has_schema_privilege(oid, 'usage')
         union all
         select format('to %s %s.%s', needed, nspname, relname)
         from pg_class c join pg_namespace n on n.oid = c.relnamespace,
         unnest(array['select', 'insert', 'update', 'delete']) as needed
         where relkind = 'r' and nspname = any($1::text[])
           and (needed = 'select' or nspname = 'ops' and relname <> 'migrations'
             or needed = 'update' and nspname = 'tasks' and relname = 'polls')
           and not has_table_privilege(c.oid, needed)`,
    [schemas],
  )
  return rows.map(({ missing }) => missing)
}

async function checkLog(
  { namespace }: Config,
  { eventStoreUrl: url }: Urls,
): Promise<readonly string[]> {
  const log = createEventLog({ url, namespace })
  try {
    const beforeMs = wallClock.nowMs()
    const recordedAt = await log.checkAccess()
    if (recordedAt === undefined) return []
    const faults = clockFaults('the event store', recordedAt.getTime(), beforeMs)
    if (faults.length > 0) throw new ConfigError(faults)
    return []
  } catch (cause) {
    if (!isDomainError(cause)) throw cause
    throw new CommandError(
      `the event store of EVENTSTORE_URL cannot be used: ${messageOf(cause)}`,
      {
        cause,
      },
    )
  } finally {
    await log.close()
  }
}

/** Whether the log and the database belong together; a store that is away has a check already. */
async function checkBoth(
  { namespace }: Config,
  { eventStoreUrl: url, databaseUrl }: Urls,
): Promise<readonly string[]> {
  const log = createEventLog({ url, namespace })
  try {
    await withPool(databaseUrl, async (pool) => {
      if ((await lackedByDatabase(pool)).length > 0) return
      await checkIfAdopted({ pool, log, projections: allProjections, clock: systemClock })
    })
  } catch (error) {
    if (error instanceof Error && BELONGING.has(error.name)) throw error
  } finally {
    await log.close()
  }
  return []
}

const BELONGING: ReadonlySet<string> = new Set(['LogOlderError', 'NotBelongingError'])

/**
 * Puts, reads and deletes an object that only this check uses. Its key is that of a result, so that the purge of a
 * gateway removes an object that a killed check left.
 */
async function checkBucket(
  { namespace }: Config,
  s3: Extract<Config['objectStorage'], { readonly kind: 's3' }>['s3'],
): Promise<readonly string[]> {
  const store = createS3Store({ ...s3, clock: systemClock })
  const key = `${namespace}/${resultKey(systemClock.nowMs(), newSecret(''), '')}`
  let step = 'put'
  try {
    await store.put(key, Buffer.from(key))
    step = 'get'
    const opened = await store.open(key)
    const text = opened === undefined ? '' : (await buffer(opened.body)).toString()
    if (text !== key) throw new CommandError('what was put is not what is there')
    step = 'delete'
    await store.remove(key)
    return []
  } catch (cause) {
    const words = `the bucket ${s3.bucket} of S3_ENDPOINT cannot be used: to ${step} an object fails: ${messageOf(cause)}`
    // An account or a bucket that the service does not know is a wrong setting.
    if (isDomainError(cause) && cause.details['trouble'] === 'refused')
      throw new ConfigError([words])
    throw new CommandError(words, { cause })
  } finally {
    await store.close()
  }
}
