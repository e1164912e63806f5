import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../../../helpers/eventually.ts'
import { folder, isAlive, postmasterPid, query, supervise } from './harness.ts'

t.test('a first start creates the database, a second start finds its data', async (t) => {
  const root = join(folder(t), 'postgres')
  const first = supervise(t, root)
  const { url } = await first.ready
  t.match(url, /^postgres:\/\/gateway:[\w-]{43}@[%\w.-]+%2Fsocket\/tollgate$/)
  t.strictSame(
    await query(
      url,
      `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes') order by name`,
    ),
    [
      { name: 'fsync', setting: 'on' },
      { name: 'full_page_writes', setting: 'on' },
      { name: 'synchronous_commit', setting: 'on' },
    ],
  )
  const guess = new URL(url)
  guess.password = 'guess'
  await t.rejects(query(guess.href, 'select 1'), { code: '28P01' }, 'the password counts')
  await query(url, `create table kept as select 42 as n`)
  const server = postmasterPid(root)
  t.doesNotThrow(
    () => process.kill(-server, 0),
    'no signal of a terminal reaches it: a group apart',
  )
  await first.stop()
  t.notOk(isAlive(server), 'the server ended with its supervisor')
  t.equal(statSync(join(root, 'password')).mode & 0o777, 0o600)
  t.equal(statSync(join(root, 'cluster')).mode & 0o777, 0o700)

  const second = supervise(t, root)
  t.strictSame(await query((await second.ready).url, 'select n from kept'), [{ n: 42 }])
})

t.test('a stop while the cluster is made leaves nothing at work', async (t) => {
  const root = folder(t)
  const interrupted = supervise(t, root)
  await eventually('initdb at work', () =>
    readdirSync(root).some((name) => name.startsWith('init-')),
  )
  await interrupted.stop()
  await t.rejects(interrupted.ready, { message: /stopped before it was ready/ })
  t.notOk(existsSync(join(root, 'cluster')))
})

t.test('a stop during the start leaves no server', async (t) => {
  const root = folder(t)
  const child = supervise(t, root)
  await eventually('a server', () => existsSync(join(root, 'cluster', 'postmaster.pid')))
  await child.stop()
  t.notOk(existsSync(join(root, 'cluster', 'postmaster.pid')))
})
