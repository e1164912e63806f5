import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t from 'tap'
import { systemClock } from '../../src/kernel/clock.ts'
import { openLocalStore } from '../../src/storage/local/store.ts'
import { bare, bareEnvironment } from '../helpers/child.ts'
import { type Dice, dice as diceOf } from '../faults/driver/random.ts'
import { nodeArguments } from '../helpers/checkout.ts'

const root = await mkdtemp(join(tmpdir(), 'tollgate-local-'))
t.teardown(() => rm(root, { recursive: true, force: true }))

const options = { clock: systemClock, secret: 'a secret', baseUrl: () => undefined }

void t.test('a full disk refuses an object and keeps no part of it', async (t) => {
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
    'files/small~1',
  ])
})

void t.test('unfinished files of a dead process are removed at a start a day later', async (t) => {
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
})

void t.test(
  'a file is listed at the place of its key, next to folders of similar names',
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

void t.test('an object of a gateway without an address has no public URL', async (t) => {
  const store = await openLocalStore({ ...options, directory: join(root, 'address') })
  t.equal(await store.publicUrl('files/a', Date.now()), undefined)
})

void t.test('an unusable folder ends the start, and is named', async (t) => {
  const directory = join(root, 'taken')
  await writeFile(directory, 'a file')
  await t.rejects(openLocalStore({ ...options, directory }), new RegExp(directory))
})

void t.test('an object is read as it was written, or its damage is named', async (t) => {
  const directory = join(root, 'damaged')
  const store = await openLocalStore({ ...options, directory })
  const dice = diceOf('objects')
  const read = async (key: string, firstByte: number): Promise<Buffer | undefined> => {
    const found = await store.open(key, { firstByte })
    return found && buffer(found.body)
  }
  const sizes = [0, 1, 65_535, 65_536, 65_537, 200_000]
  const outcomes = { same: 0, damaged: 0 }
  for (let round = 0; round < 200; round += 1) {
    const bytes = randomBytes(dice.pick(sizes))
    await store.put('files/one', bytes)
    const path = join(directory, 'files/one~1')
    const written = await readFile(path)
    await writeFile(path, harmed(written, dice))
    const firstByte = dice.integer(0, bytes.length)
    const outcome = await read('files/one', firstByte).catch((error: unknown) => error)
    if (outcome instanceof Buffer) {
      t.ok(outcome.equals(bytes.subarray(firstByte)), `round ${round}`)
      outcomes.same += 1
    } else {
      t.match(outcome, { code: 'storage_unavailable', details: { trouble: 'damaged' } })
      t.match((outcome as Error).cause, { message: /files\/one~1 is not as it was written/ })
      outcomes.damaged += 1
    }
  }
  t.ok(outcomes.same > 0 && outcomes.damaged > 100, JSON.stringify(outcomes))
  await store.put('files/two', randomBytes(70_000))
  await rename(join(directory, 'files/two~1'), join(directory, 'files/one~1'))
  const swapped = read('files/one', 0)
  t.match(await swapped.catch((error: unknown) => error), { details: { trouble: 'damaged' } })
})

/** One flipped bit, a part that is cut or added, or a block in the place of another one. */
function harmed(bytes: Buffer, dice: Dice): Buffer {
  const at = dice.integer(0, bytes.length - 1)
  const changed = Buffer.from(bytes)
  switch (dice.integer(0, 3)) {
    case 0:
      changed.writeUInt8(changed.readUInt8(at) ^ (1 << dice.integer(0, 7)), at)
      return changed
    case 1:
      return changed.subarray(0, at)
    case 2:
      return Buffer.concat([changed, randomBytes(dice.integer(1, 9))])
    default:
      changed.copyWithin(0, 65_536, 131_072)
      return changed
  }
}

void t.test('objects of an earlier release are read, listed, replaced and removed', async (t) => {
  const directory = join(root, 'earlier')
  const store = await openLocalStore({ ...options, directory })
  const all = async () => {
    const listed = []
    for await (const { key, sizeBytes } of store.list('files/')) listed.push([key, sizeBytes])
    return listed
  }
  await store.put('files/b', Buffer.from('with sums'))
  for (const key of ['files/a', 'files/c']) await writeFile(join(directory, key), 'without sums')
  t.same(await all(), [
    ['files/a', 12],
    ['files/b', 9],
    ['files/c', 12],
  ])
  t.same(await buffer((await store.open('files/a', { firstByte: 8 }))!.body), Buffer.from('sums'))
  await store.put('files/a', Buffer.from('new'))
  t.same(await buffer((await store.open('files/a'))!.body), Buffer.from('new'))
  t.same((await readdir(join(directory, 'files'))).sort(), ['a~1', 'b~1', 'c'])
  // A process that dies before it removes the earlier file leaves both.
  await writeFile(join(directory, 'files/a'), 'without sums')
  t.same(await buffer((await store.open('files/a'))!.body), Buffer.from('new'))
  t.same(await all(), [
    ['files/a', 3],
    ['files/b', 9],
    ['files/c', 12],
  ])
  for (const key of ['files/a', 'files/b', 'files/c']) await store.remove(key)
  t.same(await readdir(directory), ['.incoming'])
  t.same(await all(), [])
})
