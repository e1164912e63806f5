import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { request as httpRequest, type ClientRequest } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { nodeArguments } from '../../../helpers/checkout.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { MEMORY_PER_BYTE } from '../../../../src/api/kit/bodies/body-budget.ts'
import { defaultLimits } from '../../../../src/api/app.ts'
import { goodBody, principals, startApp, tasksPath } from '../../support/app.ts'

const limits = {
  bodyBytes: { '/provA': 200_000 },
  // One user has half of it.
  bodyMemoryBytes: 2 * 240_000 * MEMORY_PER_BYTE.ascii,
}
const { app, tasks } = await startApp({ limits })
await app.listen({ port: 0, host: '127.0.0.1' })
t.teardown(async () => app.close())
const { port } = app.server.address() as AddressInfo

const body = JSON.stringify({ ...goodBody, pad: 'x'.repeat(160_000) })

function open(
  headers: Record<string, string | number>,
  to: number = port,
  path: string = tasksPath,
): ClientRequest {
  return httpRequest({
    port: to,
    host: '127.0.0.1',
    method: 'POST',
    path,
    agent: false,
    headers: { authorization: 'Bearer sk-one', 'content-type': 'application/json', ...headers },
  })
}

async function answerOf(request: ClientRequest): Promise<{ status: number; body: string }> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, body: await text(response) }
}

async function send(
  headers: Record<string, string | number>,
): Promise<{ status: number; body: string }> {
  const request = open(headers)
  request.end(body)
  return answerOf(request)
}

const withLength = { 'content-length': Buffer.byteLength(body) }
const inChunks = { 'transfer-encoding': 'chunked' }

for (const [kind, headers] of [
  ['of stated length', withLength],
  ['in chunks', inChunks],
] as const)
  void t.test(`503 while a body ${kind} finds no room, and 200 once it does`, async (t) => {
    const slow = open(withLength)
    slow.write(body.slice(0, 100_000))
    // The first is being read by the time the second is refused.
    let refused = await send(headers)
    for (let tries = 0; refused.status === 200 && tries < 50; tries += 1)
      refused = await send(headers)
    t.equal(refused.status, 503)
    t.match(JSON.parse(refused.body), {
      error: { code: 'service_unavailable', message: 'The service is busy; nothing was started' },
    })
    slow.end(body.slice(100_000))
    t.equal((await answerOf(slow)).status, 200)
    t.equal((await send(headers)).status, 200, 'the room is free again')
  })

void t.test('503 for a body beyond ASCII while another leaves too little memory', async (t) => {
  const wide = JSON.stringify({ ...goodBody, pad: `${'x'.repeat(160_000)}語` })
  const sendWide = async () => {
    const request = open({ 'content-length': Buffer.byteLength(wide) })
    request.end(wide)
    return answerOf(request)
  }
  t.equal((await sendWide()).status, 200, 'alone it always fits')
  const small = JSON.stringify({ ...goodBody, pad: 'x'.repeat(100_000) })
  const slow = open({ 'content-length': Buffer.byteLength(small) })
  slow.write(small.slice(0, 50_000))
  let status = 200
  for (let tries = 0; status === 200 && tries < 50; tries += 1) ({ status } = await sendWide())
  t.equal(status, 503)
  const ascii = JSON.stringify({ ...goodBody, pad: 'x'.repeat(160_000) })
  const beside = open({ 'content-length': Buffer.byteLength(ascii) })
  beside.end(ascii)
  t.equal((await answerOf(beside)).status, 200, 'of ASCII there is room for both')
  slow.end(small.slice(50_000))
  t.equal((await answerOf(slow)).status, 200)
})

void t.test('a large body reserves the memory that it was measured to take', async (t) => {
  // Media that stays what it came as is held twice while it is gathered, and then once.
  for (const [kind, perByte] of Object.entries({ ...MEMORY_PER_BYTE, media: 2 })) {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--expose-gc',
      ...nodeArguments(new URL('../support/body-memory-child.ts', import.meta.url)),
      kind,
    ])
    const measured = Number(stdout)
    // The engine itself grows meanwhile, with tsx by up to 20 of the 32 MiB of the body.
    t.ok(
      measured > perByte / 3 && measured <= perByte + 0.75,
      `${kind}: ${measured} bytes of memory a byte`,
    )
  }
})

