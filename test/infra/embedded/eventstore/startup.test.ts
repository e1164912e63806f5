import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, stat, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import t, { type Test } from 'tap'
import { openClient } from '../../../../src/eventlog/log/connection.ts'
import { Database, FORMAT_VERSION } from '../../../../infra/embedded/eventstore/database.ts'
import { eventKey, FORMAT_KEY } from '../../../../infra/embedded/eventstore/keys.ts'
import { ServerLog } from '../../../../infra/embedded/eventstore/log.ts'
import { OpenError } from '../../../../infra/embedded/eventstore/types.ts'
import { StartFailure, startEmbeddedServer } from '../../../contract/embedded-server.ts'
import { numbered, numbersIn, refused } from '../../../contract/setup.ts'
import { nodeArguments } from '../../../helpers/checkout.ts'

const ENTRY = nodeArguments(
  new URL('../../../../infra/embedded/eventstore/main.ts', import.meta.url),
)

async function temporaryDirectory(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'tollgate-startup-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}

function lastLog(failure: StartFailure): { event?: unknown; reason?: unknown } {
  return failure.logs.at(-1) ?? {}
}

async function putRaw(dir: string, key: Buffer, value: string): Promise<void> {
  const level = new ClassicLevel<Buffer>(join(dir, 'db'), { keyEncoding: 'buffer' })
  await level.put(key, value)
  await level.close()
}

t.test('a data directory in use is named, and its owner goes on', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const owner = await startEmbeddedServer({ dataDir })
  t.teardown(() => owner.stop())
  const failure = await refused(t, startEmbeddedServer({ dataDir }), StartFailure)
  t.equal(failure.exitCode, 1)
  t.match(lastLog(failure), { event: 'locked', reason: /in use by another process/ })
  const client = openClient(owner.url)
  t.teardown(() => client.dispose())
  await client.appendToStream('owner', numbered(1))
  t.same(await numbersIn(client, 'owner'), [1])
})

t.test('the socket is in a private folder, also where an open one was left', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const folder = join(dataDir, 'socket')
  await mkdir(folder)
  await chmod(folder, 0o777)
  await writeFile(join(folder, 'log'), 'left there')
  const server = await startEmbeddedServer({ dataDir })
  t.teardown(() => server.stop())
  t.equal(server.url, `unix:${folder}/log`)
  t.equal((await stat(folder)).mode & 0o777, 0o700)
  const client = openClient(server.url)
  t.teardown(() => client.dispose())
  await client.appendToStream('closed', numbered(1))
  t.same(await numbersIn(client, 'closed'), [1])
})

t.test('a predecessor that is closing the log is waited for', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const closing = await ServerLog.open(dataDir)
  setTimeout(() => void closing.close(), 1_000)
  const server = await startEmbeddedServer({ dataDir })
  t.teardown(() => server.stop())
  const client = openClient(server.url)
  t.teardown(() => client.dispose())
  await client.appendToStream('successor', numbered(1))
  t.same(await numbersIn(client, 'successor'), [1])
})

t.test('a data directory of a newer version is named and unchanged', async (t) => {
  const dataDir = await temporaryDirectory(t)
  await putRaw(dataDir, FORMAT_KEY, String(FORMAT_VERSION + 1))
  const failure = await refused(t, startEmbeddedServer({ dataDir }), StartFailure)
  t.equal(failure.exitCode, 1)
  t.match(lastLog(failure), { event: 'newer_format', reason: /written by a newer version/ })
  const level = new ClassicLevel<Buffer>(join(dataDir, 'db'), { keyEncoding: 'buffer' })
  t.equal(await level.get(FORMAT_KEY), String(FORMAT_VERSION + 1))
  await level.close()
})

t.test('a foreign database is refused unchanged', async (t) => {
  const dataDir = await temporaryDirectory(t)
  await putRaw(dataDir, Buffer.from('zebra'), 'stripes')
  const failure = await refused(t, startEmbeddedServer({ dataDir }), StartFailure)
  t.match(lastLog(failure), { event: 'corrupt', reason: /unknown kind/ })
})

