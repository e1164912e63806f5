import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import {
  type Channel,
  ProviderError,
  type TaskSubmission,
} from '../../../../src/app/ports/provider.ts'
import { MAX_RESPONSE_BYTES } from '../../../../src/families/kit/http/exchange.ts'
import { createTaskProvider } from '../../../../src/families/kit/task/client.ts'
import { videoAWire } from '../../../../src/families/video-a/upstream/wire.ts'

type Handler = (request: IncomingMessage, body: string, response: ServerResponse) => void

const MODELS = { 'domestic-video-2-0': 'acmeseed-video-2-0-260128' }

function channelTo(baseUrl: string, timeoutMs = 2_000): Channel {
  return {
    id: 'channel-1',
    family: 'video-a',
    region: 'domestic',
    baseUrl,
    credential: 'credential-1',
    models: MODELS,
    weight: 1,
    priority: 0,
    timeoutMs,
    maxConcurrent: 4,
    redactWords: ['Acmeseed'],
  }
}

const options = () => ({ signal: new AbortController().signal, requestId: 'req_1' })

async function upstream(t: Test, handler: Handler): Promise<Channel> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => handler(request, body, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return channelTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3/`)
}

async function rawUpstream(t: Test, onData: (socket: Socket, text: string) => void) {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => onData(socket, chunk.toString()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function provider(t: Test) {
  const created = createTaskProvider(videoAWire)
  t.teardown(() => created.close())
  return created
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function submission(body: Readonly<Record<string, unknown>> = {}): TaskSubmission {
  return { model: 'm', body, settings: {}, marker: 'marker-1' }
}

async function failure(promise: Promise<unknown>): Promise<ProviderError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof ProviderError) return error
    throw error
  }
  throw new Error('the call succeeded')
}

t.test(
  'create sends body, model and marker with the account’s credential and returns the native id',
  async (t) => {
    let seen: { url: string | undefined; auth: string | undefined; body: string } | undefined
    const channel = await upstream(t, (request, body, response) => {
      seen = { url: request.url, auth: request.headers.authorization, body }
      json(response, 200, { id: 'cgt-20260102030405-x7k2p' })
    })
    const created = await provider(t).create(channel, submission({ content: [] }), options())
    t.same(created, { nativeId: 'cgt-20260102030405-x7k2p' })
    t.same(seen, {
      url: '/api/v3/contents/generations/tasks',
      auth: 'Bearer credential-1',
      body: '{"content":[],"model":"m","safety_identifier":"marker-1"}',
    })
  },
)

const refusals: readonly (readonly [number, string, string, string])[] = [
  [400, 'InvalidParameter', 'invalid', 'ruled_out'],
  [400, 'InputTextSensitiveContentDetected', 'invalid', 'ruled_out'],
  [401, 'AuthenticationError', 'account', 'ruled_out'],
  [402, 'PaymentRequired', 'account', 'ruled_out'],
  [403, 'AccountOverdueError', 'account', 'ruled_out'],
  [404, 'ModelNotOpen', 'account', 'ruled_out'],
  [400, 'OperationDenied.ServiceNotOpen', 'account', 'ruled_out'],
  [413, 'TooLarge', 'invalid', 'ruled_out'],
  [429, 'RateLimitExceeded.EndpointRPMExceeded', 'rate_limited', 'ruled_out'],
  [408, 'Timeout', 'timeout', 'unknown'],
  [500, 'InternalServiceError', 'unavailable', 'unknown'],
  [503, 'Overloaded', 'unavailable', 'unknown'],
]
for (const [status, code, kind, acceptance] of refusals) {
  t.test(`create answered ${status} ${code} is ${kind}, acceptance ${acceptance}`, async (t) => {
    const channel = await upstream(t, (_request, _body, response) =>
      json(response, status, { error: { code, message: 'no', param: 'ratio', type: '' } }),
    )
    const error = await failure(provider(t).create(channel, submission(), options()))
    t.match(error, { kind, acceptance, code: status === 408 ? undefined : code })
    t.equal(error.retryAfterMs, status === 429 ? 2_000 : undefined)
  })
}

t.test('429 with Retry-After keeps the time upstream asks for', async (t) => {
  const channel = await upstream(t, (_request, _body, response) =>
    response.writeHead(429, { 'retry-after': '7' }).end('{}'),
  )
  t.equal((await failure(provider(t).create(channel, submission(), options()))).retryAfterMs, 7_000)
})

t.test('a connection that is refused rules acceptance out', async (t) => {
  const port = await rawUpstream(t, () => undefined)
  const free = createTcpServer()
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
  const closedPort = (free.address() as AddressInfo).port
  await new Promise((resolve) => free.close(resolve))
  t.not(port, closedPort)
  const error = await failure(
    provider(t).create(channelTo(`http://127.0.0.1:${closedPort}`), submission(), options()),
  )
  t.match(error, { kind: 'unavailable', acceptance: 'ruled_out' })
})

