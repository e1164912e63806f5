import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { eventually } from '../../../helpers/eventually.ts'
import { nodeArguments } from '../../../helpers/checkout.ts'
import {
  BOUND_MS,
  folder,
  guardPid,
  isAlive,
  isInUse,
  postmasterPid,
  postmastersOn,
  query,
  supervise,
} from './harness.ts'

const GATEWAY = nodeArguments(new URL('gateway.ts', import.meta.url))

interface Gateway {
  readonly pid: number
  readonly process: ChildProcess
  /** The address, once it serves. */
  readonly url: Promise<string>
  readonly ended: Promise<unknown>
  kill(): Promise<void>
}

/** A process that stands for the gateway, to be killed; it does so itself once it has started `starts` programs. */
function gateway(t: Test, root: string, starts: readonly number[] = []): Gateway {
  const parent = spawn(process.execPath, [...GATEWAY, root, ...starts.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => parent.kill('SIGKILL'))
  const ended = once(parent, 'exit')
  return {
    pid: parent.pid ?? 0,
    process: parent,
    url: once(createInterface({ input: parent.stdout }), 'line').then(([line]) => String(line)),
    ended,
    async kill() {
      parent.kill('SIGKILL')
      await ended
    },
  }
}

/** One cluster for all: making it is the slow part. */
const root = folder(t)

function initdbIsAtWork(): boolean {
  return readdirSync(root).some(
    (name) => name.startsWith('init-') && existsSync(join(root, name, 'cluster', 'PG_VERSION')),
  )
}

t.test('a gateway killed while it makes the cluster leaves nothing that counts', async (t) => {
  const first = gateway(t, root)
  await eventually('initdb at work', initdbIsAtWork)
  await first.kill()
  t.notOk(existsSync(join(root, 'cluster')))
  const next = supervise(t, root)
  const { url } = await next.ready
  t.strictSame(await query(url, 'select 1 as n'), [{ n: 1 }])
  t.strictSame(
    readdirSync(root).filter((name) => name.startsWith('init-')),
    [],
  )
  await next.stop()
})

t.test('a gateway killed while it starts the server leaves none', async (t) => {
  const first = gateway(t, root)
  await eventually('a server that begins', () => postmastersOn(root).length > 0)
  await first.kill()
  await eventually('the end of the server', () => postmastersOn(root).length === 0)
})

t.test('a gateway killed between its server and the guard of it leaves neither', async (t) => {
  for (const starts of [1, 2]) {
    await gateway(t, root, [starts]).ended
    await eventually('the end of all that it started', () => !isInUse(root))
  }
  t.throws(() => postmasterPid(root), 'no server has begun')
})

t.test('a killed gateway leaves no server, and the next start has the data', async (t) => {
  const first = gateway(t, root)
  await query(await first.url, 'create table kept1 as select 3 as n')
  const server = postmasterPid(root)
  await first.kill()
  // At once, while the guard still ends its server.
  const next = supervise(t, root)
  t.strictSame(await query((await next.ready).url, 'select n from kept1'), [{ n: 3 }])
  t.notOk(isAlive(server))
  await next.stop()
})

t.test('with no next start, the server ends in order', async (t) => {
  const first = gateway(t, root)
  await first.url
  const server = postmasterPid(root)
  await first.kill()
  await eventually('the end of the server', () => !isAlive(server))
  t.throws(() => postmasterPid(root), 'in order: its pid file is gone')
})

t.test('a gateway killed while it stops the server leaves none', async (t) => {
  const first = gateway(t, root)
  await first.url
  const server = postmasterPid(root)
  first.process.kill('SIGTERM')
  await first.kill()
  await eventually('the end of the server', () => !isAlive(server))
})

t.test(
  'a server whose session hangs is ended too, and the next start ends the session',
  async (t) => {
    const first = gateway(t, root)
    const client = new Client({ connectionString: await first.url })
    client.on('error', () => undefined)
    await client.connect()
    const { rows } = await client.query<{ readonly pid: number }>('select pg_backend_pid() as pid')
    const session = rows[0]?.pid ?? 0
    const server = postmasterPid(root)
    process.kill(session, 'SIGSTOP')
    await first.kill()
    // The fast shutdown waits for the session until its bound.
    await eventually('the end of the server', () => !isAlive(server), BOUND_MS)
    const next = supervise(t, root)
    await next.ready
    t.notOk(isAlive(session))
    await next.stop()
  },
)

t.test('with only the server left, the next start ends it and goes on', async (t) => {
  const first = gateway(t, root)
  await query(await first.url, 'create table kept3 as select 4 as n')
  const server = postmasterPid(root)
  const guard = guardPid(first.pid)
  t.type(guard, 'number')
  process.kill(guard ?? 0, 'SIGKILL')
  await first.kill()
  t.ok(isAlive(server), 'the orphan runs')
  const lines: string[] = []
  const { url } = await supervise(t, root, { log: (_level, line) => lines.push(line) }).ready
  t.notOk(isAlive(server))
  t.strictSame(await query(url, 'select n from kept3'), [{ n: 4 }])
  t.match(lines.join('\n'), /ending the server a killed process left/)
})
