import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { RawString } from '../../../../src/kernel/raw-string.ts'
import { jsonInPieces, sendInPieces } from '../../../../src/api/kit/answers/json-in-pieces.ts'
import { until } from '../../../helpers/eventually.ts'
import { call, type Line, loggingServer, post } from '../support/leaving.ts'

const written = (value: unknown): string => Buffer.concat(jsonInPieces(value).pieces).toString()

void t.test('bytes are written as the text they are, everything else as JSON', (t) => {
  const base64 = new RawString(Buffer.from('QUJDRA=='))
  const value = {
    created: 7,
    data: [{ b64_json: base64, note: 'é "' }, { b64_json: base64 }],
    a: null,
  }
  t.equal(
    written(value),
    JSON.stringify({
      ...value,
      data: [{ b64_json: 'QUJDRA==', note: 'é "' }, { b64_json: 'QUJDRA==' }],
    }),
  )
  t.equal(
    jsonInPieces(value).pieces.filter((piece) => piece === base64.pieces[0]).length,
    2,
    'not copied',
  )
  for (const plain of [{}, [], 'x', 7, { a: { b: [1] } }])
    t.equal(written(plain), JSON.stringify(plain))
  t.end()
})

const PIECE_BYTES = 64 * 1024
const LETTERS = 'QRST'
const canFree = 'transfer' in ArrayBuffer.prototype

/** A text as it arrives from a socket, each piece in separate memory. */
function longText(pieces: number): RawString {
  return new RawString(
    ...Array.from({ length: pieces }, (_, at) =>
      Buffer.alloc(PIECE_BYTES, LETTERS[at % LETTERS.length]),
    ),
  )
}

const held = ({ pieces }: RawString): number =>
  pieces.filter(({ byteLength }) => byteLength > 0).length

interface Answering {
  readonly app: FastifyInstance
  readonly logged: readonly Line[]
  /** Where the route waits until it may answer. */
  readonly answer: () => void
}

function answering(t: Test, text: RawString, { stallMs = 60_000, waits = false } = {}): Answering {
  const { app, logged } = loggingServer(t)
  let answer = (): void => undefined
  const gate = waits ? new Promise<void>((resolve) => (answer = resolve)) : Promise.resolve()
  app.post('/', async (_request, reply) => {
    await gate
    return sendInPieces(reply, { text }, { stallMs })
  })
  return { app, logged, answer: () => answer() }
}

/** Whether anything was logged that the operator should look at. */
const complains = (logged: readonly Line[]): boolean => logged.some(({ level }) => level >= 40)

const jsonOf = (answer: Buffer): string =>
  answer.subarray(answer.indexOf('\r\n\r\n') + 4).toString('latin1')

void t.test('the bytes of an answer are freed once a slow caller has received them', async (t) => {
  const text = longText(256)
  const expected = JSON.stringify({ text: text.toString() })
  const { app, logged } = answering(t, text)
  const socket = (await call(app, post('/'))).pause()
  await until(() => socket.readableLength > 0 || socket.bytesRead > 0)
  t.equal(held(text), 256, 'not before')
  t.ok(jsonOf(await buffer(socket)) === expected, 'every byte arrived as it was')
  await until(() => held(text) === (canFree ? 0 : 256))
  t.notOk(complains(logged))
})

void t.test('the bytes of an answer are freed when its caller leaves midway', async (t) => {
  const text = longText(256)
  const { app, logged } = answering(t, text)
  const socket = await call(app, post('/'))
  await once(socket, 'data')
  socket.pause().resetAndDestroy()
  await until(() => held(text) === (canFree ? 0 : 256))
  t.notOk(complains(logged), 'and is no fault of ours')
})

const connections = (app: FastifyInstance): Promise<number> =>
  new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)))

void t.test('an answer to a caller who has gone is not logged as a gateway error', async (t) => {
  const errors: unknown[] = []
  const text = longText(8)
  const { app, logged, answer } = answering(t, text, { waits: true })
  app.server.on('request', (_request, response) => response.on('error', (e) => errors.push(e)))
  const socket = await call(app, post('/'))
  await until(() => logged.some(({ msg }) => msg === 'incoming request'))
  socket.resetAndDestroy()
  await until(async () => (await connections(app)) === 0)
  answer()
  await until(() => held(text) === (canFree ? 0 : 8))
  t.same(errors, [])
  t.notOk(complains(logged))
})

void t.test('an answer to a caller that reads nothing is ended after the stall time', async (t) => {
  const text = longText(256)
  const { app } = answering(t, text, { stallMs: 200 })
  const socket = (await call(app, post('/'))).pause()
  await until(() => held(text) === (canFree ? 0 : 256))
  await until(async () => (await connections(app)) === 0)
  t.ok(socket.bytesRead < 256 * PIECE_BYTES)
  socket.destroy()
})

void t.test('a pipelined request behind a long answer has no stall time', async (t) => {
  const stallMs = 100
  const { app } = answering(t, longText(3), { stallMs })
  app.post('/slow', async () => {
    await sleep(4 * stallMs)
    return 'slow'
  })
  const answers = await buffer(await call(app, post('/', 'keep-alive'), post('/slow')))
  t.ok(answers.toString('latin1').endsWith('slow'))
})

void t.test('a hook may read the whole answer instead', async (t) => {
  const text = longText(3)
  const expected = JSON.stringify({ text: text.toString() })
  const app = Fastify()
  app.addHook('onSend', async (_request, _reply, payload) => buffer(payload as Readable))
  app.get('/', (_request, reply) => sendInPieces(reply, { text }, { stallMs: 60_000 }))
  const { body, headers } = await app.inject('/')
  t.ok(body === expected)
  t.equal(headers['content-length'], String(expected.length))
  await until(() => held(text) === (canFree ? 0 : 3))
})

void t.test('bytes in memory shared with other buffers are not freed', (t) => {
  const shared = Buffer.allocUnsafeSlow(Buffer.poolSize).fill('x')
  const short = shared.subarray(0, Buffer.poolSize >>> 1)
  new RawString(short, short).free()
  t.equal(shared.length, Buffer.poolSize)
  const [own] = longText(1).pieces
  const twice = new RawString(own ?? short, own ?? short)
  twice.free()
  twice.free()
  t.equal(held(twice), canFree ? 0 : 2)
  t.end()
})
