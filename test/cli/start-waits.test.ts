import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Front } from '../helpers/pretended-cluster/front.ts'
import { startPretendedCluster } from '../helpers/cluster.ts'
import { startEventStore } from '../helpers/eventstore.ts'
import { eventually } from '../helpers/eventually.ts'
import { acquireGatewayDatabase } from '../helpers/postgres.ts'
import { type Starting, starting, statusOf } from './support/starting.ts'
import { tollgateProcess } from './support/tollgate.ts'

/** A replica that starts while a store is away is alive and not ready, and serves once it is back. */

const STATES_MS = 120_000

const WAITING = 'waiting for a store that is away'

const common = { MARKER_SECRET: 'a marker secret of the tests alone', SANDBOX: 'on' }

/** A database whose address can be taken away: it is a process on which the whole test run depends. */
async function databaseBehindFront(t: Test): Promise<{ readonly url: string; front: Front }> {
  const database = await acquireGatewayDatabase()
  const { front, url } = await Front.before(database.url)
  t.teardown(async () => {
    front.breakConnections()
    await front.close()
    await database.drop()
  })
  return { url, front }
}

async function becomesReady(process: Starting, address: string): Promise<void> {
  const { address: at } = await process.logs('ready')
  if (at !== address) throw new Error(`it waited at ${address} and serves at ${String(at)}`)
  await eventually(
    'it is ready',
    async () => ((await statusOf(`${address}/readyz`)).status === 200 ? true : undefined),
    STATES_MS,
  )
}

t.test(
  'before Postgres: alive, not ready with the reason, 503 in each shape; then it serves',
  async (t) => {
    const store = await startEventStore()
    t.teardown(() => store.stop())
    const { url, front } = await databaseBehindFront(t)
    for (const how of ['refuse', 'freeze'] as const) {
      await front.fallSilent(how)
      const env = { ...common, EVENTSTORE_URL: store.url, DATABASE_URL: url }
      const process = await starting(t, [], env)
      const { address, reason, store: away } = await process.logs(WAITING)
      const at = String(address)
      t.equal(away, 'postgres', String(reason))
      t.match(await statusOf(`${at}/healthz`), { status: 200, body: '{"status":"ok"}' })
      const ready = await statusOf(`${at}/readyz`)
      t.equal(ready.status, 503)
      t.match(JSON.parse(ready.body), {
        ready: false,
        reasons: [/^not accepting/, 'postgres is down'],
        dependencies: { postgres: 'down', event_log: 'up' },
      })
      for (const [path, shape] of [
        ['/v1/chat/completions', { error: { code: 'service_unavailable', message: String } }],
        ['/provA/api/v3/contents/generations/tasks', { error: { code: String, type: String } }],
        ['/provB/v2/video_generation', { type: 'error', error: { http_code: '503' } }],
        ['/provC/v1/videos', { code: 503, reason: String }],
        ['/api/query/v1/tasks', { success: false }],
        ['/elsewhere', { error: { code: String } }],
      ] as const) {
        const { status, body } = await statusOf(`${at}${path}`)
        t.equal(status, 503, path)
        t.match(JSON.parse(body), shape, path)
      }
      await front.recover()
      await becomesReady(process, at)
      t.equal((await statusOf(`${at}/v1/models`)).status, 401)
      t.equal(await process.stop(), 0)
    }
  },
)

t.test('before the log, with readiness on a separate port', async (t) => {
  const store = await startEventStore()
  t.teardown(() => store.stop())
  const database = await acquireGatewayDatabase()
  t.teardown(() => database.drop())
  await store.kill9()
  const process = await starting(t, [], {
    ...common,
    OPERATIONS_PORT: '0',
    EVENTSTORE_URL: store.url,
    DATABASE_URL: database.url,
  })
  const { address, store: away } = await process.logs(WAITING)
  t.equal(away, 'event_log')
  t.equal((await statusOf(`${String(address)}/healthz`)).status, 200)
  t.equal((await statusOf(`${String(address)}/readyz`)).status, 503)
  await store.restart()
  const { operationsAddress } = await process.logs('ready')
  t.equal((await statusOf(`${String(operationsAddress)}/readyz`)).status, 200)
  t.equal((await statusOf(`${String(address)}/readyz`)).status, 404)
})

