import { connect, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { useConnections } from '../../../../src/api/kit/bounds/connections.ts'
import { drain, useLeaving } from '../../../../src/api/kit/bounds/drain.ts'
import { monotonicClock } from '../../../../src/kernel/clock.ts'

/** Longer than a test file may take: what waits for a bound fails. */
const BOUND_MS = 3_600_000
const AT_ONCE = { boundMs: BOUND_MS, unusedMs: 0 }

function followConnections(app: FastifyInstance): void {
  useConnections(app, {
    bounds: { all: 100, perAddress: 100 },
    firstByteTimeoutMs: BOUND_MS,
    unreadTimeoutMs: BOUND_MS,
    trustedProxies: [],
    refusal: () => '',
    refusePipelined: (_request, answer) => void answer.destroy(),
    metrics: undefined,
  })
}

async function start(handler: () => Promise<unknown>): Promise<FastifyInstance> {
  const app = Fastify({
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    keepAliveTimeout: 60_000,
  })
  followConnections(app)
  app.get('/', handler)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app
}

async function open(app: FastifyInstance): Promise<Socket> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

void t.test('an idle connection that sent no request does not delay the shutdown', async (t) => {
  const app = await start(async () => Promise.resolve('ok'))
  const socket = await open(app)
  const closed = once(socket, 'close')
  await drain(app, AT_ONCE)
  await closed
  t.ok(socket.destroyed)
})

void t.test('a request that follows its connection late is answered', async (t) => {
  const app = await start(async () => Promise.resolve('answered'))
  const socket = await open(app)
  // The time in which a request may follow stands still, however busy the machine is.
  const clock = t.capture(monotonicClock, 'nowMs', () => 0)
  const draining = drain(app, AT_ONCE)
  await sleep(200)
  const answer = once(socket, 'data')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  t.match(String((await answer)[0]), /^HTTP\/1\.1 200[\s\S]*answered$/)
  clock.restore()
  await draining
})

/** A handler that answers when the test lets it. */
function pending() {
  let answer: (text: string) => void = () => undefined
  let begun: () => void = () => undefined
  const whenBegun = new Promise<void>((resolve) => (begun = resolve))
  const text = new Promise<string>((resolve) => (answer = resolve))
  const handler = async (): Promise<string> => {
    begun()
    return text
  }
  return { handler, whenBegun, answer: (text: string) => answer(text) }
}

void t.test('a request in flight is answered before its connection is closed', async (t) => {
  const { handler, whenBegun, answer } = pending()
  const app = await start(handler)
  const socket = await open(app)
  let text = ''
  socket.on('data', (data: Buffer) => (text += data.toString()))
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await whenBegun
  const closed = once(socket, 'close')
  const draining = drain(app, AT_ONCE)
  answer('late answer')
  await draining
  await closed
  t.match(text, /late answer$/)
})

void t.test('a request that is not answered within the bound is cut off', async (t) => {
  const { handler, whenBegun } = pending()
  const app = await start(handler)
  const socket = await open(app)
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await whenBegun
  const closed = once(socket, 'close')
  await drain(app, { boundMs: 200, unusedMs: 0 })
  await closed
  t.equal(socket.bytesRead, 0, 'no answer was made up')
})

void t.test('while leaving, an answer ends its connection and new ones are accepted', async (t) => {
  let leaving = false
  const { handler, whenBegun, answer } = pending()
  const app = Fastify({ keepAliveTimeout: 60_000 })
  followConnections(app)
  useLeaving(app, () => leaving)
  app.get('/', async () => Promise.resolve('ok'))
  app.get('/slow', handler)
  let endStream = (): void => undefined
  app.get('/stream', (_request, reply) => {
    void reply.hijack()
    reply.raw.write('begun')
    endStream = () => void reply.raw.end('ended')
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => drain(app, AT_ONCE))
  const ask = (socket: Socket, path: string): void =>
    void socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
  const asked = await open(app)
  ask(asked, '/slow')
  await whenBegun
  const stream = await open(app)
  const streamed = once(stream, 'data')
  ask(stream, '/stream')
  const kept = await open(app)
  ask(kept, '/')
  t.match(String((await once(kept, 'data'))[0]), /keep-alive[\s\S]*ok$/)
  leaving = true

  for (const socket of [kept, await open(app)]) {
    const closed = once(socket, 'close')
    ask(socket, '/')
    t.match(String((await once(socket, 'data'))[0]), /connection: close[\s\S]*ok$/i)
    await closed
  }
  const closed = once(asked, 'close')
  answer('what was asked before')
  t.match(String((await once(asked, 'data'))[0]), /connection: close[\s\S]*what was asked before$/i)
  await closed
  t.match(String((await streamed)[0]), /keep-alive[\s\S]*begun/i)
  // As a proxy does that has another request waiting for the connection.
  stream.once('data', () => ask(stream, '/'))
  const ended = once(stream, 'close')
  let after = ''
  stream.on('data', (data: Buffer) => (after += data.toString()))
  endStream()
  await ended
  t.match(after, /ended[\s\S]*connection: close[\s\S]*ok$/i, 'what follows a stream is answered')
})

void t.test('a kept connection closes once it was unused for the time of a proxy', async (t) => {
  const UNUSED_MS = 5_000
  let nowMs = 0
  t.capture(monotonicClock, 'nowMs', () => nowMs)
  const app = await start(async () => Promise.resolve('ok'))
  const ask = async (socket: Socket): Promise<string> => {
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    return String((await once(socket, 'data'))[0])
  }
  const [early, late, asked] = [await open(app), await open(app), await open(app)]
  await ask(early)
  nowMs = 1
  for (const socket of [late, asked]) await ask(socket)
  nowMs = UNUSED_MS
  const closed = once(early, 'close')
  const draining = drain(app, { boundMs: BOUND_MS, unusedMs: UNUSED_MS })
  await closed
  const answered = once(asked, 'close')
  t.match(await ask(asked), /connection: close[\s\S]*ok$/i, 'its proxy used it once more')
  await answered
  t.notOk(late.closed)
  const left = once(late, 'close')
  nowMs += 1
  await left
  await draining
})

void t.test('connections made just before the end are accepted and answered', async (t) => {
  const app = await start(async () => Promise.resolve('ok'))
  const { port } = app.server.address() as AddressInfo
  // Made by the system alone: this process takes none of them before it begins to leave.
  const made = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'))
  const answers = made.map(async (socket) => {
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    return String((await once(socket, 'data'))[0])
  })
  await drain(app, AT_ONCE)
  for (const text of await Promise.all(answers)) t.match(text, /^HTTP\/1\.1 200 OK[\s\S]*ok$/)
})
