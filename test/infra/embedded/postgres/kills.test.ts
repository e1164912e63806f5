import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t from 'tap'
import type { Test } from 'tap'
import { eventually } from '../../../helpers/eventually.ts'
import { nodeArguments } from '../../../helpers/checkout.ts'
import { folder, guardPid, isAlive, MAIN, postmasterPid, query, supervise } from './harness.ts'

const PARENT = nodeArguments(new URL('../supervisor-parent.ts', import.meta.url))

interface Gateway {
  readonly url: string
  readonly wrapper: number
  kill(): Promise<void>
}

/** A process that stands for the gateway, to be killed. */
async function gateway(t: Test, root: string): Promise<Gateway> {
  const parent = spawn(process.execPath, [...PARENT, MAIN.href, '--data', root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => parent.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
  const { url, childPid } = JSON.parse(line) as { url: string; childPid: number }
  return {
    url,
    wrapper: childPid,
    async kill() {
      const ended = once(parent, 'exit')
      parent.kill('SIGKILL')
      await ended
    },
  }
}

/** One cluster for all: making it is the slow part. */
const root = folder(t)

t.test('a killed gateway leaves no server, and the next start has the data', async (t) => {
  const first = await gateway(t, root)
  await query(first.url, 'create table kept1 as select 3 as n')
  const server = postmasterPid(root)
  await first.kill()
  // At once, while the old wrapper still ends its server.
  const { url } = await supervise(t, root).ready
  t.strictSame(await query(url, 'select n from kept1'), [{ n: 3 }])
  t.notOk(isAlive(first.wrapper))
  t.notOk(isAlive(server))
})

t.test('gateway and wrapper killed together leave no server', async (t) => {
  const first = await gateway(t, root)
  const server = postmasterPid(root)
  process.kill(first.wrapper, 'SIGKILL')
  await first.kill()
  await eventually('the end of the server', () => !isAlive(server))
  t.throws(() => postmasterPid(root), 'in order: its pid file is gone')
})

t.test('with only the server left, the next start ends it and goes on', async (t) => {
  const first = await gateway(t, root)
  await query(first.url, 'create table kept3 as select 4 as n')
  const server = postmasterPid(root)
  const guard = guardPid(first.wrapper)
  t.type(guard, 'number')
  process.kill(guard ?? 0, 'SIGKILL')
  process.kill(first.wrapper, 'SIGKILL')
  await first.kill()
  t.ok(isAlive(server), 'the orphan runs')
  const lines: string[] = []
  const { url } = await supervise(t, root, { onLine: (line) => lines.push(line) }).ready
  t.notOk(isAlive(server))
  t.strictSame(await query(url, 'select n from kept3'), [{ n: 4 }])
  t.match(lines.join('\n'), /ending the server a killed process left/)
})
