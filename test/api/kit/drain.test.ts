import { connect, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { drain, followConnections } from '../../../src/api/kit/drain.ts'

/** Long past what any of these takes. */
const BOUND_MS = 20_000

async function start(handler: () => Promise<unknown>): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: 'idle', keepAliveTimeout: 60_000 })
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

async function tookMs(work: Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work
  return performance.now() - startedMs
}

void t.test('a connection on which nothing was asked does not hold the shutdown up', async (t) => {
  const app = await start(async () => Promise.resolve('ok'))
  const socket = await open(app)
  const closed = once(socket, 'close')
  t.ok((await tookMs(drain(app, BOUND_MS))) < BOUND_MS / 2)
  await closed
})

/** A handler that answers when it is told to. */
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

void t.test('what is in flight is answered first, then its connection is closed', async (t) => {
  const { handler, whenBegun, answer } = pending()
  const app = await start(handler)
  const socket = await open(app)
  let text = ''
  socket.on('data', (data: Buffer) => (text += data.toString()))
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await whenBegun
  const closed = once(socket, 'close')
  const draining = tookMs(drain(app, BOUND_MS))
  answer('late answer')
  t.ok((await draining) < BOUND_MS / 2)
  await closed
  t.match(text, /late answer$/)
})

void t.test('what is not answered within the bound is cut off', async (t) => {
  const { handler, whenBegun } = pending()
  const app = await start(handler)
  const socket = await open(app)
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await whenBegun
  const closed = once(socket, 'close')
  await drain(app, 200)
  await closed
  t.equal(socket.bytesRead, 0, 'no answer was made up')
})
