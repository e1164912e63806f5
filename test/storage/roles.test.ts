import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Pool } from 'pg'
import t from 'tap'
import { startEmbeddedPostgres } from '../../infra/embedded/postgres/start.ts'
import { rebuildProjection } from '../../projections/engine/rebuild.ts'
import { findProjection } from '../../projections/registry.ts'
import { openPool } from '../../src/storage/postgres/pool.ts'
import { migrateDatabase } from '../../src/start/migration.ts'
import { queriesOf, tasksOf, call } from '../e2e/support/client.ts'
import { checkout } from '../helpers/checkout.ts'
import { eventually } from '../helpers/eventually.ts'
import { newNamespace, startLocalEventStore } from '../helpers/eventstore.ts'
import { startStack } from '../helpers/stack.ts'
import { tollgate } from '../cli/support/commands.ts'

/** Each role does its work under an account of `infra/postgres/roles.sql`, and may do nothing else. */

const PASSWORD = 'a-password-of-the-tests'
const DATABASE = 'of_roles'
const rolesSql = readFileSync(new URL('infra/postgres/roles.sql', checkout), 'utf8')

const folder = await mkdtemp(join(tmpdir(), 'tollgate-roles-'))
// The account of Postgres passes through it.
await chmod(folder, 0o711)
const stopping = new AbortController()
const postgres = await startEmbeddedPostgres({
  root: join(folder, 'pg'),
  durable: false,
  log: () => undefined,
  signal: stopping.signal,
})

/** The address of a database for an account; that of the superuser unless one is named. */
function urlFor(database: string, account?: string): string {
  const url = new URL(postgres.superuserUrl)
  url.pathname = `/${database}`
  if (account === undefined) return url.href
  url.username = account
  url.password = PASSWORD
  return url.href
}

async function run(url: string, ...statements: readonly string[]): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    let rows: readonly unknown[] = []
    for (const statement of statements) ({ rows } = await client.query(statement))
    return rows
  } finally {
    await client.end()
  }
}

await run(urlFor('postgres'), `create database ${DATABASE}`)
await run(urlFor(DATABASE), rolesSql)
const accounts = ['projector', 'gateway', 'reader'] as const
for (const account of accounts)
  await run(urlFor(DATABASE), `alter role tollgate_${account} password '${PASSWORD}'`)
const [projectorUrl, gatewayUrl, readerUrl] = accounts.map((account) =>
  urlFor(DATABASE, `tollgate_${account}`),
) as [string, string, string]
const projectorPool = openPool({
  databaseUrl: projectorUrl,
  max: 12,
  queryTimeoutMs: 60_000,
  onLost: () => undefined,
})
t.teardown(async () => {
  await projectorPool.end()
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
})

t.test('the gateway’s account cannot migrate, the projector’s can', async (t) => {
  const pool = new Pool({ connectionString: gatewayUrl })
  t.teardown(() => pool.end())
  await t.rejects(migrateDatabase(pool), { code: '42501' })
  await migrateDatabase(projectorPool)
  // Tables of today get their rights by the second run, and a third changes nothing.
  await run(urlFor(DATABASE), rolesSql)
  const rightsOf = `select nspname, nspacl::text, relname, relacl::text from pg_namespace n
    left join pg_class c on c.relnamespace = n.oid and relkind = 'r'
    where nspowner = 'tollgate_owner'::regrole order by nspname, relname`
  const rights = await run(urlFor(DATABASE), rightsOf)
  await run(urlFor(DATABASE), rolesSql)
  t.same(await run(urlFor(DATABASE), rightsOf), rights)
  t.ok(rights.length > 40, `${rights.length} tables`)
})

