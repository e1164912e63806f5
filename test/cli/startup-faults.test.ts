import { once } from 'node:events'
import { mkdir, mkdtemp, readlink, rm, symlink } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { agreeOnSecret } from '../../src/app/access/secret-agreement.ts'
import { startPretendedCluster } from '../helpers/cluster.ts'
import { startLocalEventStore } from '../helpers/eventstore.ts'
import { acquireDatabase, acquireGatewayDatabase } from '../helpers/postgres.ts'
import { removeFolder } from '../helpers/remove-folder.ts'
import { tollgate } from './support/commands.ts'
import { tollgateProcess, type Ended, type Environment } from './support/tollgate.ts'

async function directory(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tollgate-faults-'))
  t.teardown(() => removeFolder(path))
  return path
}

/** It ends with this code and says why in words, without a stack. */
function refused(t: Test, ended: Ended, why: RegExp, code = 1): void {
  t.equal(ended.code, code)
  t.match(ended.stderr, why)
  t.notMatch(ended.stderr, /\n\s+at |\[object |undefined/)
}

const serve = (env: Environment) => tollgateProcess(['serve'], { PORT: '0', ...env })

t.test('a command without a gateway does not create a data directory', async (t) => {
  const path = join(await directory(t), 'none')
  refused(t, await tollgate(['audit'], { DATA_DIR: path }), /no (?:log|stores) in .*none yet/)
  await t.rejects(mkdir(join(path, 'x')), { code: 'ENOENT' })
})

t.test('a taken port is named, and started parts are stopped', async (t) => {
  const squatter = createServer().listen(0, '127.0.0.1')
  await once(squatter, 'listening')
  t.teardown(() => squatter.close())
  const { port } = squatter.address() as AddressInfo
  const path = await directory(t)
  const ended = await serve({ DATA_DIR: path, PORT: String(port) })
  refused(t, ended, new RegExp(`:${port}.*set PORT to a free one`))
  t.match(ended.stdout.trimEnd().split('\n').at(-1), /"msg":"stopped"/)
})

t.test('an account that lacks a right ends the start, with both names', async (t) => {
  const [cluster, database] = [await startPretendedCluster(), await acquireDatabase()]
  t.teardown(() => Promise.all([cluster.stop(), database.drop()]))
  const env = {
    DATA_DIR: await directory(t),
    MARKER_SECRET: 'a marker secret of the tests alone',
    SANDBOX: 'on',
    EVENTSTORE_URL: cluster.url.replace('esdb://', 'esdb://tollgate:log-secret@'),
    DATABASE_URL: database.url,
  }
  for (const [denied, why] of [
    ['read_all', /refuses the account tollgate: it needs the right to read \$all\. Grant it/],
    ['append', /refuses the account tollgate: it needs the right to append to streams/],
    ['authenticate', /refuses the account tollgate/],
  ] as const) {
    await cluster.deny(denied)
    const ended = await serve(env)
    refused(t, ended, why, 77)
    t.notMatch(ended.stdout + ended.stderr, /log-secret/)
  }
})

t.test(
  'a secret that differs from other replicas’ is refused, and replaced on purpose',
  async (t) => {
    const store = await startLocalEventStore()
    t.teardown(() => store.stop())
    const database = await acquireGatewayDatabase()
    t.teardown(() => database.drop())
    const pool = new Pool({ connectionString: database.url })
    await agreeOnSecret(pool, 'the secret of the others, which is long')
    const env = {
      DATA_DIR: await directory(t),
      MARKER_SECRET: 'another secret, which is long as well',
      SANDBOX: 'on',
      EVENTSTORE_URL: store.url,
      DATABASE_URL: database.url,
    }
    const ended = await serve(env)
    t.equal(ended.code, 78)
    t.match(
      ended.stderr,
      /^tollgate: MARKER_SECRET differs from the one that the replicas .* have used/,
    )
    t.notMatch(ended.stderr, /\n\s+at /)
    t.notMatch(ended.stdout + ended.stderr, /another secret|secret of the others/)
    const replaced = await tollgate(['marker-secret', 'replace', '--json'], env)
    t.match(replaced, { code: 0, stdout: '{"outcome":"replaced"}\n' })
    await agreeOnSecret(pool, 'another secret, which is long as well')
    await pool.end()
  },
)

t.test('an uncaught error is logged and ends the process with status 70', async (t) => {
  // A database that never answers: the start waits, and what happens to it meanwhile is said.
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  for (const [defect, origin] of [
    ["throw new Error('a defect')", 'uncaughtException'],
    ["Promise.reject(new Error('a defect'))", 'unhandledRejection'],
  ] as const) {
    const loaded = `setInterval(()=>{if(process.listenerCount('uncaughtException')>0){${defect}}},5)`
    const { code, stdout } = await serve({
      DATA_DIR: await directory(t),
      MARKER_SECRET: 'a marker secret of the tests alone',
      SANDBOX: 'on',
      EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
      DATABASE_URL: `postgres://tollgate@127.0.0.1:${port}/tollgate`,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(loaded)}`,
    })
    t.equal(code, 70)
    const last = stdout.trimEnd().split('\n').at(-1) ?? ''
    t.match(JSON.parse(last), { level: 60, origin, err: { message: 'a defect', stack: /Error/ } })
  }
})

t.test('unreadable keys or tokens are not replaced', async (t) => {
  const path = await directory(t)
  for (const name of ['marker.secret', 'demo.json']) {
    await symlink(name, join(path, name))
    const ended = await serve({ DATA_DIR: path })
    refused(t, ended, new RegExp(`${name} cannot be read: ELOOP`))
    t.equal(await readlink(join(path, name)), name)
    await rm(join(path, name))
  }
})
