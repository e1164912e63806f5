import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { create, query, sandboxFor, until, type Loose } from './client.ts'

interface Received {
  readonly url: string
  readonly host: string | undefined
  readonly body: Loose
}

/** A receiver of callbacks; `answer` decides what each one gets. */
async function receiver(
  t: Test,
  answer: (count: number, response: ServerResponse) => void = (_count, response) => response.end(),
): Promise<{ readonly origin: string; readonly received: Received[] }> {
  const received: Received[] = []
  const server = createServer((request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString())
      received.push({ url: request.url ?? '', host: request.headers.host, body })
      answer(received.length, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

const HOOK = { callback_url: 'https://hooks.example.test/ark?task=1' }
const mapTo = (origin: string) => new Map([['hooks.example.test', origin]])
const statuses = (received: readonly Received[]): string[] => received.map((one) => one.body.status)

void t.test('each change is posted to the mapped receiver, as a query answers it', async (t) => {
  const { origin, received } = await receiver(t)
  const sandbox = await sandboxFor(t, { timeScale: 0.02, callbackMap: mapTo(origin) })
  const id = await create(sandbox.url, 'x', { ...HOOK, safety_identifier: 's' })
  await until(
    () => received.length,
    (count) => count === 3,
  )
  t.strictSame(statuses(received), ['queued', 'running', 'succeeded'])
  t.match(received, [{ url: '/ark?task=1', host: 'hooks.example.test', body: { id } }])
  t.strictSame(received[2]?.body, (await query(sandbox.url, id)).json)
  await until(
    () => sandbox.accepted()[0]?.callbacks,
    (counts) => counts?.acknowledged === 3,
  )
  t.match(sandbox.accepted(), [{ callbacks: { attempts: 3, acknowledged: 3 } }])
})

void t.test(
  'an end that is not acknowledged is tried four times in all, other changes once',
  async (t) => {
    const { origin, received } = await receiver(t, (_count, response) => {
      response.statusCode = 500
      response.end()
    })
    const sandbox = await sandboxFor(t, { timeScale: 0.01, callbackMap: mapTo(origin) })
    await create(sandbox.url, '[[sandbox fail=InternalServiceError]]', HOOK)
    await until(
      () => received.length,
      (count) => count >= 6,
    )
    await new Promise((resolve) => setTimeout(resolve, 300))
    t.strictSame(statuses(received), ['queued', 'running', 'failed', 'failed', 'failed', 'failed'])
    t.match(sandbox.accepted(), [{ callbacks: { attempts: 6, acknowledged: 0 } }])
  },
)

void t.test('many deliveries waiting for a retry leave no listeners', async (t) => {
  const warned: string[] = []
  const warn = ({ name }: Error): void => void warned.push(name)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  const { origin, received } = await receiver(t, (_count, response) => {
    response.statusCode = 500
    response.end()
  })
  const sandbox = await sandboxFor(t, { timeScale: 0.01, callbackMap: mapTo(origin) })
  await Promise.all(
    Array.from({ length: 24 }, () =>
      create(sandbox.url, '[[sandbox fail=InternalServiceError]]', HOOK),
    ),
  )
  await until(
    () => received.length,
    (count) => count === 24 * 6,
  )
  t.same(warned, [])
})

void t.test('no answer within the time limit counts as not acknowledged', async (t) => {
  const { origin, received } = await receiver(t, (count, response) => {
    if (count !== 3) response.end()
  })
  const sandbox = await sandboxFor(t, {
    timeScale: 0.01,
    callbackTimeoutMs: 200,
    callbackMap: mapTo(origin),
  })
  await create(sandbox.url, 'x', HOOK)
  await until(
    () => received.length,
    (count) => count === 4,
  )
  t.strictSame(statuses(received), ['queued', 'running', 'succeeded', 'succeeded'])
})

void t.test('switches: duplicates, reordering, a storm', async (t) => {
  const { origin, received } = await receiver(t)
  const sandbox = await sandboxFor(t, { timeScale: 0.02, callbackMap: mapTo(origin) })
  await create(sandbox.url, '[[sandbox callback-duplicate]]', HOOK)
  await until(
    () => received.length,
    (count) => count === 6,
  )
  t.strictSame(statuses(received).sort(), [
    'queued',
    'queued',
    'running',
    'running',
    'succeeded',
    'succeeded',
  ])

  received.length = 0
  await create(sandbox.url, '[[sandbox callback-reorder]]', HOOK)
  await until(
    () => received.length,
    (count) => count === 3,
  )
  t.strictSame(statuses(received).sort(), ['queued', 'running', 'succeeded'])
  t.equal(statuses(received)[0], 'queued')
  t.equal(received.findLast((one) => one.body.status === 'running')?.body.content, undefined)

  received.length = 0
  await create(sandbox.url, '[[sandbox callback-storm=10 queued-ms=0 running-ms=0]]', HOOK)
  await until(
    () => received.length,
    (count) => count === 30,
  )
})

void t.test('a cancelled task posts no further callback', async (t) => {
  const { origin, received } = await receiver(t)
  const sandbox = await sandboxFor(t, { callbackMap: mapTo(origin) })
  const id = await create(sandbox.url, '[[sandbox queued-ms=60000 running-ms=0]]', HOOK)
  await until(
    () => received.length,
    (count) => count === 1,
  )
  await fetch(`${sandbox.url}/api/v3/contents/generations/tasks/${id}`, {
    method: 'DELETE',
    headers: { authorization: 'Bearer k' },
  })
  sandbox.advance(120_000)
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.strictSame(statuses(received), ['queued'])
})

void t.test('a moved clock triggers due callbacks', async (t) => {
  const { origin, received } = await receiver(t)
  const sandbox = await sandboxFor(t, {
    queuedMs: 3_600_000,
    runningMs: 3_600_000,
    callbackMap: mapTo(origin),
  })
  await create(sandbox.url, 'x', HOOK)
  await until(
    () => received.length,
    (count) => count === 1,
  )
  sandbox.advance(3_600_000)
  await until(
    () => received.length,
    (count) => count === 2,
  )
  sandbox.advance(3_600_000)
  await until(
    () => received.length,
    (count) => count === 3,
  )
  t.strictSame(statuses(received), ['queued', 'running', 'succeeded'])
})

void t.test('an unacknowledged end is posted again after a restart, and only then', async (t) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'sandbox-callbacks-'))
  t.teardown(() => rmSync(dataDirectory, { recursive: true, force: true }))
  const deaf = await receiver(t, (_count, response) => {
    response.statusCode = 503
    response.end()
  })
  const options = { dataDirectory, timeScale: 0.01 }
  const one = await sandboxFor(t, { ...options, callbackMap: mapTo(deaf.origin) })
  await create(one.url, 'x', HOOK)
  await until(
    () => deaf.received.length,
    (count) => count >= 3,
  )
  await one.close()

  const { origin, received } = await receiver(t)
  const two = await sandboxFor(t, { ...options, callbackMap: mapTo(origin) })
  await until(
    () => two.accepted()[0]?.callbacks.acknowledged,
    (count) => count === 1,
  )
  t.strictSame(statuses(received), ['succeeded'])
  await two.close()
  const three = await sandboxFor(t, { ...options, callbackMap: mapTo(origin) })
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(received.length, 1)
  t.match(three.accepted(), [{ callbacks: { attempts: 0 } }])
})

void t.test('a callback goes only to a public address that was checked', async (t) => {
  const { origin, received } = await receiver(t)
  const { port } = new URL(origin)
  let asked = 0
  // Public when the caller's gateway looked, and inside when the callback is due.
  const resolveHost = () => Promise.resolve([(asked += 1) === 1 ? '8.8.8.8' : '127.0.0.1'])
  await resolveHost()
  const sandbox = await sandboxFor(t, { timeScale: 0.001, resolveHost })
  for (const host of ['rebinds.example.test', '127.0.0.1', '[::1]', '168.63.129.16'])
    await create(sandbox.url, 'x', { callback_url: `http://${host}:${port}/inside` })
  await until(
    () => sandbox.accepted(),
    (all) => all.length === 4 && all.every(({ callbacks }) => callbacks.attempts >= 6),
  )
  t.same(received, [])
  t.ok(sandbox.accepted().every(({ callbacks }) => callbacks.acknowledged === 0))
  t.ok(asked > 1)
})
