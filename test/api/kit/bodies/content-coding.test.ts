import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import * as zlib from 'node:zlib'
import t from 'tap'
import { MEMORY_PER_BYTE } from '../../../../src/api/kit/bodies/body-budget.ts'
import { asModel, goodBody, startApp, tasksPath } from '../../support/app.ts'

const LIMIT_BYTES = 400_000
const limits = {
  bodyBytes: { '/provA': LIMIT_BYTES, '/v1': LIMIT_BYTES, '/v1beta': LIMIT_BYTES },
  bodyMemoryBytes: 2 * LIMIT_BYTES * MEMORY_PER_BYTE.other,
}
const { app, tasks } = await startApp({ limits })
await app.listen({ port: 0, host: '127.0.0.1' })
t.teardown(() => app.close())
const { port } = app.server.address() as AddressInfo

type Compress = (bytes: Buffer) => Buffer
/** Node has it from 22.15 on. */
const zstdCompressSync = Reflect.get(zlib, 'zstdCompressSync') as Compress | undefined
const codings: Readonly<Record<string, Compress>> = {
  gzip: zlib.gzipSync,
  ...(zstdCompressSync === undefined ? {} : { zstd: zstdCompressSync }),
}
const accepted = Object.keys(codings).join(', ')

function begin(coding: string, headers = {}, path = tasksPath): ClientRequest {
  const json = { 'content-type': 'application/json', 'content-encoding': coding }
  const all = { ...asModel, ...json, ...headers }
  return httpRequest({ port, host: '127.0.0.1', method: 'POST', path, agent: false, headers: all })
}

async function answerOf(request: ClientRequest) {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const { statusCode: status, headers } = response
  return { status, headers, body: JSON.parse(await text(response)) }
}

function send(coding: string, bytes: Buffer, headers = {}, path?: string) {
  const request = begin(coding, headers, path)
  request.on('error', () => undefined)
  request.end(bytes)
  return answerOf(request)
}

/** As long as the bound allows, of random letters: it takes several pieces both ways. */
const long = Buffer.from(
  JSON.stringify({
    ...goodBody,
    content: [{ type: 'text', text: 'a paper boat' }],
    pad: Array.from({ length: 6_000 }, (_, n) =>
      createHash('sha256').update(String(n)).digest('base64'),
    ).join(''),
  }),
)

for (const [coding, compress] of Object.entries(codings)) {
  const small = Buffer.from(JSON.stringify(goodBody))

  t.test(`a body in ${coding} is the one that it stands for`, async (t) => {
    const hashes = new Set<unknown>()
    for (const [bytes, headers] of [
      [compress(small), {}],
      [compress(small), { 'content-encoding': coding.toUpperCase() }],
      [small, { 'content-encoding': 'identity' }],
    ] as const) {
      const answer = await send(coding, bytes, { ...headers, 'idempotency-key': 'one' })
      t.equal(answer.status, 200)
      hashes.add(tasks.created.at(-1)?.bodyHash)
    }
    t.equal(hashes.size, 1, 'a key compares what it stands for')
    for (const kind of [
      { 'content-length': compress(long).length },
      { 'transfer-encoding': 'chunked' },
    ])
      t.equal((await send(coding, compress(long), kind)).status, 200)
  })

  t.test(`413 for more than the bound in ${coding}, as soon as it is reached`, async (t) => {
    const bomb = compress(Buffer.alloc(64 * 1024 * 1024, ' '))
    t.ok(bomb.length < LIMIT_BYTES, `${bomb.length} bytes`)
    const answer = await send(coding, bomb)
    t.equal(answer.status, 413)
    t.match(answer.body.error.message, /larger than 400000 bytes/)
    const request = begin(coding, { 'transfer-encoding': 'chunked' })
    request.on('error', () => undefined)
    request.write(bomb.subarray(0, -1))
    t.equal((await answerOf(request)).status, 413, 'the end is not waited for')
    request.destroy()
  })

  t.test(`400 for a body that is not whole ${coding}`, async (t) => {
    const whole = compress(small)
    const changed = Buffer.from(whole)
    changed.fill(0xff, 8, 20)
    for (const bytes of [small, changed]) {
      const { status, body } = await send(coding, bytes)
      t.equal(status, 400)
      t.match(body.error, { code: 'invalid_request', message: new RegExp(`not whole ${coding}`) })
    }
    // Node 22 does not say that the end of zstd is missing; what comes of it is no whole JSON.
    t.equal((await send(coding, whole.subarray(0, -5))).status, 400)
    t.equal((await send(coding, compress(long).subarray(0, 100_000))).status, 400)
    const chat = await send(coding, small, {}, '/v1/chat/completions')
    t.match(chat, { status: 400, body: { error: { type: 'invalid_request_error' } } })
    t.equal((await send(coding, compress(Buffer.from('{"model":')))).status, 400)
    t.equal((await send(coding, compress(Buffer.alloc(0)))).status, 400)
  })

  t.test(`503 while there is no memory for what comes in ${coding}`, async (t) => {
    const bytes = compress(long)
    const open = [1, 2, 3].map(() => {
      const request = begin(coding, { 'content-length': bytes.length })
      request.on('error', () => undefined)
      request.write(bytes.subarray(0, -1))
      return request
    })
    const first = await Promise.race(open.map(answerOf))
    t.match(first, { status: 503, body: { error: { code: 'service_unavailable' } } })
    for (const request of open) request.destroy()
  })
}

t.test('415 names the codings that are taken', async (t) => {
  const body = Buffer.from(JSON.stringify(goodBody))
  const others = ['br', 'deflate', 'gzip, gzip', 'zstd,gzip', 'identity, gzip', 'x']
  if (zstdCompressSync === undefined) others.push('zstd')
  for (const coding of others) {
    const { status, headers } = await send(coding, body)
    t.equal(status, 415, coding)
    t.equal(headers['accept-encoding'], accepted, coding)
  }
  const { status, body: said } = await send(
    'br',
    body,
    {},
    '/v1beta/models/gen-3-pro:generateContent',
  )
  t.match({ status, said }, { status: 415, said: { error: { status: 'INVALID_ARGUMENT' } } })
  const form = { 'content-type': 'multipart/form-data; boundary=x' }
  const sent = await send('gzip', zlib.gzipSync(body), form, '/v1/images/edits')
  t.match(sent, { status: 415, headers: { 'accept-encoding': 'identity' } })
  const managed = { authorization: 'Bearer adm-one' }
  t.equal((await send('gzip', zlib.gzipSync(body), managed, '/api/admin/tenants')).status, 415)
})
