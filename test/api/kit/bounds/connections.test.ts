import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { readyOperations } from '../../support/operations.ts'
import { startApp, tasksPath, type Replaced } from '../../support/app.ts'

const BOUNDS = { all: 6, perAddress: 4 }

async function listen(t: Test, deps: Replaced = {}) {
  const metrics = new Registry()
  const { app } = await startApp({ metrics, ...deps })
  await app.listen({ port: 0, host: '0.0.0.0' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const sockets: Socket[] = []
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  const open = (localAddress = '127.0.0.1'): Socket => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => undefined)
    sockets.push(socket)
    return socket
  }
  /** What the caller gets for one request on a connection of its own. */
  const ask = async (from?: string, path = '/healthz'): Promise<string> => {
    const socket = open(from)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    return text(socket)
  }
  const refusals = async (reason: string): Promise<number> => {
    const values = (await metrics.getMetricsAsJSON()).find(
      ({ name }) => name === 'tollgate_http_connections_refused_total',
    )?.values
    return values?.find(({ labels }) => labels['reason'] === reason)?.value ?? 0
  }
  return { app, metrics, open, ask, refusals }
}

async function connected(sockets: readonly Socket[]): Promise<void> {
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
}

const times = <Made>(count: number, make: () => Made): readonly Made[] =>
  Array.from({ length: count }, make)

void t.test('503 for one address that has too many connections, and not for another', async (t) => {
  const { open, ask, refusals } = await listen(t, { limits: { connections: BOUNDS } })
  const held = times(BOUNDS.perAddress, () => open())
  await connected(held)
  const refused = await ask()
  t.match(refused, /^HTTP\/1\.1 503 /)
  t.match(refused, /retry-after: 1\r\n[\s\S]*x-request-id: req_/)
  t.match(refused, /"code":"overloaded","message":"Too many connections; nothing was started"/)
  t.match(await ask('127.0.0.2'), /^HTTP\/1\.1 200 /)
  t.equal(await refusals('address'), 1)
  held[0]?.destroy()
  let again = ''
  for (let tries = 0; !again.includes(' 200 ') && tries < 100; tries += 1) again = await ask()
  t.match(again, /^HTTP\/1\.1 200 /, 'a closed connection makes room')
})

void t.test('503 for all once the port is full; the operations port answers', async (t) => {
  const { open, ask, refusals, metrics } = await listen(t, {
    limits: { connections: BOUNDS },
    operationsElsewhere: true,
  })
  const operations = await readyOperations({ metrics })
  await operations.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => operations.close())
  await connected([
    ...times(BOUNDS.perAddress, () => open()),
    ...times(BOUNDS.all - BOUNDS.perAddress, () => open('127.0.0.2')),
  ])
  t.match(await ask('127.0.0.3'), /^HTTP\/1\.1 503 /)
  t.equal(await refusals('all'), 1)
  const { port } = operations.server.address() as AddressInfo
  t.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
  const scraped = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  t.match(scraped, /^tollgate_http_connections 6$/m)
  t.match(scraped, /^tollgate_http_connections_limit 6$/m)
})

void t.test('a refused request is not run, whether sent alone or pipelined', async (t) => {
  const { app, open } = await listen(t, { limits: { connections: { all: 1, perAddress: 1 } } })
  await connected([open()])
  let requests = 0
  app.server.on('request', () => (requests += 1))
  const answers = times(80, async () => {
    const socket = open()
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    return text(socket).catch(() => '')
  })
  const shown = (await Promise.all(answers)).filter((answer) => answer !== '')
  t.ok(shown.length > 0)
  for (const answer of shown) t.match(answer, /^HTTP\/1\.1 503 /)
  t.equal(requests, 0)
})

void t.test('connections through a trusted proxy count as those of many callers', async (t) => {
  const { open, ask } = await listen(t, {
    limits: { connections: BOUNDS },
    trustedProxies: ['127.0.0.0/30'],
  })
  await connected(times(BOUNDS.all - 1, () => open()))
  t.match(await ask(), /^HTTP\/1\.1 200 /)
})