t.test('a host name that does not resolve rules acceptance out', async (t) => {
  const error = await failure(
    provider(t).create(channelTo('http://nowhere.invalid/api'), submission(), options()),
  )
  t.match(error, { kind: 'unavailable', acceptance: 'ruled_out' })
})

t.test('a failed TLS handshake rules acceptance out', async (t) => {
  const port = await rawUpstream(t, (socket) => socket.end('not tls at all\r\n'))
  const error = await failure(
    provider(t).create(channelTo(`https://127.0.0.1:${port}`), submission(), options()),
  )
  t.match(error, { kind: 'unavailable', acceptance: 'ruled_out' })
})

t.test('a reset after the body was sent leaves acceptance unknown', async (t) => {
  const port = await rawUpstream(t, (socket) => socket.resetAndDestroy())
  const error = await failure(
    provider(t).create(channelTo(`http://127.0.0.1:${port}`), submission({ a: 1 }), options()),
  )
  t.match(error, { kind: 'unavailable', acceptance: 'unknown' })
})

t.test('silence after the body was sent times out with acceptance unknown', async (t) => {
  const port = await rawUpstream(t, () => undefined)
  const error = await failure(
    provider(t).create(channelTo(`http://127.0.0.1:${port}`, 150), submission({ a: 1 }), options()),
  )
  t.match(error, { kind: 'timeout', acceptance: 'unknown' })
})

t.test(
  'an abort while the request still waits for a connection rules acceptance out',
  async (t) => {
    const requests: string[] = []
    const port = await rawUpstream(t, (_socket, text) => requests.push(text))
    const channel = { ...channelTo(`http://127.0.0.1:${port}`), maxConcurrent: -15 }
    const abort = new AbortController()
    const calls = provider(t)
    const first = failure(calls.create(channel, submission({ first: true }), options()))
    const second = failure(
      calls.create(channel, submission({ second: true }), { ...options(), signal: abort.signal }),
    )
    abort.abort()
    t.match(await second, { kind: 'timeout', acceptance: 'ruled_out' })
    t.match(await first, { kind: 'timeout', acceptance: 'unknown' })
    t.notMatch(requests.join(''), /second/)
  },
)

for (const [title, text] of [
  ['not JSON', '<html>oops</html>'],
  ['an empty body', ''],
  ['JSON without an id', '{"ok":true}'],
  ['an id that is not a string', '{"id":{}}'],
  ['an empty id', '{"id":""}'],
  ['an id of a megabyte', JSON.stringify({ id: 'c'.repeat(1024 * 1024) })],
  ['a NUL in its id', '{"id":"cgt-\\u0000"}'],
  ['a lone surrogate in its id', '{"id":"cgt-\\ud800"}'],
  ['a space in its id', '{"id":"cgt 1"}'],
] as const) {
  t.test(`create answered 200 with ${title} leaves acceptance unknown`, async (t) => {
    const channel = await upstream(t, (_request, _body, response) => response.end(text))
    const error = await failure(provider(t).create(channel, submission(), options()))
    t.match(error, { kind: 'malformed', acceptance: 'unknown' })
  })
}

t.test('an answer cut short leaves acceptance unknown', async (t) => {
  const port = await rawUpstream(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":"cgt-'),
  )
  const error = await failure(
    provider(t).create(channelTo(`http://127.0.0.1:${port}`), submission(), options()),
  )
  t.equal(error.acceptance, 'unknown')
})

