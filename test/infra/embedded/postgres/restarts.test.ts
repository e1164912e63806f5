import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../../helpers/eventually.ts'
import type { ReadyMessage } from '../../../../infra/embedded/supervisor.ts'
import { folder, isAlive, postmasterPid, query, served, supervise } from './harness.ts'

/** One cluster for all: making it is the slow part. */
const root = folder(t)

t.test('a killed server restarts on its port with acknowledged data', async (t) => {
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

t.test('a killed wrapper is replaced by one that serves its data alone', async (t) => {
  const seen: ReadyMessage[] = []
  const child = supervise(t, root, { onReady: (message) => seen.push(message) })
  const { url } = await child.ready
  await query(url, 'create table kept2 as select 2 as n')
  const server = postmasterPid(root)
  process.kill(child.pid() ?? 0, 'SIGKILL')
  await eventually('the next wrapper', () => seen.length === 2)
  t.strictSame(await query(url, 'select n from kept2'), [{ n: 2 }])
  t.notOk(isAlive(server))
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

t.test('a server that hangs is killed and replaced', async (t) => {
  const restarts: { reason: string }[] = []
  const seen: ReadyMessage[] = []
  const child = supervise(t, root, {
    signEveryMs: 1_000,
    onRestart: (restart) => restarts.push(restart),
    onReady: (message) => seen.push(message),
  })
  const { url } = await child.ready
  const server = postmasterPid(root)
  // It has given signs by then.
  await sleep(2_500)
  process.kill(server, 'SIGSTOP')
  await eventually('the next server', () => seen.length === 2)
  t.match(restarts, [{ reason: /^hangs: no sign of life for 4000 ms$/ }])
  t.notOk(isAlive(server))
  t.strictSame(await query(url, 'select 1 as n'), [{ n: 1 }])
})