void t.test('a connection that sends no byte is closed; a used one stays open', async (t) => {
  const { open, ask, refusals } = await listen(t, { limits: { firstByteTimeoutMs: 200 } })
  const silent = open()
  const used = open()
  await connected([silent, used])
  used.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(used, 'data')
  t.equal(await text(silent), '', 'without an answer: it asked for nothing')
  t.equal(await refusals('silent'), 1)
  used.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  t.match(String((await once(used, 'data'))[0]), /^HTTP\/1\.1 200 /)
  t.match(await ask(), /^HTTP\/1\.1 200 /)
})

void t.test('408 for headers that do not come to an end', async (t) => {
  const { open } = await listen(t, { limits: { headersTimeoutMs: 200, requestTimeoutMs: 2_000 } })
  const slow = open()
  slow.write(`GET ${tasksPath} HTTP/1.1\r\nHost: x\r\nX-Slow: `)
  t.match(await text(slow), /^HTTP\/1\.1 408 /)
})

/** What arrives until the other side ends the connection, with a reset or without. */
async function untilReset(socket: Socket): Promise<string> {
  let received = ''
  try {
    for await (const chunk of socket) received += String(chunk)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ECONNRESET')) throw error
  }
  return received
}

void t.test(
  'a body that no handler reads ends its connection a while after the answer',
  async (t) => {
    const { app, open, refusals } = await listen(t, { limits: { unreadTimeoutMs: 200 } })
    // It comes on no connection, and is none of those that are ended.
    t.equal((await app.inject('/healthz')).statusCode, 200)
    for (const line of ['POST /v1/nope', `POST ${tasksPath}`, 'GET /v1/models']) {
      const socket = open()
      socket.write(`${line} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n`)
      const sending = setInterval(() => socket.write('x'), 20)
      t.match(await untilReset(socket), /^HTTP\/1\.1 4\d\d /, line)
      clearInterval(sending)
    }
    t.equal(await refusals('unread'), 3)
  },
)

const statusesOf = (answers: string): readonly (string | undefined)[] =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)

void t.test('503 for the 17th request of a connection that waits for its answer', async (t) => {
  const { app, open, ask, refusals } = await listen(t)
  let made = 0
  app.server.prependListener('request', () => (made += 1))
  for (const [method, path, status] of [
    ['GET', '/v1/none', '404'],
    ['PUT', '/v1/models', '405'],
    ['GET', '/v1/models', '401'],
  ] as const) {
    made = 0
    const socket = open()
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(1_500))
    const answers = await text(socket)
    t.same(statusesOf(answers), [...times(16, () => status), '503'])
    const [, last = ''] = answers.split('HTTP/1.1 503')
    t.match(last, /connection: close\r\n/)
    t.match(JSON.parse(last.slice(last.indexOf('{'))), { error: { code: 'overloaded' } })
    t.equal(made, 17, 'the rest of the packet is not made into requests')
  }
  t.equal(await refusals('pipelined'), 3)
  t.match(await ask(), /^HTTP\/1\.1 200 /, 'other connections go on')
})

void t.test('16 pipelined requests are answered, again and again', async (t) => {
  const { open, refusals } = await listen(t)
  const socket = open()
  let answers = ''
  socket.on('data', (data: Buffer) => (answers += data.toString('latin1')))
  for (let round = 1; round <= 3; round += 1) {
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(16))
    while (statusesOf(answers).length < round * 16) await once(socket, 'data')
  }
  t.same(
    statusesOf(answers),
    times(48, () => '200'),
  )
  t.equal(await refusals('pipelined'), 0)
})

void t.test(
  'a switch of protocols behind a refused request does not take its answers',
  async (t) => {
    const { open } = await listen(t)
    for (const further of [
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
      'no HTTP at all\r\n\r\n',
    ]) {
      const socket = open()
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(17) + further)
      t.same(statusesOf(await text(socket)), [...times(16, () => '200'), '503'], further)
    }
  },
)