t.test('an answer beyond the size bound is cut off as malformed', async (t) => {
  const channel = await upstream(t, (_request, _body, response) => {
    response.on('error', () => undefined)
    response.end(Buffer.alloc(MAX_RESPONSE_BYTES + 1, 0x20))
  })
  const error = await failure(provider(t).get(channel, 'cgt-1', options()))
  t.equal(error.kind, 'malformed')
})

t.test('a redirect is not followed and leaves acceptance unknown', async (t) => {
  let hits = 0
  const channel = await upstream(t, (_request, _body, response) => {
    hits += 1
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  const error = await failure(provider(t).create(channel, submission(), options()))
  t.match(error, { kind: 'malformed', acceptance: 'unknown' })
  t.equal(hits, 1)
})

t.test('messages lose request ids, links, hosts and vendor words', async (t) => {
  const channel = await upstream(t, (_request, _body, response) =>
    json(response, 400, {
      error: {
        code: 'InvalidParameter',
        message:
          'acmeseed-video-2-0-260128 by Acmeseed cannot read https://bucket.tos.example.test/a.mp4?X-Signature=abc ' +
          'at api.acme.example.test. Request id: 021700000000000000000000000000abc',
        param: 'content[0]',
        type: 'BadRequest',
      },
    }),
  )
  const { message, param } = await failure(provider(t).create(channel, submission(), options()))
  t.match(message, /^domestic-video-2-0 by the provider cannot read \[link\]/)
  t.notMatch(message, /acme|021700|Signature|request id|example\.test/i)
  t.equal(param, 'content[0]')
})

t.test('messages lose the vendor words of the asset library’s host as well', async (t) => {
  const channel = await upstream(t, (_request, _body, response) =>
    json(response, 400, { error: { code: 'InvalidParameter', message: 'Acmecloud refused it' } }),
  )
  const library = {
    baseUrl: 'https://open.acmecloud.test',
    signingRegion: 'test-region-1',
    accessKeyId: 'AKTESTKEY',
    secretAccessKey: 'SKTEST',
    verifiesPersons: true,
  }
  const error = await failure(provider(t).create({ ...channel, library }, submission(), options()))
  t.equal(error.message, 'The provider refused it')
})

t.test('get reads status, usage, specs, links and times', async (t) => {
  const channel = await upstream(t, (_request, _body, response) =>
    json(response, 200, {
      id: 'cgt-1',
      model: 'acmeseed-video-2-0-260128',
      status: 'succeeded',
      content: { video_url: 'https://x.test/a.mp4?s=1', last_frame_url: 'https://x.test/b.png' },
      usage: { completion_tokens: 108900, total_tokens: 108900, tool_usage: { web_search: 0 } },
      created_at: 1767323045,
      updated_at: 1767323160,
      seed: 48213,
      resolution: '720p',
      duration: 5,
      generate_audio: true,
      revised_prompt: 'never kept',
      safety_identifier: 'marker-1',
    }),
  )
  t.same(await provider(t).get(channel, 'cgt-1', options()), {
    nativeId: 'cgt-1',
    status: 'succeeded',
    upstreamStatus: 'succeeded',
    upstreamModel: 'acmeseed-video-2-0-260128',
    marker: 'marker-1',
    usage: { completion_tokens: 108900, total_tokens: 108900, 'tool.web_search': 0 },
    output: { resolution: '720p', duration: 5, seed: 48213, generate_audio: true },
    urls: { video_url: 'https://x.test/a.mp4?s=1', last_frame_url: 'https://x.test/b.png' },
    createdAtMs: 1767323045000,
    updatedAtMs: 1767323160000,
  })
})

t.test('an unknown status word is unknown, never a failure', async (t) => {
  const channel = await upstream(t, (_request, _body, response) =>
    json(response, 200, { id: 'cgt-1', status: 'reticulating' }),
  )
  t.match(await provider(t).get(channel, 'cgt-1', options()), {
    status: 'unknown',
    upstreamStatus: 'reticulating',
  })
})

t.test('usage that is not a count is left out, never guessed', async (t) => {
  const answers = [
    [{ completion_tokens: -1, total_tokens: 1.5 }, undefined],
    [{ completion_tokens: '9007199254740993', total_tokens: null }, undefined],
    [{ completion_tokens: '108900' }, { completion_tokens: 108900 }],
    [{ completion_tokens: 0, tool_usage: { web_search: 'x' } }, { completion_tokens: 0 }],
    [[], undefined],
    ['108900', undefined],
  ] as const
  for (const [usage, expected] of answers) {
    const channel = await upstream(t, (_request, _body, response) =>
      json(response, 200, { id: 'cgt-1', status: 'succeeded', usage }),
    )
    const seen = await provider(t).get(channel, 'cgt-1', options())
    t.same('usage' in seen ? seen.usage : undefined, expected, JSON.stringify(usage))
  }
})

t.test('a task unknown upstream is gone; an unknown path is not', async (t) => {
  const known = await upstream(t, (_request, _body, response) =>
    json(response, 404, {
      error: { code: 'ResourceNotFound', message: 'no', param: '', type: '' },
    }),
  )
  t.same(await provider(t).get(known, 'cgt-1', options()), { nativeId: 'cgt-1', status: 'gone' })
  const wrongPath = await upstream(t, (_request, _body, response) => response.writeHead(404).end())
  t.equal((await failure(provider(t).get(wrongPath, 'cgt-1', options()))).kind, 'account')
})

t.test('an answer about another task is malformed', async (t) => {
  const channel = await upstream(t, (_request, _body, response) =>
    json(response, 200, { id: 'cgt-2', status: 'running' }),
  )
  t.equal((await failure(provider(t).get(channel, 'cgt-1', options()))).kind, 'malformed')
})

t.test('list asks for ids one parameter each and skips items it cannot read', async (t) => {
  let url = ''
  const channel = await upstream(t, (request, _body, response) => {
    url = request.url ?? ''
    json(response, 200, {
      items: [{ id: 'cgt-1', status: 'running' }, { status: 'running' }, null, 7],
      total: 4,
    })
  })
  const page = await provider(t).list(channel, { nativeIds: ['cgt-1', 'cgt-2'] }, options())
  t.match(url, /filter\.task_ids=cgt-1&filter\.task_ids=cgt-2$/)
  t.same(
    page.items.map((item) => item.nativeId),
    ['cgt-1'],
  )
  t.equal(page.total, 4)
})

t.test('cancel distinguishes accepted, running, gone and refused', async (t) => {
  const answers: readonly (readonly [number, unknown, string])[] = [
    [200, {}, 'accepted'],
    [409, { error: { code: 'InvalidAction.RunningTaskDeletion' } }, 'running'],
    [404, { error: { code: 'ResourceNotFound' } }, 'gone'],
    [400, { error: { code: 'InvalidAction' } }, 'refused'],
  ]
  for (const [status, body, outcome] of answers) {
    const channel = await upstream(t, (_request, _body, response) => json(response, status, body))
    t.equal(await provider(t).cancel(channel, 'cgt-1', options()), outcome)
  }
  const broken = await upstream(t, (_request, _body, response) => json(response, 500, {}))
  t.equal((await failure(provider(t).cancel(broken, 'cgt-1', options()))).kind, 'unavailable')
})

t.test('an error that a creation or a query got with 200 keeps its status', async (t) => {
  const answer = (code: string) =>
    upstream(t, (_request, _body, response) => {
      response.end(JSON.stringify({ error: { code, message: 'No.' } }))
    })
  const provider = createTaskProvider(videoAWire)
  t.teardown(() => provider.close())
  const cases = [
    ['RateLimitExceeded.EndpointRPMExceeded', 'rate_limited', 'ruled_out'],
    ['InvalidParameter', 'invalid', 'ruled_out'],
    ['AccountOverdueError', 'account', 'ruled_out'],
    ['SomethingElse', 'malformed', 'unknown'],
  ] as const
  for (const [index, [code, kind, acceptance]] of cases.entries()) {
    const channel = { ...(await answer(code)), id: `channel-${index}` }
    const refused = (made: Promise<unknown>) => made.catch((error: unknown) => error)
    const created = provider.create(channel, submission(), options())
    t.match(await refused(created), { kind, acceptance }, code)
    const asked = provider.get(channel, 'cgt-1', options())
    t.match(await refused(asked), { kind, acceptance }, code)
  }
})
