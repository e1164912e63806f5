import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Client } from 'pg'
import { monotonicClock } from '../../../src/kernel/clock.ts'
import { owned } from '../../../src/platform/owned.ts'
import type { Cluster } from './cluster.ts'
import { SUPERUSER } from './cluster.ts'

/** The database that the gateway uses. */
const DATABASE = 'tollgate'
/** The role of the gateway's connections. It owns the database and has no rights outside of it. */
const ROLE = 'gateway'
const CONNECT_TIMEOUT_MS = 10_000
const ANSWER_TIMEOUT_MS = 5_000

/** The role's password follows from the superuser's, and does not lead back to it. */
function rolePassword(cluster: Cluster): string {
  return createHmac('sha256', cluster.password).update(`role ${ROLE}`).digest('base64url')
}

/** The address of the database, or of another one, for one of its two roles. */
export function urlOf(
  cluster: Cluster,
  socketFolder: string,
  as: 'gateway' | 'superuser',
  database: string = DATABASE,
): string {
  const [role, password] =
    as === 'gateway' ? [ROLE, rolePassword(cluster)] : [SUPERUSER, cluster.password]
  return `postgres://${role}:${encodeURIComponent(password)}@${encodeURIComponent(socketFolder)}/${database}`
}

async function connected<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  // The watcher of the server notices and explains its end.
  const client = owned(
    new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS }),
  )
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/**
 * The message `SSLRequest` of the PostgreSQL frontend/backend protocol: its length, then its code.
 */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/**
 * Whether the server answers a new connection, by a refusal too. It is only asked whether it speaks TLS,
 * because the start of a session would take it several times as long.
 */
export async function isAnswering(socketPath: string): Promise<boolean> {
  const startedMs = monotonicClock.nowMs()
  const socket = owned(connect(socketPath))
  socket.write(SSL_REQUEST)
  try {
    await once(socket, 'data', { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })
    return true
  } catch {
    return monotonicClock.nowMs() - startedMs < ANSWER_TIMEOUT_MS
  } finally {
    socket.destroy()
  }
}

async function exists(client: Client, query: string, name: string): Promise<boolean> {
  const { rowCount } = await client.query(query, [name])
  return rowCount !== 0
}

/** Gives the role the database, and makes both where they are missing. */
async function prepareRole(client: Client, password: string): Promise<void> {
  if (!(await exists(client, 'select 1 from pg_roles where rolname = $1', ROLE)))
    await client.query(`create role ${ROLE}`)
  await client.query(
    `alter role ${ROLE} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${password}'`,
  )
  if (await exists(client, 'select 1 from pg_database where datname = $1', DATABASE))
    await client.query(`alter database ${DATABASE} owner to ${ROLE}`)
  else await client.query(`create database ${DATABASE} owner ${ROLE}`)
}

/**
 * Reads the superuser's objects in the database, as statements that give them to the role: earlier releases connected as
 * the superuser, and `reassign owned` refuses to take from the role that made the cluster. The sequence of a column
 * goes with its table.
 */
const GIVE_STATEMENTS = `
  with mine as (select oid from pg_roles where rolname = '${SUPERUSER}'),
  spaces as (
    select oid, nspname, nspowner from pg_namespace
    where nspname !~ '^pg_' and nspname <> 'information_schema')
  select format('alter schema %I owner to ${ROLE}', nspname) as statement
    from spaces where nspowner = (select oid from mine)
  union all
  select format('alter %s %s owner to ${ROLE}',
      case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
        when 'c' then 'type' else 'table' end, oid::regclass)
    from pg_class c
    where relowner = (select oid from mine) and relnamespace in (select oid from spaces)
      and relkind in ('r', 'p', 'v', 'm', 'S', 'c')
      and not (relkind = 'S' and exists (select from pg_depend d
        where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')))
  union all
  select format('alter routine %s owner to ${ROLE}', oid::regprocedure)
    from pg_proc where proowner = (select oid from mine) and pronamespace in (select oid from spaces)
  union all
  select format('alter type %s owner to ${ROLE}', oid::regtype)
    from pg_type
    where typowner = (select oid from mine) and typnamespace in (select oid from spaces)
      and typtype in ('e', 'd', 'r')`

async function giveContent(client: Client): Promise<void> {
  const { rows } = await client.query<{ readonly statement: string }>(GIVE_STATEMENTS)
  if (rows.length === 0) return
  // All or none: a start that dies here is followed by one that begins again.
  await client.query(['begin', ...rows.map(({ statement }) => statement), 'commit'].join(';\n'))
}

/**
 * Creates the gateway's role and its database if they are missing, and gives the role the objects
 * that an earlier release left to the superuser.
 */
export async function prepareDatabase(cluster: Cluster, socketFolder: string): Promise<void> {
  await connected(urlOf(cluster, socketFolder, 'superuser', 'postgres'), (client) =>
    prepareRole(client, rolePassword(cluster)),
  )
  await connected(urlOf(cluster, socketFolder, 'superuser'), giveContent)
}
