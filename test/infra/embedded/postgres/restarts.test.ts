import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import t from 'tap'
import { owned } from '../../../../src/platform/owned.ts'
import { eventually } from '../../../helpers/eventually.ts'
import type { ReadyMessage } from '../../../../infra/embedded/supervisor.ts'
import { folder, isAlive, postmasterPid, query, served, supervise } from './harness.ts'

/** One cluster for all: making it is the slow part. */
const root = folder(t)

t.test('a killed server restarts at its address with acknowledged data', async (t) => {
  const restarts: { reason: string }[] = []
  const seen: ReadyMessage[] = []
  const child = supervise(t, root, {
    onRestart: (restart) => restarts.push(restart),
    onReady: (message) => seen.push(message),
  })
  const { url } = await child.ready
  await query(url, 'create table kept1 as select 1 as n')
  const server = postmasterPid(root)
  process.kill(server, 'SIGKILL')
  await eventually('the next server', () => seen.length === 2)
  t.strictSame(await query(url, 'select n from kept1'), [{ n: 1 }])
  t.equal(child.current().url, url)
  t.not(postmasterPid(root), server)
  t.match(restarts, [{ reason: /postgres ended by SIGKILL/ }])
})

t.test(
  'a pid file of a foreign process neither blocks the start nor harms the process',
  async (t) => {
    const child = supervise(t, root)
    await child.ready
    const pidFile = join(root, 'cluster', 'postmaster.pid')
    const text = readFileSync(pidFile, 'utf8')
    await child.stop()
    const stranger = spawn('/bin/sleep', ['60'])
    t.teardown(() => stranger.kill('SIGKILL'))
    writeFileSync(pidFile, text.replace(/^\d+/, String(stranger.pid)))
    const { url } = await supervise(t, root).ready
    t.strictSame(await served(url, 'select 1 as n'), [{ n: 1 }])
    t.ok(isAlive(stranger.pid ?? 0))
  },
)

t.test('a server that hangs with a session is killed and replaced', async (t) => {
  const restarts: { reason: string }[] = []
  const seen: ReadyMessage[] = []
  const child = supervise(t, root, {
    signEveryMs: 1_000,
    onRestart: (restart) => restarts.push(restart),
    onReady: (message) => seen.push(message),
  })
  const { url } = await child.ready
  const client = owned(new Client({ connectionString: url }))
  await client.connect()
  t.teardown(() => client.end())
  const { rows } = await client.query<{ readonly pid: number }>('select pg_backend_pid() as pid')
  const server = postmasterPid(root)
  // The session would hold the output of the killed server open.
  for (const pid of [server, rows[0]?.pid ?? 0]) process.kill(pid, 'SIGSTOP')
  await eventually('the next server', () => seen.length === 2)
  t.match(restarts, [{ reason: /^hangs: no sign of life for 4000 ms$/ }])
  t.notOk(isAlive(server))
  t.notOk(isAlive(rows[0]?.pid ?? 0))
  t.strictSame(await query(url, 'select 1 as n'), [{ n: 1 }])
})

t.test('a server that hangs is killed by a stop that has a bound', async (t) => {
  const child = supervise(t, root, { stopTimeoutMs: 300 })
  await child.ready
  const server = postmasterPid(root)
  process.kill(server, 'SIGSTOP')
  await child.stop()
  t.notOk(isAlive(server))
})