t.test('each role does its work under its account', async (t) => {
  const stack = await startStack({ databaseUrl: projectorUrl, env: { OPERATIONS_PORT: '0' } })
  t.teardown(() => stack.stop())
  // From here on no process has all roles.
  await stack.gateway.stop()
  await stack.replica(['projector'], { databaseUrl: projectorUrl })
  const worker = await stack.replica(['worker'], { databaseUrl: gatewayUrl })
  const api = await stack.replica(['api'], { databaseUrl: gatewayUrl })
  const { modelToken, queryToken, profileToken } = stack.demo
  const chat = (headers: Readonly<Record<string, string>> = {}) =>
    call(`${api.url}/v1/chat/completions`, {
      method: 'POST',
      token: modelToken,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] }),
    })
  const work = async (): Promise<void> => {
    t.equal((await chat()).status, 200)
    const key = { 'idempotency-key': `key ${Math.random()}` }
    t.equal((await chat(key)).status, 200)
    t.equal((await chat(key)).status, 200, 'a repeat of a keyed call')
    const tasks = tasksOf(api.url, modelToken)
    const id = await tasks.created()
    await tasks.reaches(id, 'succeeded')
    const later = await tasks.created()
    await tasks.del(later)
    const { lines, history } = queriesOf(api.url, queryToken)
    await eventually('the task is in the ledger', async () =>
      (await lines()).text.includes(id) ? true : undefined,
    )
    t.equal((await history(id)).status, 200)
    t.equal((await call(`${api.url}/api/user/balance`, { token: profileToken })).status, 200)
  }
  await work()

  // A rebuild makes the tables anew.
  for (const name of ['tasks', 'ledger']) {
    const projection = findProjection(name)
    if (projection === undefined) throw new Error(`no read model ${name}`)
    const { log } = worker.gateway
    const { outcome } = await rebuildProjection({ pool: projectorPool, log, projection })
    t.equal(outcome, 'swapped', name)
  }
  await work()

  for (const { gateway } of [api, worker]) {
    const ready = await call(`${gateway.operationsAddress ?? ''}/readyz`)
    t.match(ready, { status: 200, body: { degraded: [] } })
    const metrics = await call(`${gateway.operationsAddress ?? ''}/metrics`)
    t.match(metrics.text, /^tollgate_leads\{what="projections"\} 1$/m)
    t.match(metrics.text, /^tollgate_settled_lines\{.*\} [1-9]/m)
  }
  await stack.stop()
  t.notMatch(stack.logged(), /permission denied|must be owner|read-only transaction/)
})

t.test('commands under an account that lacks rights name them', async (t) => {
  const store = await startLocalEventStore()
  t.teardown(() => store.stop())
  const env = (DATABASE_URL: string) => ({
    EVENTSTORE_URL: store.url,
    DATABASE_URL,
    DATA_DIR: folder,
    MARKER_SECRET: 'a marker secret of the tests alone',
    SANDBOX: 'on',
    OPERATIONS_PORT: '0',
    EVENTSTORE_NAMESPACE: newNamespace(),
  })
  t.match(await tollgate(['migrate'], env(gatewayUrl)), { code: 77, stderr: /permission denied/ })
  t.match(await tollgate(['migrate', '--json'], env(projectorUrl)), {
    code: 0,
    stdout: /"unchanged"/,
  })
  const config = (url: string, role: string) =>
    tollgate(['config', '--stores', '--role', role], env(url))
  const wrong = await config(gatewayUrl, 'projector')
  t.match(wrong.stderr, /lacks rights for the role projector: to create schemas, to own the schema/)
  const reader = await config(readerUrl, 'worker')
  t.match(reader.stderr, /lacks rights for the role worker: .*to use the schema ops/)
  t.match(reader.stderr, /to update tasks\.polls.*infra\/postgres\/roles\.sql gives them/)
  t.notMatch((await config(gatewayUrl, 'worker')).stderr, /lacks rights/)
  t.notMatch((await config(projectorUrl, 'projector')).stderr, /lacks rights/)
})

const refused: Readonly<Record<string, readonly string[]>> = {
  [gatewayUrl]: [
    'delete from tasks.tasks',
    'delete from tasks.polls',
    'insert into tasks.polls default values',
    'delete from timeline.events',
    'truncate timeline.events',
    'delete from ledger.lines',
    'insert into ledger.lines default values',
    'update engine.checkpoints set version = 0',
    'delete from engine.passed_over',
    'delete from ops.migrations',
    'update ops.migrations set number = 0',
    `insert into ops.migrations (owner, number) values ('x', 1)`,
    'truncate ops.call_claims',
    'create schema mine',
    'create table ops.mine (n int)',
    'create table public.mine (n int)',
    'create temp table mine (n int)',
    'alter table ops.workers add column n int',
    'drop table ledger.lines',
    'drop schema ledger cascade',
    'set role tollgate_owner',
  ],
  [readerUrl]: [
    'select from ops.call_claims',
    'select from ops.console_sessions',
    'begin read write; delete from ledger.lines',
    'begin read write; update tasks.polls set attempts = 0',
    'begin read write; create schema mine',
    'set role tollgate_owner',
  ],
  [projectorUrl]: [
    'create role mine',
    'create database mine',
    'select from pg_authid',
    `alter system set fsync = off`,
  ],
}

t.test('each account is refused what is not its own', async (t) => {
  for (const [url, statements] of Object.entries(refused))
    for (const statement of statements)
      await t.rejects(
        run(url, statement),
        { code: '42501' },
        `${new URL(url).username}: ${statement}`,
      )
  await t.rejects(run(readerUrl, 'delete from ledger.lines'), { code: '25006' })
  t.same(await run(readerUrl, 'select count(*) > 0 as some from ledger.lines'), [{ some: true }])
  t.same(await run(projectorUrl, 'select current_user::text as me'), [{ me: 'tollgate_owner' }])
})
