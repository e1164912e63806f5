import { Client } from 'pg'
import t, { type Test } from 'tap'
import { startEventStore } from '../helpers/eventstore.ts'
import { eventually } from '../helpers/eventually.ts'
import { MIGRATION_LOCK } from '../../src/storage/postgres/migrate.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { type Starting, starting, statusOf } from './support/starting.ts'
import { type Ended, type Environment, tollgateProcess } from './support/tollgate.ts'

/** A projector and `tollgate migrate` create the tables; all others wait until they are there. */

const WAITS = 'waiting for a database that is not migrated yet'
const LACKS = /^waiting: .* it lacks read model access,.* migration secret 1, .*tollgate migrate/
const STATES_MS = 120_000

const store = await startEventStore()
t.teardown(() => store.stop())

/** Settings over an empty database, with a log that no other test uses. */
async function emptyStores(t: Test, namespace: string): Promise<Environment> {
  const database = await acquireDatabase()
  t.teardown(() => database.drop())
  return {
    EVENTSTORE_URL: store.url,
    EVENTSTORE_NAMESPACE: `${namespace}.`,
    DATABASE_URL: database.url,
    MARKER_SECRET: 'a marker secret of the tests alone',
    SANDBOX: 'on',
    OPERATIONS_PORT: '0',
  }
}

async function connected(t: Test, env: Environment): Promise<Client> {
  const client = new Client({ connectionString: env['DATABASE_URL'] })
  await client.connect()
  t.teardown(() => client.end())
  return client
}

const schemasOf = async (client: Client): Promise<readonly string[]> => {
  const { rows } = await client.query<{ nspname: string }>(
    `select nspname from pg_namespace where nspname in ('engine', 'ops', 'ledger') order by 1`,
  )
  return rows.map(({ nspname }) => nspname)
}

const migrated = (env: Environment): Promise<Ended> => tollgateProcess(['migrate', '--json'], env)

async function becomesReady(process: Starting): Promise<void> {
  const { operationsAddress } = await process.logs('ready')
  await eventually(
    'it is ready',
    async () => (await statusOf(`${String(operationsAddress)}/readyz`)).status === 200,
    STATES_MS,
  )
}

t.test('others wait, not ready, and create nothing; a projector that starts ends it', async (t) => {
  const env = await emptyStores(t, 'waits')
  const client = await connected(t, env)
  const waiting = await Promise.all(
    ['api', 'worker'].map((role) => starting(t, ['--role', role], env)),
  )
  for (const one of waiting) {
    const { operationsAddress, reason } = await one.logs(WAITS)
    t.match(reason, /it lacks read model access/)
    const { status, body } = await statusOf(`${String(operationsAddress)}/readyz`)
    t.equal(status, 503)
    t.match(JSON.parse(body), {
      reasons: [/^not accepting/, LACKS],
      dependencies: { event_log: 'up', postgres: 'up' },
    })
    t.equal((await statusOf(`${String(operationsAddress)}/healthz`)).status, 200)
  }
  const command = await tollgateProcess(['tenant', 'list'], env)
  t.match(command, { code: 75, stderr: /^tollgate: the database is not migrated .*it lacks/ })
  t.same(await schemasOf(client), [])

  // Another one migrates: the projector waits for its lock, and is killed before it has migrated.
  await client.query('begin')
  await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  const killed = await starting(t, ['--role', 'projector'], env)
  const waitsForLock = async (): Promise<boolean> => {
    const { rowCount } = await client.query(
      `select from pg_locks where locktype = 'advisory' and not granted
       and database = (select oid from pg_database where datname = current_database())`,
    )
    return rowCount === 1
  }
  await eventually('the projector migrates', waitsForLock, STATES_MS)
  await killed.stop('SIGKILL')
  await client.query('commit')
  for (const one of waiting) {
    const before = one.lines.length
    await eventually('it still waits', () =>
      one.lines.slice(before).some(({ msg, reason }) => {
        return msg === WAITS && /it lacks migration secret 1/.test(String(reason))
      }),
    )
  }
  const projector = await starting(t, ['--role', 'projector'], env)
  await Promise.all([...waiting, projector].map(becomesReady))
  for (const one of [...waiting, projector]) t.equal(await one.stop(), 0)
})

t.test('two that migrate at once both end well, and a third changes nothing', async (t) => {
  const env = await emptyStores(t, 'twice')
  const [one, other] = await Promise.all([migrated(env), migrated(env)])
  for (const { code, stdout, stderr } of [one, other]) {
    t.equal(code, 0, stderr)
    t.match(JSON.parse(stdout).outcome, /^(migrated|unchanged)$/)
  }
  t.match(await migrated(env), { code: 0, stdout: '{"outcome":"unchanged","applied":[]}\n' })
  const api = await starting(t, ['--role', 'api'], env)
  await becomesReady(api)
  t.notOk(api.lines.some(({ msg }) => msg === WAITS))
})

t.test('a process with all roles migrates, its projector being a child', async (t) => {
  const env = await emptyStores(t, 'child')
  await becomesReady(await starting(t, [], env))
})

t.test('embedded stores are migrated by their only process, whatever its role is', async (t) => {
  await becomesReady(await starting(t, ['--role', 'api'], { OPERATIONS_PORT: '0' }))
})

t.test('a database that is lost is replaced by adopt, which creates the tables', async (t) => {
  const env = await emptyStores(t, 'adopts')
  const adopted = await tollgateProcess(['database', 'adopt', '--json'], env)
  t.match(adopted, { code: 0, stdout: /"databaseId"/ }, adopted.stderr)
})

t.test('migrate without Postgres has its exit code', async (t) => {
  const env = await emptyStores(t, 'none')
  const away = await migrated({ ...env, DATABASE_URL: 'postgres://u:p@127.0.0.1:1/none' })
  t.match(away, { code: 75, stderr: /Postgres of DATABASE_URL cannot be used/ })
})
