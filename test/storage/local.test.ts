import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import t from 'tap'
import { systemClock } from '../../src/kernel/clock.ts'
import { openLocalStore } from '../../src/storage/local/store.ts'
import { bare, bareEnvironment } from '../helpers/child.ts'
import { nodeArguments } from '../helpers/checkout.ts'

const root = await mkdtemp(join(tmpdir(), 'tollgate-local-'))
t.teardown(() => rm(root, { recursive: true, force: true }))

const options = { clock: systemClock, secret: 'a secret', baseUrl: () => undefined }

void t.test('a full disk refuses an object and leaves nothing of it', async (t) => {
  const directory = join(root, 'full')
  const child = nodeArguments(new URL('store-on-a-full-disk.ts', import.meta.url))
  // The shell counts in blocks of 512 or of 1024 bytes: the large object fits in neither.
  const script = 'ulimit -f 120; exec "$0" "$@"'
  const args = bare('sh', ['-c', script, process.execPath, ...child, directory])
  const { stdout } = await promisify(execFile)(...args, { env: bareEnvironment() })
  t.same(JSON.parse(stdout), { large: { trouble: 'full' }, small: 'kept' })
  t.same((await readdir(directory, { recursive: true })).sort(), [
    '.incoming',
    'files',
    'files/small',
  ])
})

void t.test(
  'what a process that died had not finished is gone at a start a day later',
  async (t) => {
    const directory = join(root, 'died')
    await mkdir(join(directory, '.incoming'), { recursive: true })
    for (const name of ['half', 'young']) {
      const path = join(directory, '.incoming', name)
      await writeFile(path, 'half of it')
      const hoursOld = name === 'half' ? 25 : 23
      const at = new Date(Date.now() - hoursOld * 3_600_000)
      await utimes(path, at, at)
    }
    const store = await openLocalStore({ ...options, directory })
    t.same(await readdir(join(directory, '.incoming')), ['young'], 'which may be another process’s')
    const hanging = store.put('files/a', new Readable({ read: () => undefined }))
    hanging.catch(() => undefined)
    const listed = []
    for await (const { key } of store.list('')) listed.push(key)
    t.same(listed, [], 'what is under way is in no list')
  },
)

void t.test(
  'a file stands in the list where its key does, beside folders of like names',
  async (t) => {
    const store = await openLocalStore({ ...options, directory: join(root, 'order') })
    const keys = ['a/b-c', 'a/b/x', 'a/b.x', 'a/b0', 'a-b/c', 'a.b/c']
    for (const key of keys) await store.put(key, Buffer.from('x'))
    const sorted = [...keys].sort()
    for (let from = -1; from < sorted.length; from += 1) {
      const listed = []
      for await (const { key } of store.list('', sorted[from])) listed.push(key)
      t.same(listed, sorted.slice(from + 1))
    }
  },
)

void t.test('objects of a gateway without an address cannot be reached from outside', async (t) => {
  const store = await openLocalStore({ ...options, directory: join(root, 'address') })
  t.equal(await store.publicUrl('files/a', Date.now()), undefined)
})

void t.test('a folder that cannot be used ends the start, and is named', async (t) => {
  const directory = join(root, 'taken')
  await writeFile(directory, 'a file')
  await t.rejects(openLocalStore({ ...options, directory }), new RegExp(directory))
})
