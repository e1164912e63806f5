import { once } from 'node:events'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openSocketFolder } from '../../../infra/embedded/socket-folder.ts'

const NAME = 'log'

function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'sockets-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A folder whose path is too long for a socket in it. */
function deepFolder(t: Test): string {
  const path = join(folder(t), 'deep-'.repeat(20), 'deeper-'.repeat(20))
  mkdirSync(path, { recursive: true })
  return path
}

async function isUsable(path: string): Promise<boolean> {
  const server = createServer((socket) => socket.end())
  await once(server.listen(join(path, NAME)), 'listening')
  await once(connect(join(path, NAME)), 'connect')
  const closed = once(server, 'close')
  server.close()
  await closed
  return true
}

const modeOf = (path: string): number => lstatSync(path).mode & 0o777

t.test('the folder is created private; an existing one is emptied and made private', async (t) => {
  const root = folder(t)
  const first = await openSocketFolder(root, NAME)
  t.equal(first, join(root, 'socket'))
  t.equal(modeOf(first), 0o700)
  t.ok(await isUsable(first))
  chmodSync(first, 0o777)
  writeFileSync(join(first, NAME), 'what a killed process left')
  t.equal(await openSocketFolder(root, NAME), first)
  t.equal(modeOf(first), 0o700)
  t.same(readdirSync(first), [])
})

t.test('a path that is too long is replaced by a short one, kept across restarts', async (t) => {
  const root = deepFolder(t)
  const first = await openSocketFolder(root, NAME)
  t.teardown(() => rmSync(first, { recursive: true, force: true }))
  t.not(first, join(root, 'socket'))
  t.equal(readlinkSync(join(root, 'socket')), first)
  t.equal(modeOf(first), 0o700)
  t.ok(await isUsable(first))
  t.equal(await openSocketFolder(root, NAME), first)
  rmSync(first, { recursive: true })
  t.equal(await openSocketFolder(root, NAME), first, 'also where it was cleaned away')
  t.equal(modeOf(first), 0o700)
})

t.test('a replacement folder that is writable by others, or a link, is not used', async (t) => {
  const root = deepFolder(t)
  const first = await openSocketFolder(root, NAME)
  chmodSync(first, 0o777)
  const second = await openSocketFolder(root, NAME)
  t.not(second, first)
  t.equal(modeOf(second), 0o700)
  rmSync(first, { recursive: true })
  rmSync(second, { recursive: true })
  const foreign = folder(t)
  writeFileSync(join(foreign, 'kept'), '')
  rmSync(join(root, 'socket'), { force: true })
  const link = join(folder(t), 'link')
  symlinkSync(foreign, link)
  symlinkSync(link, join(root, 'socket'))
  const third = await openSocketFolder(root, NAME)
  t.teardown(() => rmSync(third, { recursive: true, force: true }))
  t.notOk([foreign, link].includes(third))
  t.same(readdirSync(foreign), ['kept'])
})
