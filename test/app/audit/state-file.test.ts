import { existsSync } from 'node:fs'
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/kernel/clock.ts'
import { readStateFile, stateKeeper, StateFileError } from '../../../src/app/audit/state-file.ts'
import type { AuditState } from '../../../src/app/audit/state.ts'

const state = (position: number): AuditState => ({
  version: 2,
  position: String(position),
  last: { id: 'id', stream: 'stream', revision: '0', position: String(position) },
  lines: '0',
  head: '0'.repeat(64),
  balances: [],
  scopes: Array.from({ length: 500 }, (_, scopeId) => {
    return { scopeId, tenantId: `tenant_${scopeId}`, family: 'video_a', nextSeq: '1' }
  }),
  walk: {},
})

const pathIn = (t: Test): string => join(t.testdir(), 'audit.json')

t.test('the state of several audits at once is whole at each moment', async (t) => {
  const path = pathIn(t)
  t.equal(await readStateFile(path), undefined)
  await stateKeeper(path, systemClock)(state(0))
  const writing = [1, 2, 3].map(async (writer) => {
    const keep = stateKeeper(path, systemClock)
    for (let n = 0; n < 20; n += 1) await keep(state(writer * 1_000 + n))
  })
  const isOver = { value: false }
  const written = Promise.all(writing).finally(() => (isOver.value = true))
  while (!isOver.value) t.ok(await readStateFile(path))
  await written
  t.same(await readdir(join(path, '..')), ['audit.json'], 'and no part is left')
})

t.test('a file that is cut, of another version or no file at all is refused', async (t) => {
  const path = pathIn(t)
  await stateKeeper(path, systemClock)(state(1))
  const text = await readFile(path, 'utf8')
  for (const wrong of [text.slice(0, 300), '', '{"version":1}', '[]', 'null']) {
    await writeFile(path, wrong)
    await t.rejects(readStateFile(path), StateFileError, wrong.slice(0, 20))
  }
  await t.rejects(readStateFile(join(path, '..')), { code: 'EISDIR' })
})

t.test('a state that cannot be written leaves the one before', async (t) => {
  const path = pathIn(t)
  await stateKeeper(path, systemClock)(state(1))
  const gone = join(path, 'folder', 'audit.json')
  await t.rejects(stateKeeper(gone, systemClock)(state(2)), { code: 'ENOTDIR' })
  t.match(await readStateFile(path), { position: '1' })
})

t.test('what killed audits have left is removed after a day', async (t) => {
  const path = pathIn(t)
  const [old, young, other] = [
    'audit_01HF7YAT5WQ3N5Z8C0RXK2M4P6',
    `audit_${'0'.repeat(26)}`,
    'notes',
  ].map((name) => `${path}.${name}.new`)
  for (const file of [old, young, other]) await writeFile(file ?? '', '{"vers')
  const before = new Date(Date.now() - 2 * 86_400_000)
  for (const file of [old, other]) await utimes(file ?? '', before, before)
  await stateKeeper(path, systemClock)(state(1))
  t.same(
    [old, young, other].map((file) => existsSync(file ?? '')),
    [false, true, true],
  )
})