t.test('before a frozen Postgres, with metrics from the first moment', async (t) => {
  const { url, front } = await databaseBehindFront(t)
  await front.fallSilent('freeze')
  const process = await starting(t, [], {
    ...common,
    OPERATIONS_PORT: '0',
    EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    DATABASE_URL: url,
  })
  const listens = await process.logs(/^Server listening at /)
  const [operationsAddress = ''] = String(listens['msg']).match(/http:\S+/) ?? []
  const { status, body } = await statusOf(`${operationsAddress}/metrics`)
  t.equal(status, 200, body)
  t.match(body, /^process_cpu_seconds_total /m)
  t.equal((await statusOf(`${operationsAddress}/readyz`)).status, 503)
  const waits = await process.logs('the stores do not answer yet')
  t.equal(waits['operationsAddress'], operationsAddress)
  t.equal((await statusOf(`${operationsAddress}/metrics`)).status, 200)
  t.equal(await process.stop(), 0)
})

t.test('before a cluster has a leader', async (t) => {
  const cluster = await startPretendedCluster()
  t.teardown(() => cluster.stop())
  const database = await acquireGatewayDatabase()
  t.teardown(() => database.drop())
  await cluster.nobodyLeads()
  const env = { ...common, EVENTSTORE_URL: cluster.url, DATABASE_URL: database.url }
  const all = await starting(t, [], env)
  const others = await Promise.all(
    ['worker', 'projector'].map((role) =>
      starting(t, ['--role', role], { ...env, OPERATIONS_PORT: '0' }),
    ),
  )
  const { address, store } = await all.logs(WAITING)
  t.equal(store, 'event_log')
  t.match(JSON.parse((await statusOf(`${String(address)}/readyz`)).body), {
    reasons: [/^not accepting/, 'event_log is down'],
  })
  const ports = []
  for (const one of others) {
    const { operationsAddress: at } = await one.logs(WAITING)
    t.equal((await statusOf(`${String(at)}/healthz`)).status, 200)
    t.equal((await statusOf(`${String(at)}/readyz`)).status, 503)
    ports.push(at)
  }
  await cluster.lead(1)
  await becomesReady(all, String(address))
  for (const [index, one] of others.entries()) {
    const { operationsAddress: at, address: none } = await one.logs('ready')
    t.equal(at, ports[index], 'the port that it waited on')
    t.equal(none, undefined, 'no port for callers')
    const ready = await eventually(
      'it is ready',
      async () => {
        const { status, body } = await statusOf(`${String(at)}/readyz`)
        return status === 200 ? body : undefined
      },
      STATES_MS,
    )
    t.match(JSON.parse(ready), { dependencies: { event_log: 'up', postgres: 'up' } })
    const { status, body } = await statusOf(`${String(at)}/metrics`)
    t.equal(status, 200)
    t.match(body, /^tollgate_event_log_|^tollgate_/m)
  }
})

t.test('a waiting process ends in order on SIGTERM and logs no secret', async (t) => {
  const process = await starting(t, [], {
    ...common,
    EVENTSTORE_URL: 'esdb://admin:log-secret@127.0.0.1:1?tls=false',
    DATABASE_URL: 'postgres://tollgate:database-secret@127.0.0.1:1/tollgate',
  })
  await process.logs(WAITING)
  t.equal(await process.stop(), 0)
  t.notMatch(JSON.stringify(process.lines), /log-secret|database-secret|marker-secret/)
})

t.test('a permanent fault ends the start with its own exit code', async (t) => {
  const database = await acquireGatewayDatabase()
  t.teardown(() => database.drop())
  const wrong = new URL(database.url)
  wrong.password = 'wrong-secret'
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-waits-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const ended = await tollgateProcess(['serve'], {
    ...common,
    PORT: '0',
    DATA_DIR: directory,
    EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    DATABASE_URL: wrong.href,
  })
  t.equal(ended.code, 77)
  t.match(ended.stderr, /^tollgate: the Postgres of DATABASE_URL cannot be used: password/)
  t.notMatch(ended.stdout + ended.stderr, /wrong-secret/)
})
