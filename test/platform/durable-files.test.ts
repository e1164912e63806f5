import { existsSync, readFileSync, statSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { copyDurably, makeFolders, replaceFile } from '../../src/platform/durable-files.ts'

/** Calls the function before each sync of a file or folder; the sync is made all the same. */
async function beforeEachSync(t: Test, look: () => void): Promise<void> {
  const handle = await open(t.testdirName)
  const prototype = Object.getPrototypeOf(handle)
  const { sync } = prototype
  await handle.close()
  prototype.sync = function (this: unknown): unknown {
    look()
    return sync.call(this)
  }
  t.teardown(() => (prototype.sync = sync))
}

t.test('a file is replaced once all of the new one is on the disk', async (t) => {
  const path = join(t.testdir({}), 'secret')
  await writeFile(path, 'old', { mode: 0o644 })
  const seen: string[] = []
  await beforeEachSync(t, () => {
    const next = existsSync(`${path}.new`) ? readFileSync(`${path}.new`, 'utf8') : 'none'
    seen.push(`${readFileSync(path, 'utf8')}, ${next} beside it`)
  })
  await replaceFile(path, 'new')
  t.same(seen, ['old, new beside it', 'new, none beside it'])
  t.equal(statSync(path).mode & 0o777, 0o600)
})

t.test('new folders are synced in their parents, existing ones are not', async (t) => {
  const root = t.testdir({})
  let syncs = 0
  await beforeEachSync(t, () => (syncs += 1))
  await makeFolders(join(root, 'a', 'b', 'c'), 0o700)
  t.equal(syncs, 3)
  await makeFolders(join(root, 'a', 'b', 'c'), 0o700)
  t.equal(syncs, 3)
  await writeFile(join(root, 'file'), '')
  await t.rejects(makeFolders(join(root, 'file', 'd'), 0o700), { code: 'ENOTDIR' })
  await t.rejects(makeFolders(join(root, 'file'), 0o700), { code: 'EEXIST' })
})

t.test('a copy is for this account alone, also of a file that others may read', async (t) => {
  const folder = t.testdir({})
  await writeFile(join(folder, 'one'), 'text', { mode: 0o644 })
  t.equal(await copyDurably(join(folder, 'one'), join(folder, 'two')), 4)
  t.equal(readFileSync(join(folder, 'two'), 'utf8'), 'text')
  t.equal(statSync(join(folder, 'two')).mode & 0o777, 0o600)
})