/** A log of three events in one stream, closed. */
async function smallLog(t: Test): Promise<string> {
  const dir = await temporaryDirectory(t)
  const log = await ServerLog.open(dir)
  const event = { type: 'T', isJson: true, data: Buffer.from('{}'), metadata: Buffer.alloc(0) }
  await log.submit({
    kind: 'append',
    stream: 'damaged',
    expected: { kind: 'any' },
    events: [1, 2, 3].map((n) => ({ ...event, id: `00000000-0000-4000-8000-00000000000${n}` })),
    sizeBytes: 6,
    isAbandoned: () => false,
  })
  await log.close()
  return dir
}

t.test('an index that disagrees with the log is refused', async (t) => {
  const dir = await smallLog(t)
  const database = await Database.open(dir)
  const stored = await database.read((level) => level.get(eventKey(1)))
  if (stored === undefined) return t.fail('the event is there')
  stored.writeDoubleBE(4, 0)
  await database.write([{ type: 'put', key: eventKey(4), value: stored }])
  await database.close()
  const error = await refused(t, ServerLog.open(dir), OpenError)
  t.match(error, { code: 'corrupt', message: /event 4 is not where/ })
})

t.test('a log from whose middle an event is missing is refused', async (t) => {
  const dir = await smallLog(t)
  const level = new ClassicLevel<Buffer>(join(dir, 'db'), { keyEncoding: 'buffer' })
  await level.del(eventKey(2))
  await level.close()
  const error = await refused(t, ServerLog.open(dir), OpenError)
  t.match(error, { code: 'corrupt', message: /between events 1 and 3/ })
})

t.test('a path that cannot hold data is named', async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'file')
  await writeFile(dataDir, 'not a directory')
  const failure = await refused(t, startEmbeddedServer({ dataDir }), StartFailure)
  t.equal(failure.exitCode, 1)
  t.match(lastLog(failure), { event: 'unusable', reason: /cannot/ })
})

t.test('a port that is taken is named', async (t) => {
  const squatter = createServer().listen(0, '127.0.0.1')
  await once(squatter, 'listening')
  t.teardown(() => squatter.close())
  const address = squatter.address()
  if (address === null || typeof address === 'string') return t.fail('a port is taken')
  const dataDir = await temporaryDirectory(t)
  const failure = await refused(
    t,
    startEmbeddedServer({ dataDir, port: address.port }),
    StartFailure,
  )
  t.equal(failure.exitCode, 1)
  t.match(lastLog(failure), { event: 'start_failed', reason: new RegExp(String(address.port)) })
  t.ok((await readdir(dataDir)).length > 0)
  const later = await startEmbeddedServer({ dataDir })
  t.equal(await later.stop(), 0, 'the directory was released')
})

t.test('invalid arguments are named', async (t) => {
  for (const args of [[], ['--data', '/tmp/x', '--port', 'http'], ['--dta', '/tmp/x']]) {
    const child = spawn(process.execPath, [...ENTRY, ...args], { stdio: 'pipe' })
    const [code] = (await once(child, 'exit')) as [number]
    t.equal(code, 1)
  }
})

t.test('the server stops in order when its parent is gone', async (t) => {
  const server = await startEmbeddedServer({ dataDir: await temporaryDirectory(t) })
  const exited = once(server.process, 'exit')
  server.process.disconnect()
  t.equal((await exited)[0], 0)
  t.match(server.logs.at(-1), { event: 'stopped' })
})

t.test('the server stops in order when its stdin ends, if requested', async (t) => {
  const args = [...ENTRY, '--data', await temporaryDirectory(t), '--stop-on-stdin-end']
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  const exited = once(child, 'exit')
  child.stdin.end()
  t.equal((await exited)[0], 0)
})
