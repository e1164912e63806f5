import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { nodeArguments } from '../../helpers/checkout.ts'
import { call, create, query, sandboxFor, TASKS, until, video } from './client.ts'

const MAIN = nodeArguments(new URL('../../../infra/sandbox/main.ts', import.meta.url))

interface Started {
  readonly child: ChildProcess
  readonly url: string
  readonly lines: readonly string[]
}

/** The sandbox as a child process with an IPC channel, ready. */
async function start(t: Test, ...args: readonly string[]): Promise<Started> {
  const child = spawn(process.execPath, [...MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  const out = createInterface({ input: child.stdout! })
  out.on('line', (line) => lines.push(line))
  child.stderr!.resume()
  await until(
    () => lines.length,
    (count) => count > 0,
  )
  return { child, url: `http://127.0.0.1:${JSON.parse(lines[0]!).port}`, lines }
}

function temporary(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'sandbox-test-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function outputOf(
  t: Test,
  ...args: readonly string[]
): Promise<readonly [code: number | null, stderr: string, stdout: string]> {
  const child = spawn(process.execPath, [...MAIN, ...args])
  t.teardown(() => child.kill('SIGKILL'))
  let [stderr, stdout] = ['', '']
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  await once(child, 'close')
  return [child.exitCode, stderr, stdout]
}

void t.test(
  'exactly one line on stdout; SIGTERM and a closed channel stop it in order',
  async (t) => {
    const one = await start(t)
    const { port } = JSON.parse(one.lines[0]!)
    t.match(port, Number)
    t.strictSame(JSON.parse(one.lines[0]!), {
      event: 'ready',
      url: `http://127.0.0.1:${port}`,
      port,
    })
    await create(one.url, 'x')
    one.child.kill('SIGTERM')
    await once(one.child, 'exit')
    t.equal(one.child.exitCode, 0)
    t.equal(one.lines.length, 1)

    const two = await start(t)
    two.child.disconnect()
    await once(two.child, 'exit')
    t.equal(two.child.exitCode, 0)
  },
)

void t.test('a parent that is killed takes the sandbox with it', async (t) => {
  const script = `
    const { spawn } = require('node:child_process')
    const options = { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }
    const child = spawn(process.execPath, ${JSON.stringify(MAIN)}, options)
    child.stdout.pipe(process.stdout)
  `
  const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => parent.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
  const url = `http://127.0.0.1:${JSON.parse(line).port}`
  t.equal((await call(url, 'GET', '/__sandbox/health')).status, 200)
  parent.kill('SIGKILL')
  const answers = () =>
    call(url, 'GET', '/__sandbox/health').then(
      () => true,
      () => false,
    )
  t.equal(await until(answers, (answered) => !answered), false)
})

void t.test('every acknowledged task survives kill -9, on the same clock', async (t) => {
  const data = temporary(t)
  const first = await start(t, '--data', data, '--queued-ms', '600000')
  const ids = await Promise.all(
    Array.from({ length: 40 }, (_, i) => create(first.url, `[[client=c${i}]]`)),
  )
  const gone = ids[0]!
  await call(first.url, 'DELETE', `${TASKS}/${gone}`)
  const before = (await query(first.url, ids[1]!)).json
  await fetch(first.url + TASKS, {
    method: 'POST',
    headers: { authorization: 'Bearer k' },
    body: JSON.stringify({
      model: 'domestic-video-2-5',
      content: [{ type: 'text', text: '[[sandbox drop-after-accept]] [[client=lost]]' }],
    }),
  }).catch(() => undefined)
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')

  const second = await start(t, '--data', data, '--queued-ms', '600000')
  const { items } = (await call(second.url, 'GET', '/__sandbox/accepted')).json
  t.equal(items.length, 41)
  t.match(items[40], { client_marker: 'lost', seq: 41 })
  t.strictSame((await query(second.url, ids[1]!)).json, before)
  t.equal((await query(second.url, gone)).json.status, 'cancelled')
  await create(second.url, '[[client=next]]')
  const last = (await call(second.url, 'GET', '/__sandbox/accepted?after=41')).json.items
  t.match(last, [{ client_marker: 'next', seq: 42 }])
})

void t.test('a line torn by a kill is cut off; earlier damage is refused', async (t) => {
  const data = temporary(t)
  const file = join(data, 'accepted.jsonl')
  const one = await sandboxFor(t, { dataDirectory: data })
  const kept = await create(one.url, 'x')
  const lost = await create(one.url, 'x')
  await one.close()
  truncateSync(file, statSync(file).size - 20)

  const two = await sandboxFor(t, { dataDirectory: data })
  t.match(two.accepted(), [{ id: kept }])
  t.equal((await query(two.url, lost)).status, 404)
  const fresh = await create(two.url, 'x')
  await two.close()
  const three = await sandboxFor(t, { dataDirectory: data })
  t.strictSame(
    three.accepted().map((task) => task.id),
    [kept, fresh],
  )
  await three.close()
  appendFileSync(file, '{"t":\n{"t":"seq","next":9}\n')
  await t.rejects(sandboxFor(t, { dataDirectory: data }), /damaged before its end/)
})

void t.test('500 while the log cannot be written, without losing acknowledged tasks', async (t) => {
  const data = temporary(t)
  // A limit on file size stands for a full disk: the write fails half way.
  const survive = `--import=data:text/javascript,process.on('SIGXFSZ',()=>{})`
  const command = 'ulimit -f 8; exec "$0" "$@"'
  const child = spawn('bash', ['-c', command, process.execPath, survive, ...MAIN, '--data', data], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, TSX_DISABLE_CACHE: '1' },
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const url = `http://127.0.0.1:${JSON.parse(line).port}`
  const acknowledged: string[] = []
  const refusals: string[] = []
  for (let i = 0; i < 40; i += 1) {
    const reply = await call(url, 'POST', TASKS, video('x'))
    if (reply.status === 200) acknowledged.push(reply.json.id)
    else refusals.push(`${reply.status} ${reply.json.error.code}`)
  }
  t.ok(acknowledged.length > 0)
  t.ok(refusals.length > 0)
  t.strictSame(new Set(refusals), new Set(['500 InternalServiceError']))
  child.kill('SIGKILL')
  await once(child, 'exit')
  const again = await sandboxFor(t, { dataDirectory: data })
  t.strictSame(
    again.accepted().map((task) => task.id),
    acknowledged,
  )
})

void t.test('bounded: the oldest beyond the limit and the retention are forgotten', async (t) => {
  const data = temporary(t)
  const one = await sandboxFor(t, { dataDirectory: data, maxTasks: 3 })
  for (let i = 0; i < 20; i += 1) await create(one.url, 'x')
  t.strictSame(
    one.accepted().map((task) => task.seq),
    [18, 19, 20],
  )
  const lines = () => readFileSync(join(data, 'accepted.jsonl'), 'utf8').trim().split('\n').length
  t.ok(lines() <= 16, 'the file is rewritten as it grows')
  await one.close()
  const two = await sandboxFor(t, { dataDirectory: data, retentionMs: 1 })
  t.equal(two.accepted().length, 0)
  t.equal(lines(), 1)
})

void t.test('an invalid command line exits 2, a taken port 1, each with its reason', async (t) => {
  const [unknown, why] = await outputOf(t, '--no-such', '1')
  t.equal(unknown, 2)
  t.match(why, /unknown option --no-such/)
  const [scale, reason] = await outputOf(t, '--time-scale', 'fast')
  t.equal(scale, 2)
  t.match(reason, /--time-scale must be a number/)

  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  t.teardown(() => holder.close())
  const { port } = holder.address() as AddressInfo
  const [taken, text, said] = await outputOf(t, '--port', String(port))
  t.equal(taken, 1)
  const inUse = `port ${port} of 127.0.0.1 is in use by another program`
  const [last = ''] = text.trimEnd().split('\n').slice(-1)
  t.same(JSON.parse(last), { level: 60, name: 'sandbox', msg: inUse })
  t.same(JSON.parse(said), { event: 'failed', reason: inUse })
})
