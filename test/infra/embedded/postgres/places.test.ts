import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { folder, query, supervise } from './harness.ts'

t.test('data of another major version is named and unchanged', async (t) => {
  const root = folder(t)
  mkdirSync(join(root, 'cluster'))
  writeFileSync(join(root, 'cluster', 'PG_VERSION'), '13\n')
  // As root the owner of the data decides the account; root itself cannot be it.
  await t.rejects(supervise(t, root).ready, {
    message: /was written by Postgres 13, this release carries Postgres 18/,
  })
  t.strictSame(readdirSync(join(root, 'cluster')), ['PG_VERSION'])
})

t.test('a file in place of the data is named', async (t) => {
  const root = folder(t)
  mkdirSync(join(root, 'cluster'))
  writeFileSync(join(root, 'cluster', 'holiday.jpg'), '')
  await t.rejects(supervise(t, root).ready, { message: /is not a Postgres data directory/ })
  const file = join(root, 'file')
  writeFileSync(file, '')
  await t.rejects(supervise(t, join(file, 'below')).ready, { message: /ENOTDIR/ })
})

t.test('data below a private folder works', async (t) => {
  const closed = join(folder(t), 'closed')
  mkdirSync(closed, { mode: 0o700 })
  chmodSync(closed, 0o700)
  const { url } = await supervise(t, join(closed, 'postgres')).ready
  t.strictSame(await query(url, 'select 1 as n'), [{ n: 1 }])
  t.equal(statSync(closed).mode & 0o777, 0o700, 'and stays closed')
})