void t.test('the memory of a caller that hung up is free again', async (t) => {
  const slow = open(withLength)
  slow.on('error', () => undefined)
  slow.write(body.slice(0, 100_000))
  await send(withLength)
  slow.destroy()
  let status = 0
  for (let tries = 0; status !== 200 && tries < 100; tries += 1)
    ({ status } = await send(withLength))
  t.equal(status, 200)
})

void t.test('413 for a chunked body over its own limit', async (t) => {
  const before = tasks.created.length
  const request = open(inChunks)
  request.on('error', () => undefined)
  request.end('x'.repeat(220_000))
  t.equal((await answerOf(request)).status, 413)
  t.equal(tasks.created.length, before)
})

void t.test('a caller that hung up before its body was admitted reserves no memory', async (t) => {
  let letIn: () => void = () => undefined
  let asking: () => void = () => undefined
  const asked = new Promise<void>((resolve) => (asking = resolve))
  const known = new Promise<void>((resolve) => (letIn = resolve))
  const slow = await startApp({
    limits,
    tokens: {
      authenticate: async () => {
        asking()
        await known
        return { ok: true, principal: principals['sk-one']! }
      },
    },
  })
  await slow.app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => slow.app.close())
  const { port: slowPort } = slow.app.server.address() as AddressInfo
  const connected = once(slow.app.server, 'connection') as Promise<[Socket]>
  const gone = open(withLength, slowPort)
  gone.on('error', () => undefined)
  gone.flushHeaders()
  await asked
  const [socket] = await connected
  gone.destroy()
  // It may be closed already.
  await eventually('the connection is closed', () => socket.destroyed)
  const next = open(withLength, slowPort)
  letIn()
  next.end(body)
  t.equal((await answerOf(next)).status, 200)
})

const BOUNDARY = 'boundary'
const form = [
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvision\r\n`,
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`,
  `${'x'.repeat(1_000_000)}\r\n--${BOUNDARY}--\r\n`,
].join('')

function openForm(headers: Record<string, string | number>): ClientRequest {
  const type = `multipart/form-data; boundary=${BOUNDARY}`
  return open({ 'content-type': type, ...headers }, port, '/v1/files')
}

for (const [kind, headers] of [
  ['of stated length', { 'content-length': form.length }],
  ['in chunks', inChunks],
] as const)
  void t.test(`a form ${kind} counts while it is read, and not after`, async (t) => {
    const slow = openForm(headers)
    slow.write(form.slice(0, 900_000))
    const send = async () => {
      const request = openForm(headers)
      request.end(form)
      return answerOf(request)
    }
    // The first is being read by the time the second is refused.
    let refused = await send()
    for (let tries = 0; refused.status === 200 && tries < 50; tries += 1) refused = await send()
    t.equal(refused.status, 503)
    t.match(refused.body, /"code":"overloaded"/)
    slow.end(form.slice(900_000))
    t.equal((await answerOf(slow)).status, 200)
    // What is held is given back as the connection ends.
    let taken = await send()
    for (let tries = 0; taken.status === 503 && tries < 50; tries += 1) taken = await send()
    t.equal(taken.status, 200)
  })

const MEBIBYTE = 1024 * 1024

