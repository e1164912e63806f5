import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { agreeOnSecret } from '../../src/app/access/secret-agreement.ts'
import { owned } from '../../src/platform/owned.ts'
import { createEventLog } from '../../src/eventlog/log/client.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { createS3Store } from '../../src/storage/s3/store.ts'
import { adoptDatabase } from '../helpers/adopted.ts'
import { startPretendedCluster } from '../helpers/cluster.ts'
import { newNamespace, startLocalEventStore } from '../helpers/eventstore.ts'
import { standBefore } from '../helpers/pretended-cluster/front.ts'
import { acquireDatabase, acquireGatewayDatabase } from '../helpers/postgres.ts'
import { startS3Server } from '../helpers/s3-server.ts'
import { tollgate } from './support/commands.ts'
import { type Ended, type Environment, tollgateProcess } from './support/tollgate.ts'

/** `tollgate config` makes the checks of a start, and with `--stores` asks the stores as well. */

const store = await startLocalEventStore()
const s3 = await startS3Server()
const database = await acquireGatewayDatabase()
t.teardown(async () => {
  await Promise.all([store.stop(), s3.stop()])
  await database.drop()
})
const SECRET = 'a marker secret of the tests alone'
const EVENTSTORE_NAMESPACE = newNamespace()
const stores: Environment = {
  EVENTSTORE_URL: store.url,
  EVENTSTORE_NAMESPACE,
  DATABASE_URL: database.url,
  MARKER_SECRET: SECRET,
  SANDBOX: 'on',
}
const bucket: Environment = {
  OBJECT_STORAGE: 's3',
  S3_ENDPOINT: s3.options.endpoint,
  S3_BUCKET: s3.options.bucket,
  S3_ACCESS_KEY_ID: s3.options.accessKeyId,
  S3_SECRET_ACCESS_KEY: s3.options.secretAccessKey,
}

