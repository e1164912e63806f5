import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { ExchangeError } from '../../../../src/families/kit/http/open-stream.ts'
import { openExchange } from '../../../../src/families/kit/http/exchange.ts'
import { fromExchange } from '../../../../src/families/kit/http/refusals.ts'

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** What a server does with the nth request of a connection, counted from 1. */
type OnRequest = (socket: Socket, nth: number, connection: number) => void

/** A server that keeps connections, and resets them as `onRequest` says. */
async function startServer(t: Test, onRequest: OnRequest) {
  const heads: string[] = []
  let connections = 0
  const server = createServer((socket) => {
    const connection = (connections += 1)
    let nth = 0
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      heads.push(data.toString('latin1').split('\r\n')[0] ?? '')
      onRequest(socket, (nth += 1), connection)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const exchange = openExchange(`http://127.0.0.1:${port}`, 1)
  t.teardown(async () => {
    await exchange.close()
    server.close()
  })
  return { exchange, heads, connections: () => connections }
}

const post = {
  method: 'POST',
  path: '/calls',
  headers: { 'content-type': 'application/json' },
  body: '{}',
  timeoutMs: 30_000,
  signal: new AbortController().signal,
} as const
const stream = { ...post, firstByteTimeoutMs: 30_000, idleTimeoutMs: 30_000 }

/** A kept connection is reset as soon as a second request is sent on it. */
const resetsKept: OnRequest = (socket, nth) => {
  if (nth === 1) socket.write(ANSWER)
  else socket.resetAndDestroy()
}

/** The provider error of a request that fails. */
async function failureOf(sent: Promise<unknown>) {
  const error = await sent.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.ok(error instanceof ExchangeError)
  return fromExchange(error as ExchangeError)
}

t.test('a call on a kept connection that is reset is sent once more on a new one', async (t) => {
  const { exchange, heads, connections } = await startServer(t, resetsKept)
  for (let nth = 1; nth <= 3; nth += 1)
    t.match(await exchange.request({ ...post, repeatable: true }), { statusCode: 200, text: 'ok' })
  t.equal(connections(), 3)
  const opened = await exchange.open({ ...stream, repeatable: true })
  t.equal(opened.statusCode, 200)
  t.equal(String(await opened.read()), 'ok')
  t.ok(heads.length >= 4)
})

t.test('so is one whose kept connection the server ends', async (t) => {
  const { exchange } = await startServer(t, (socket, nth) => {
    if (nth === 1) socket.write(ANSWER)
    else socket.end()
  })
  for (let nth = 1; nth <= 2; nth += 1)
    t.match(await exchange.request({ ...post, repeatable: true }), { statusCode: 200 })
})

t.test('a creation is not sent again: whether it was accepted stays unknown', async (t) => {
  const { exchange, heads, connections } = await startServer(t, resetsKept)
  await exchange.request(post)
  const failure = await failureOf(exchange.request(post))
  t.match(failure, {
    kind: 'unavailable',
    acceptance: 'unknown',
    message: 'The connection to the model service broke off before it had answered.',
  })
  t.equal(connections(), 1)
  t.equal(heads.length, 2)
})

t.test('queries are repeated without being asked to', async (t) => {
  const { exchange, heads } = await startServer(t, resetsKept)
  const query = { ...post, method: 'GET', path: '/tasks/1' } as const
  const { body: _none, ...bare } = query
  await exchange.request(bare)
  t.match(await exchange.request(bare), { statusCode: 200 })
  t.same(new Set(heads), new Set(['GET /tasks/1 HTTP/1.1']))
})

t.test('a new connection that is reset is not tried again', async (t) => {
  const { exchange, heads } = await startServer(t, (socket) => socket.resetAndDestroy())
  for (const sent of [
    () => exchange.request({ ...post, repeatable: true }),
    () => exchange.open({ ...stream, repeatable: true }),
  ]) {
    heads.length = 0
    t.match(await failureOf(sent()), { acceptance: 'unknown', message: /broke off before/ })
    t.equal(heads.length, 1)
  }
})

t.test('the second connection is the last', async (t) => {
  const { exchange, heads } = await startServer(t, (socket, _nth, connection) => {
    if (connection === 1 && heads.length === 1) socket.write(ANSWER)
    else socket.resetAndDestroy()
  })
  await exchange.request({ ...post, repeatable: true })
  await failureOf(exchange.request({ ...post, repeatable: true }))
  t.equal(heads.length, 3)
})

t.test('a call whose answer had begun is not sent again', async (t) => {
  const { exchange, heads } = await startServer(t, (socket, nth) => {
    if (nth === 1) socket.write(ANSWER)
    else
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nhalf', () => {
        setImmediate(() => socket.resetAndDestroy())
      })
  })
  await exchange.request({ ...post, repeatable: true })
  await failureOf(exchange.request({ ...post, repeatable: true }))
  t.equal(heads.length, 2)
})

t.test('where no connection is made the service could not be reached', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const exchange = openExchange(`http://127.0.0.1:${port}`, 1)
  t.teardown(() => exchange.close())
  t.match(await failureOf(exchange.request({ ...post, repeatable: true })), {
    acceptance: 'ruled_out',
    message: 'The model service could not be reached.',
  })
})