void t.test('a caller that states a large body and sends none of it is closed', async (t) => {
  const memory = (bodies: number): number => bodies * MEBIBYTE * MEMORY_PER_BYTE.ascii
  const { app: shared } = await startApp({
    limits: {
      bodyBytes: { '/provA': MEBIBYTE },
      bodyMemoryBytes: memory(8),
      bodySilenceMs: 500,
    },
  })
  await shared.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => shared.close())
  const to = (shared.server.address() as AddressInfo).port
  const large = JSON.stringify({ ...goodBody, pad: 'x'.repeat(MEBIBYTE - 1_000) })
  const length = { 'content-length': Buffer.byteLength(large) }
  const silent = Array.from({ length: 8 }, () => open(length, to))
  for (const one of silent) one.flushHeaders()
  const other = open({ ...length, authorization: 'Bearer sk-two' }, to)
  other.end(large)
  t.equal((await answerOf(other)).status, 200)
  const own = open(length, to)
  own.end(large)
  t.equal((await answerOf(own)).status, 200, 'also of the same user')
  for (const { status } of await Promise.all(silent.map(answerOf))) t.equal(status, 400)

  const halves = Array.from({ length: 6 }, () => open(length, to))
  // A process that waits for a processor may find a half silent for too long before it finds the share used up.
  const refused = Promise.any(
    halves.map(async (half) => {
      const answer = await answerOf(half)
      if (answer.status === 400) throw new Error('closed because it was silent')
      return answer
    }),
  )
  for (const one of halves) {
    one.on('error', () => undefined)
    one.write(large.slice(0, -10))
  }
  t.equal((await refused).status, 503, 'beyond the share of the user')
  const beside = open({ ...length, authorization: 'Bearer sk-two' }, to)
  beside.end(large)
  t.equal((await answerOf(beside)).status, 200, 'there is room for others')
})

interface Described {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          { readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> } }
        >
      >
    >
  >
}

void t.test(
  'announced bodies of every route refuse no other call while they do not come',
  async (t) => {
    const formBytes = { ...defaultLimits.imageForm, bodyBytes: 1_500_000, fileBytes: 1_500_000 }
    const { app: shared } = await startApp({
      limits: {
        ...limits,
        imageForm: formBytes,
        fileForm: formBytes,
        mediaForm: formBytes,
      },
    })
    await shared.listen({ port: 0, host: '127.0.0.1' })
    t.teardown(() => shared.close())
    const to = (shared.server.address() as AddressInfo).port
    const { paths } = (await shared.inject('/openapi.json')).json<Described>()
    const announced = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) =>
        Object.keys(requestBody?.content ?? {}).flatMap((type) =>
          (type === 'multipart/form-data' ? [formBytes.bodyBytes] : [60_000, 200_000]).map(
            (bytes) => ({ path, method, type, bytes }),
          ),
        ),
      ),
    )
    t.ok(announced.some(({ type }) => type === 'multipart/form-data'))
    let arrived = 0
    shared.server.on('request', () => {
      arrived += 1
    })
    const asked = announced.map(({ path, method, type, bytes }) => {
      const isForm = type === 'multipart/form-data'
      const request = httpRequest({
        port: to,
        host: '127.0.0.1',
        method: method.toUpperCase(),
        path: path.replaceAll(/\{\w+\}/g, 'one'),
        agent: false,
        headers: {
          authorization: 'Bearer sk-one',
          'content-type': isForm ? `${type}; boundary=${BOUNDARY}` : type,
          'content-length': bytes,
        },
      })
      request.on('error', () => undefined)
      // A form's first part, without any of its file.
      if (isForm) request.write(form.slice(0, form.indexOf('xx')))
      else request.flushHeaders()
      return request
    })
    await eventually('all arrive', () => arrived === announced.length)
    for (const secret of ['sk-two', 'sk-one']) {
      const other = open({ ...withLength, authorization: `Bearer ${secret}` }, to)
      other.end(body)
      t.equal((await answerOf(other)).status, 200, secret)
    }
    for (const one of asked) one.destroy()
  },
)

void t.test('400 for a form that stops arriving, between parts and within a file', async (t) => {
  const { app: shared } = await startApp({ limits: { bodySilenceMs: 200 } })
  await shared.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => shared.close())
  const to = (shared.server.address() as AddressInfo).port
  const paths = ['/v1/files', '/v1/images/edits', '/provB/v1/files/upload']
  for (const path of paths)
    for (const sentBytes of [10, 1_000]) {
      const type = `multipart/form-data; boundary=${BOUNDARY}`
      const request = open({ 'content-type': type, 'content-length': form.length }, to, path)
      request.write(form.replace('vision', 'voice_clone').slice(0, sentBytes))
      const answer = await answerOf(request)
      t.match(answer.body, /stopped arriving/, path)
      request.destroy()
    }
})