async function config(env: Environment, ...options: readonly string[]): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-config-'))
  try {
    // What a process is started with is read by a new one alone.
    const run = 'NODE_OPTIONS' in env ? tollgateProcess : tollgate
    return await run(['config', ...options], { DATA_DIR: join(folder, 'data'), ...env })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** It ends with this status, and lists each fault in words. */
function refused(t: Test, { code, stderr }: Ended, status: number, ...faults: readonly RegExp[]) {
  t.equal(code, status, stderr)
  for (const fault of faults) t.match(stderr, fault)
  t.notMatch(stderr, /\n\s+at |\[object |undefined|pass-word/)
}

t.test('faults of the environment, files and the data directory are listed together', async (t) => {
  const env = {
    ...stores,
    PORT: 'http',
    MARKER_SECRET: 'short',
    CHANNELS_FILE: '/none/channels.yaml',
    SANDBOX: '',
    PRICEBOOK_FILE: '/none/book.yaml',
    DATA_DIR: '/proc/x',
  }
  refused(
    t,
    await config(env, '--role', 'worker'),
    78,
    /6 fault\(s\)/,
    /- PORT must be/,
    /- OPERATIONS_PORT must be set/,
    /- CHANNELS_FILE cannot be read: ENOENT/,
    /- PRICEBOOK_FILE .* cannot be used: ENOENT/,
    /- the data directory \/proc\/x cannot be written: its file system takes no folders/,
    /- MARKER_SECRET has 5 character\(s\) and needs 32/,
  )
})

t.test('a data directory is checked, and neither made nor changed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-config-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  t.equal((await config({ DATA_DIR: join(folder, 'a', 'b') })).code, 0)
  t.equal((await config({ DATA_DIR: folder })).code, 0)
  t.same(await readdir(folder), [])
})

t.test('passwords in clear text and a missing delay are warned of', async (t) => {
  const far = {
    ...stores,
    EVENTSTORE_URL: 'esdb://u:pass-word@store.internal:2113?tls=false',
    DATABASE_URL: 'postgres://u:pass-word@postgres.internal/tollgate',
    TRUSTED_PROXIES: '10.0.0.0/8',
  }
  const { code, stderr } = await config(far)
  t.equal(code, 0, stderr)
  t.match(stderr, /^warning: DATABASE_URL sends its password without TLS .*sslmode=verify-full$/m)
  t.match(stderr, /^warning: EVENTSTORE_URL sends its password without TLS .*tls=true$/m)
  t.match(stderr, /^warning: SHUTDOWN_DELAY_MS is 0 behind the proxies/m)
  const near = {
    ...far,
    EVENTSTORE_URL: 'esdb+discover://u:pass-word@store.internal:2113',
    DATABASE_URL: 'postgres://u:pass-word@postgres.internal/tollgate?sslmode=verify-full',
    SHUTDOWN_DELAY_MS: '5000',
  }
  t.equal((await config(near)).stderr, '')
  const local = {
    ...near,
    EVENTSTORE_URL: 'esdb://u:pass-word@127.0.0.1:2113?tls=false',
    DATABASE_URL: 'postgres://u:pass-word@localhost/tollgate',
  }
  t.equal((await config(local)).stderr, '')
})

t.test('stores in order pass, and nothing is left in them', async (t) => {
  const ended = await config({ ...stores, ...bucket }, '--stores')
  t.match(ended, { code: 0, stderr: '', stdout: /^EVENTSTORE_URL=\(set, hidden\)$/m })
  const pool = new Pool({ connectionString: database.url })
  t.teardown(() => pool.end())
  const { rowCount } = await pool.query('select from ops.marker_secret')
  t.equal(rowCount, 0)
  const objects = createS3Store({ ...s3.options, clock: systemClock })
  t.teardown(() => objects.close())
  for await (const { key } of objects.list('')) t.fail(`${key} is left in the bucket`)
})

t.test('the connections of all replicas have room in Postgres', async (t) => {
  const asked = async (...args: readonly string[]) => config(stores, '--stores', ...args)
  t.equal((await asked('--replicas', '2', '--role', 'api,worker')).code, 0)
  const words = /replicas open up to \d+ connections, .* has \d+: raise its max_connections, or/
  refused(t, await asked('--replicas', '900'), 78, words)
  refused(t, await asked('--replicas', '0'), 2, /--replicas must be a whole number/)
  refused(t, await config(stores, '--replicas', '2'), 2, /--replicas is for --stores/)
})

t.test('faults of several stores are listed together', async (t) => {
  const env = {
    ...stores,
    ...bucket,
    S3_ENDPOINT: 'http://127.0.0.1:1',
    EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    DATABASE_URL: 'postgres://u:pass-word@127.0.0.1:1/tollgate',
  }
  refused(
    t,
    await config(env, '--stores'),
    75,
    /the stores have 3 fault\(s\)/,
    /- the Postgres of DATABASE_URL cannot be used: .*ECONNREFUSED/,
    /- the event store of EVENTSTORE_URL cannot be used: .*127\.0\.0\.1:1 refuses connections/,
    /- the bucket media of S3_ENDPOINT cannot be used: to put an object fails: Object storage is away/,
  )
  const key = { ...stores, ...bucket, S3_SECRET_ACCESS_KEY: 'another' }
  refused(
    t,
    await config({ ...key, PORT: 'http' }, '--stores'),
    78,
    /2 fault\(s\)/,
    /- PORT must be/,
    /- the bucket media .* Object storage is refused/,
  )
})

t.test('a store that comes back meanwhile is no fault', async (t) => {
  const { front, url } = await standBefore(t, database.url)
  // The first connections are closed at once, as those of a server that is just starting.
  let connections = 0
  const door = createServer((client) => {
    connections += 1
    if (connections <= 4) return client.destroy()
    const server = owned(connect(front.port, '127.0.0.1'))
    owned(client).pipe(server).pipe(client)
    return undefined
  }).listen(0, '127.0.0.1')
  await once(door, 'listening')
  t.teardown(() => door.close())
  const comingBack = new URL(url)
  comingBack.port = String((door.address() as AddressInfo).port)
  const ended = await config({ ...stores, DATABASE_URL: comingBack.href }, '--stores')
  t.match(ended, { code: 0, stderr: '' })
  t.ok(connections > 4, `${connections} connections`)
})

t.test('a short or another secret is found by its fingerprint', async (t) => {
  const own = await acquireGatewayDatabase()
  t.teardown(() => own.drop())
  const pool = new Pool({ connectionString: own.url })
  t.teardown(() => pool.end())
  const env = { ...stores, DATABASE_URL: own.url }
  refused(t, await config({ ...env, MARKER_SECRET: 'short' }, '--stores'), 78, /needs 32/)
  await agreeOnSecret(pool, SECRET)
  const other = 'another secret of the tests, also long'
  refused(t, await config({ ...env, MARKER_SECRET: other }, '--stores'), 78, /differs from the one/)
  t.equal((await config(env, '--stores')).code, 0)
})

t.test('a log and a database that do not belong together are refused', async (t) => {
  const [namespace, own] = [newNamespace(), await acquireGatewayDatabase()]
  t.teardown(() => own.drop())
  const log = createEventLog({ url: store.url, namespace })
  t.teardown(() => log.close())
  await adoptDatabase(own.url, log)
  const env = { ...stores, DATABASE_URL: own.url }
  t.equal((await config({ ...env, EVENTSTORE_NAMESPACE: namespace }, '--stores')).code, 0)
  refused(t, await config(env, '--stores'), 78, /names no database|belongs to another event log/)
})

t.test('a database that is not migrated is a warning for a gateway alone', async (t) => {
  const empty = await acquireDatabase()
  t.teardown(() => empty.drop())
  const env = { ...stores, DATABASE_URL: empty.url }
  t.match(await config(env, '--stores'), { code: 0, stderr: '' })
  const gateway = await config(env, '--stores', '--role', 'api,worker')
  t.match(gateway, { code: 0, stderr: /^warning: the database is not migrated .*tollgate migrate/ })
})

t.test('a clock that is off is named, and by how much', async (t) => {
  const code = 'const now=Date.now;Date.now=()=>now()+30000'
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(code)}`
  const ended = await config({ ...stores, NODE_OPTIONS }, '--stores')
  refused(
    t,
    ended,
    78,
    /- the clock of the Postgres of DATABASE_URL is \d+\.\d s behind that of this machine/,
    /- the clock of the event store is \d+\.\d s behind that of this machine/,
  )
})

t.test('a right that the account of the event store lacks has its exit code', async (t) => {
  const cluster = await startPretendedCluster()
  t.teardown(() => cluster.stop())
  const EVENTSTORE_URL = cluster.url.replace('esdb://', 'esdb://tollgate:pass-word@')
  await cluster.deny('append')
  refused(
    t,
    await config({ ...stores, EVENTSTORE_URL }, '--stores'),
    77,
    /needs the right to append/,
  )
})
