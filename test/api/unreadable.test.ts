import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import { startApp, tasksPath } from './support/app.ts'

const { app, tasks } = await startApp({ limits: { headerBytes: 2_048, requestTimeoutMs: 500 } })
await app.listen({ port: 0, host: '127.0.0.1' })
t.teardown(async () => app.close())
const { port } = app.server.address() as AddressInfo

interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: unknown
}

/** Writes bytes to a socket and reads until the server closes. */
async function exchange(bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part))
  socket.on('error', () => undefined)
  socket.write(bytes, 'latin1')
  await once(socket, 'close')
  return Buffer.concat(parts).toString()
}

async function raw(bytes: string): Promise<RawAnswer> {
  const text = await exchange(bytes)
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    head,
    body: body === '' ? undefined : JSON.parse(body),
  }
}

void t.test('431 in the family’s shape for headers over the limit', async (t) => {
  const answer = await raw(
    `GET ${tasksPath} HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(4_000)}\r\n\r\n`,
  )
  t.equal(answer.status, 431)
  t.match(answer.body, { error: { code: 'invalid_request', param: '', type: 'BadRequest' } })
  t.match(answer.head, /x-request-id: req_/)
  const query = await raw(
    `GET /api/query/v1/ledger/lines HTTP/1.1\r\nX-Long: ${'a'.repeat(4_000)}\r\n\r\n`,
  )
  t.equal(query.status, 431)
  t.match(query.body, { success: false, error: { code: 'invalid_request' } })
})

void t.test('431 for a URL over the limit', async (t) => {
  const answer = await raw(`GET ${tasksPath}?x=${'a'.repeat(4_000)} HTTP/1.1\r\nHost: x\r\n\r\n`)
  t.equal(answer.status, 431)
})

void t.test('400 for bytes that are not HTTP', async (t) => {
  for (const bytes of [
    'nonsense\r\n\r\n',
    `POST ${tasksPath} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `GET ${tasksPath} HTTP/1.1\r\nHost: x\r\nBad[Header]: x\r\n\r\n`,
  ]) {
    const answer = await raw(bytes)
    t.equal(answer.status, 400, bytes)
    t.match(answer.body, { error: { code: String } })
  }
})

void t.test('408 for a request that never ends', async (t) => {
  const answer = await raw(
    `POST ${tasksPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-one\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  )
  t.equal(answer.status, 408)
  t.match(answer.body, { error: { code: 'invalid_request' } })
  t.equal(tasks.created.length, 0)
})

void t.test('a caller that hangs up in the middle of a body affects no other caller', async (t) => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    `POST ${tasksPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-one\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"model"`,
  )
  await once(socket, 'connect')
  socket.destroy()
  await once(socket, 'close')
  const health = await raw('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.equal(health.status, 200)
  t.equal(tasks.created.length, 0)
})

const chunked = 'Host: x\r\nTransfer-Encoding: chunked\r\n'

/** The statuses of the answers on one connection. */
async function statuses(bytes: string): Promise<readonly number[]> {
  const text = await exchange(bytes)
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
}

void t.test('one 4xx for a body that cannot be read and that no handler reads', async (t) => {
  for (const line of ['POST /v1/nope', 'POST /nope', `GET ${tasksPath}`, 'GET /v1/videos'])
    for (const body of [
      'ZZ\r\n',
      '1\r\na\r\n0\r\nbad trailer\r\n\r\n',
      `1;${'x'.repeat(20_000)}`,
    ]) {
      const found = await statuses(`${line} HTTP/1.1\r\n${chunked}\r\n${body}`)
      t.equal(found.length, 1, `${line} ${body.slice(0, 9)}`)
      t.ok(found.every((status) => status >= 400 && status < 500))
    }
})

void t.test('a reset within a body that no handler reads affects no other caller', async (t) => {
  for (const line of ['GET /v1/videos', 'PUT /v1/models', 'POST /v1/nope']) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`${line} HTTP/1.1\r\n${chunked}Authorization: Bearer sk-one\r\n\r\n9\r\nhalf`)
    await once(socket, 'data')
    socket.resetAndDestroy()
    await once(socket, 'close')
  }
  const health = await raw('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.equal(health.status, 200)
})

void t.test('a body that no handler reads leaves its connection to the next request', async (t) => {
  const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
  const body = `5\r\nhello\r\n0\r\n\r\n`
  t.same(await statuses(`POST /v1/nope HTTP/1.1\r\n${chunked}\r\n${body}${next}`), [404, 200])
})

void t.test('bytes after a request are not answered before that request is', async (t) => {
  const first = `GET ${tasksPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-one\r\n\r\n`
  t.same(
    await statuses(`${first}nonsense\r\n\r\n`),
    [],
    'it would be read as the answer of the first',
  )
})

const surfaces: readonly (readonly [path: string, code: object])[] = [
  [tasksPath, { error: { code: /InvalidParameter|invalid/ } }],
  ['/provB/v1/t2a_v2', { base_resp: { status_msg: String } }],
  ['/provC/ent/v2/text2video', { reason: String }],
  ['/v1/chat/completions', { error: { type: 'invalid_request_error' } }],
  ['/v1beta/models/x:generateContent', { error: { status: 'INVALID_ARGUMENT' } }],
  ['/api/query/v1/ledger/lines', { success: false }],
  ['/api/admin/tenants', { success: false }],
  ['/nope', { error: { code: 'parameter_invalid' } }],
]

void t.test(
  '400 in the surface’s shape for ambiguous heads and unsupported expectations',
  async (t) => {
    const wrong = {
      'Host must be sent once': 'Host: x\r\nHost: y\r\n',
      'Host is required': '',
      'Expect may only be 100-continue': 'Host: x\r\nExpect: foo\r\n',
      'Authorization must be sent once':
        'Host: x\r\nauthorization: Bearer sk-two\r\nAuthorization: Bearer sk-one\r\n',
      'Idempotency-Key must be sent once':
        'Host: x\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n',
      'X-Tollgate-Tags must be sent once':
        'Host: x\r\nx-tollgate-tags: a=1\r\nX-Tollgate-Tags: b=2\r\n',
      'X-Tollgate-End-User must be sent once':
        'Host: x\r\nx-tollgate-end-user: ann\r\nX-Tollgate-End-User: bob\r\n',
    }
    for (const [path, shape] of surfaces)
      for (const [message, headers] of Object.entries(wrong)) {
        const answer = await raw(
          `POST ${path} HTTP/1.1\r\n${headers}Content-Length: 0\r\nConnection: close\r\n\r\n`,
        )
        t.match(answer.body, shape, `${path}: ${message}`)
        t.match(JSON.stringify(answer.body), message)
        t.match(answer.head, /x-request-id: req_/)
      }
  },
)

void t.test('HTTP/1.0 without Host is answered, and so is Expect: 100-continue', async (t) => {
  const old = await raw('GET /healthz HTTP/1.0\r\n\r\n')
  t.equal(old.status, 200)
  const expecting = 'Host: x\r\nExpect: 100-Continue\r\nConnection: close\r\n'
  t.same(await statuses(`GET /healthz HTTP/1.1\r\n${expecting}\r\n`), [100, 200])
})

void t.test('the token is found behind a thousand other headers', async (t) => {
  const roomy = await startApp()
  await roomy.app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => roomy.app.close())
  const many = Array.from({ length: 1_500 }, () => 'a:').join('\r\n')
  const socket = connect((roomy.app.server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(
    `GET /v1/models HTTP/1.1\r\nHost: x\r\n${many}\r\nAuthorization: Bearer sk-one\r\nConnection: close\r\n\r\n`,
  )
  t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 200 /)
})
