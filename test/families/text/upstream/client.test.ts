import { bodyOf } from '../wires.ts'
import { createTextProvider } from '../../../../src/families/text/upstream/client.ts'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { type Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import type { TextChunk, TextProvider, TextStream } from '../../../../src/families/text/ports.ts'
import { chatWire } from '../../../../src/families/chat/upstream/wire.ts'
import { nativeWire } from '../../../../src/families/native/upstream/wire.ts'
import { JsonText } from '../../../../src/kernel/json-text.ts'
import { responsesWire } from '../../../../src/families/responses/upstream/wire.ts'

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, unknown>
  readonly port: number | undefined
}

/** An upstream whose answers the test gives, and the requests that it received. */
async function upstream(t: Test, answer: (response: ServerResponse) => void) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
      const { method, url, headers, socket } = request
      seen.push({ method, url, headers, body, port: socket.remotePort })
      answer(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo
  const channel: Channel = {
    id: 'c',
    family: 'chat',
    region: 'overseas',
    baseUrl: `http://127.0.0.1:${port}/base/`,
    credential: 'secret-key',
    models: { ours: 'vendorish-1' },
    weight: 1,
    priority: 0,
    timeoutMs: 5_000,
    maxConcurrent: 4,
  }
  return { seen, channel }
}

const request = (body: Record<string, unknown> = {}) => ({
  model: 'ours',
  upstreamModel: 'vendorish-1',
  callId: 'call_01JD0000000000000000000002',
  body,
  largest: { outputTokens: 8_192, bytesOfLogprobs: 0, hasMedia: false },
  keptId: (kind: string, upstreamId: string) => `${kind}_our-${upstreamId}`,
})
const options = () => ({ signal: new AbortController().signal, requestId: 'req_1' })
const use = <P extends TextProvider & { close: () => Promise<void> }>(t: Test, provider: P): P => {
  t.teardown(() => provider.close())
  return provider
}
const json =
  (body: object, status = 200) =>
  (response: ServerResponse) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(body))
const events = (text: string) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)

async function readAll(stream: TextStream): Promise<readonly TextChunk[]> {
  const chunks: TextChunk[] = []
  for (;;) {
    const more = await stream.read()
    if (more === undefined) return chunks
    chunks.push(...more)
  }
}
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error('it did not fail')
    },
    (error: unknown) => {
      if (error instanceof ProviderError) return error
      throw error
    },
  )

const chatAnswer = {
  id: 'x',
  model: 'vendorish-1-2026',
  choices: [{ index: 0, message: { content: 'hi' }, finish_reason: 'stop' }],
}

t.test('each wire goes to its own path with its own credential and upstream name', async (t) => {
  const chat = await upstream(t, json(chatAnswer))
  const answered = await use(t, createTextProvider(chatWire)).complete(
    chat.channel,
    request({ messages: [], x_unknown: 1, stream: true, stream_options: {} }),
    options(),
  )
  t.equal(bodyOf(answered)['model'], 'ours')
  t.match(chat.seen[0], {
    method: 'POST',
    url: '/base/chat/completions',
    headers: { authorization: 'Bearer secret-key', 'x-client-request-id': 'req_1' },
  })
  t.same(chat.seen[0]?.body, { messages: [], x_unknown: 1, model: 'vendorish-1', stream: false })

  const responses = await upstream(t, json({ model: 'vendorish-1', output: [] }))
  await use(t, createTextProvider(responsesWire)).complete(responses.channel, request(), options())
  t.equal(responses.seen[0]?.url, '/base/responses')

  const native = await upstream(t, json({ modelVersion: 'vendorish-1', candidates: [{}] }))
  const provider = use(t, createTextProvider(nativeWire))
  const generated = await provider.complete(native.channel, request({ contents: [] }), options())
  t.equal(bodyOf(generated)['modelVersion'], 'ours')
  t.equal(native.seen[0]?.url, '/base/models/vendorish-1:generateContent')
  t.equal(native.seen[0]?.headers['x-goog-api-key'], 'secret-key')
  t.equal(native.seen[0]?.headers.authorization, undefined)
  t.same(native.seen[0]?.body, { contents: [] })
  const named = { ...native.channel, id: 'd', credentialHeader: 'x-native-api-key' }
  await provider.complete(named, request(), options())
  t.equal(native.seen[1]?.headers['x-native-api-key'], 'secret-key')
})

t.test('headers of a call go on as they came, below those of the gateway', async (t) => {
  const { seen, channel } = await upstream(t, json(chatAnswer))
  const streamed = await upstream(t, events('data: [DONE]\n\n'))
  const provider = use(t, createTextProvider(chatWire))
  const headers = {
    'wire-beta': 'one-2026,  two',
    authorization: 'Bearer of the caller',
    'content-type': 'text/plain',
    'x-client-request-id': 'theirs',
  }
  await provider.complete(channel, { ...request(), headers }, options())
  await readAll(
    await provider.stream({ ...streamed.channel, id: 's' }, { ...request(), headers }, options()),
  )
  for (const { headers: received } of [...seen, ...streamed.seen])
    t.match(received, {
      'wire-beta': 'one-2026,  two',
      authorization: 'Bearer secret-key',
      'content-type': 'application/json',
      'x-client-request-id': 'req_1',
    })
  t.equal(seen.length + streamed.seen.length, 2)
})

t.test('a text of a wire is sent byte for byte, however long, and again', async (t) => {
  let received: readonly Buffer[] = []
  const server = createServer((incoming, response) => {
    void buffer(incoming).then((bytes) => {
      received = [...received, bytes]
      t.equal(incoming.headers['content-type'], 'application/json')
      t.equal(incoming.headers['content-length'], String(bytes.length))
      json(chatAnswer)(response)
    })
  })
  t.teardown(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.closeAllConnections())
  const { channel } = await upstream(t, json(chatAnswer))
  const { port } = server.address() as AddressInfo
  const there = { ...channel, baseUrl: `http://127.0.0.1:${port}` }
  const PIECE = 64 * 1024
  for (const length of [0, PIECE - 60, PIECE - 59, PIECE, 3 * PIECE + 1]) {
    // Pairs of surrogates are divided by the ends of pieces, at either character.
    const text = `{"content":"${'x'.repeat(length % 2)}${'😀'.repeat(length)}","model":"ours"}`
    const from = text.lastIndexOf(':') + 1
    const spans = new Map([['model', { from, to: text.length - 1 }]])
    const written = new JsonText(text, Buffer.byteLength(text), spans)
    const provider = use(
      t,
      createTextProvider({
        ...chatWire,
        requestBody: ({ upstreamModel }) => written.with({ model: upstreamModel }),
      }),
    )
    received = []
    await provider.complete(there, request(), options())
    await provider.complete(there, request(), options())
    const expected = Buffer.from(text.replace('"ours"', '"vendorish-1"'))
    t.equal(received.length, 2)
    t.ok(received.every((bytes) => bytes.equals(expected)))
  }
})

t.test('a chat stream always requests usage, and keeps the caller’s other options', async (t) => {
  const { seen, channel } = await upstream(t, events('data: [DONE]\n\n'))
  const provider = use(t, createTextProvider(chatWire))
  const body = { stream_options: { include_obfuscation: false } }
  await readAll(await provider.stream(channel, request(body), options()))
  t.match(seen[0]?.body, {
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
  })
})

t.test('the provider’s own id is kept where no header names one', async (t) => {
  const ours = 'chatcmpl-01JD0000000000000000000002'
  const chat = use(t, createTextProvider(chatWire))
  const native = use(t, createTextProvider(nativeWire))
  const named = (answer: (response: ServerResponse) => void) => (response: ServerResponse) => {
    response.setHeader('x-request-id', 'of-header')
    answer(response)
  }
  const nativeAnswer = { candidates: [{}], responseId: 'of-native' }
  const frame = (body: object) => events(`data: ${JSON.stringify(body)}\n\n`)
  for (const [provider, whole, streamed, id] of [
    [chat, json(chatAnswer), frame(chatAnswer), 'x'],
    [native, json(nativeAnswer), frame(nativeAnswer), 'of-native'],
    [chat, named(json(chatAnswer)), named(frame(chatAnswer)), 'of-header'],
  ] as const) {
    const { channel } = await upstream(t, whole)
    const at = { ...channel, id: channel.baseUrl }
    const answered = await provider.complete(at, request(), options())
    t.equal(answered.upstreamRequestId, id)
    t.equal(bodyOf(answered)[id === 'of-native' ? 'responseId' : 'id'], idOf(provider))
    const other = await upstream(t, streamed)
    const there = { ...other.channel, id: other.channel.baseUrl }
    const stream = await provider.stream(there, request(), options())
    const [chunk] = await readAll(stream)
    t.match(chunk?.data, `"${idOf(provider)}"`)
    t.equal(stream.upstreamRequestId, id)
  }
  function idOf(provider: TextProvider): string {
    return provider === chat ? ours : request().callId
  }
})

t.test('a wire names the headers of the provider’s id and of its limits', async (t) => {
  const head = {
    requestId: 'request-id',
    limits: [['wire-tokens-remaining', 'wire-tokens-reset']],
  } as const
  const provider = use(t, createTextProvider({ ...chatWire, head }))
  const withHead = (answer: (response: ServerResponse) => void) => (response: ServerResponse) => {
    response.setHeader('request-id', 'req_of_theirs')
    response.setHeader('x-request-id', 'of a proxy')
    response.setHeader('wire-tokens-remaining', '0')
    response.setHeader('wire-tokens-reset', '9999-01-01T00:00:00Z')
    answer(response)
  }
  const whole = await upstream(t, withHead(json(chatAnswer)))
  const streamed = await upstream(t, withHead(events('data: [DONE]\n\n')))
  const expected = { upstreamRequestId: 'req_of_theirs', restMs: 60_000 }
  t.match(await provider.complete(whole.channel, request(), options()), expected)
  const there = { ...streamed.channel, id: 's' }
  const stream = await provider.stream(there, request(), options())
  t.match(stream, expected)
  await readAll(stream)
})

t.test('connections are used again after whole streams', async (t) => {
  const { seen, channel } = await upstream(t, events('data: [DONE]\n\n: bye\n\n'))
  const provider = use(t, createTextProvider(chatWire))
  for (let call = 0; call < 4; call += 1) {
    await readAll(await provider.stream(channel, request(), options()))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  t.equal(new Set(seen.map(({ port }) => port)).size, 1)
})

t.test('a stream request answered otherwise is refused or malformed', async (t) => {
  const provider = use(t, createTextProvider(chatWire))
  const cases: readonly [(response: ServerResponse) => void, object][] = [
    [json(chatAnswer), { kind: 'malformed', acceptance: 'unknown' }],
    [json({ error: 'no' }, 400), { kind: 'invalid', status: 400, message: 'no' }],
    [
      json({ error: { message: 'messages.1.content.0: Invalid' } }, 400),
      { kind: 'invalid', message: 'messages.1.content.0: Invalid' },
    ],
    [
      json({ error: { message: 'vendorish-1 is full', code: 'full' } }, 503),
      { kind: 'unavailable', acceptance: 'ruled_out' },
    ],
    [json({ nothing: 1 }, 503), { kind: 'unavailable', acceptance: 'unknown' }],
    [
      (response) => {
        response.setHeader('retry-after', '7')
        json({ error: { message: 'vendorish-1 is full' } }, 529)(response)
      },
      { kind: 'unavailable', acceptance: 'ruled_out', status: 529, retryAfterMs: 7_000 },
    ],
    [json({ nothing: 1 }, 529), { acceptance: 'unknown', status: 529, retryAfterMs: undefined }],
    [json({ error: { code: 'insufficient_quota' } }, 429), { kind: 'account' }],
    [json({}, 301), { kind: 'malformed' }],
    [json({}, 404), { kind: 'account' }],
    [json({ error: { message: 'no such model', param: 'model' } }, 404), { kind: 'account' }],
    [json({ error: { message: 'no such item', param: 'input' } }, 404), { kind: 'invalid' }],
    [json({}, 408), { kind: 'timeout', acceptance: 'unknown' }],
  ]
  for (const [answer, expected] of cases) {
    const { channel } = await upstream(t, answer)
    t.match(
      await failure(provider.stream({ ...channel, id: channel.baseUrl }, request(), options())),
      expected,
    )
  }
})

t.test('messages are scrubbed of upstream names before a caller sees them', async (t) => {
  const message = 'vendorish-1 at https://api.vendorish.example/x refused req 127.0.0.1'
  const { channel } = await upstream(t, json({ error: { message } }, 400))
  const error = await failure(
    use(t, createTextProvider(chatWire)).complete(channel, request(), options()),
  )
  t.notMatch(error.message, /vendorish|127\.0|https/)
  t.match(error.message, /ours/)
})

t.test('a stream without [DONE] or a last blank line is complete', async (t) => {
  const chunk = (more: object) => `data: ${JSON.stringify({ model: 'vendorish-1', ...more })}`
  const said = chunk({ choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: null }] })
  const end = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  const usage = chunk({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })
  const { channel } = await upstream(t, events(`${said}\n\n${end}\n\n${usage}`))
  const stream = await use(t, createTextProvider(chatWire)).stream(channel, request(), options())
  const chunks = await readAll(stream)
  t.same(
    chunks.map(({ terminal, usageOnly }) => [terminal, usageOnly]),
    [
      [false, false],
      [true, false],
      [true, true],
    ],
  )
  t.match(stream.tally(), { finished: true, usage: { input: 1, output: 1 } })
  t.same(stream.tally().output(), { bytes: 2, characters: 2, answers: 1 })
})

t.test(
  'a stream of fewer answers than asked for is complete at its clean end, with usage',
  async (t) => {
    const chatEnd =
      'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
    const chatUsage = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n'
    const content = { parts: [{ text: 'hi' }] }
    const candidates = [{ index: 0, content, finishReason: 'STOP' }]
    const nativeFrame = (more: object) => `data: ${JSON.stringify({ candidates, ...more })}\n\n`
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1 }
    const wires = [
      { wire: chatWire, body: { n: 2 }, without: chatEnd, whole: chatEnd + chatUsage },
      {
        wire: nativeWire,
        body: { generationConfig: { candidateCount: 2 } },
        without: nativeFrame({}),
        whole: nativeFrame({ usageMetadata }),
      },
    ]
    for (const { wire, body, without, whole } of wires) {
      const finishedBy = async (text: string) => {
        const { channel } = await upstream(t, events(text))
        const stream = await use(t, createTextProvider(wire)).stream(
          channel,
          request(body),
          options(),
        )
        await readAll(stream)
        return stream.tally().finished
      }
      t.equal(await finishedBy(whole), true)
      t.equal(await finishedBy(without), false, 'without usage')
      const begun = whole
        .replace('"index":0', '"index":1')
        .replace(/"(finish_?[rR]eason)":"\w+"/, '"$1":null')
      t.equal(await finishedBy(begun + whole), false, 'another answer has begun and not ended')
    }
  },
)

t.test('frames before a broken one are delivered before the failure', async (t) => {
  const said = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
  const { channel } = await upstream(t, events(`${said}${said}data: {broken\n\n${said}`))
  const stream = await use(t, createTextProvider(chatWire)).stream(channel, request(), options())
  t.equal((await stream.read())?.length, 2)
  t.match(await failure(stream.read()), { kind: 'malformed' })
  t.match(stream.tally(), { finished: false, failure: undefined })
})

t.test('a frame or an answer without an end is cut off', async (t) => {
  const piece = Buffer.alloc(1 << 20, 'x')
  const endless = (type: string) => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': type })
    response.on('error', () => undefined)
    response.write(type === 'text/event-stream' ? 'data: ' : '{"choices":"')
    const more = (): void => {
      if (response.destroyed) return
      if (response.write(piece)) setImmediate(more)
      else response.once('drain', more)
    }
    more()
  }
  const provider = use(t, createTextProvider(chatWire))
  const streamed = await upstream(t, endless('text/event-stream'))
  const stream = await provider.stream(streamed.channel, request(), options())
  t.match(await failure(stream.read()), { kind: 'malformed' })
  const whole = await upstream(t, endless('application/json'))
  const channel = { ...whole.channel, id: 'whole' }
  t.match(await failure(provider.complete(channel, request(), options())), { kind: 'malformed' })
})

t.test('a waiting stream can be stopped', async (t) => {
  const { channel } = await upstream(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {} }] })}\n\n`)
  })
  const stream = await use(t, createTextProvider(chatWire)).stream(channel, request(), options())
  t.equal((await stream.read())?.length, 1)
  const waiting = failure(stream.read())
  stream.cancel()
  t.match(await waiting, { kind: 'unavailable', acceptance: 'certain' })
  t.match(await failure(stream.read()), { kind: 'unavailable' })
})

const limited = {
  chat: { error: { message: 'Slow down.', code: 429 } },
  responses: { error: { message: 'Slow down.', type: 'rate_limit_error' } },
  native: { error: { message: 'Slow down.', code: 429, status: 'RESOURCE_EXHAUSTED' } },
}
const textWires = { chat: chatWire, responses: responsesWire, native: nativeWire }

for (const [family, wire] of Object.entries(textWires)) {
  const body = limited[family as keyof typeof limited]

  t.test(
    `${family}: a limit inside of a 200 is a limit, whole or as the first frame`,
    async (t) => {
      const provider = use(t, createTextProvider(wire))
      const refused = { kind: 'rate_limited', acceptance: 'ruled_out', status: 429 }
      const whole = await upstream(t, json(body))
      t.match(await failure(provider.complete(whole.channel, request(), options())), refused)
      const frame = await upstream(t, events(`data: ${JSON.stringify(body)}\n\n`))
      const first = { ...frame.channel, id: 'first' }
      t.match(await failure(provider.stream(first, request(), options())), refused)
      const unstreamed = { ...whole.channel, id: 'unstreamed' }
      t.match(await failure(provider.stream(unstreamed, request(), options())), refused)
    },
  )

  t.test(`${family}: an answer without a result is none, one with 201 is`, async (t) => {
    const provider = use(t, createTextProvider(wire))
    const none = { chat: { choices: [] }, responses: {}, native: { candidates: [] } }
    const empty = await upstream(t, json(none[family as keyof typeof none]))
    t.match(await failure(provider.complete(empty.channel, request(), options())), {
      kind: 'malformed',
    })
    const made = { chat: chatAnswer, responses: { output: [] }, native: { candidates: [{}] } }
    const created = await upstream(t, json(made[family as keyof typeof made], 201))
    const channel = { ...created.channel, id: 'created' }
    t.ok(await provider.complete(channel, request(), options()))
  })
}

t.test('an error after the first frame keeps its status; the call was accepted', async (t) => {
  const delta = { choices: [{ index: 0, delta: { content: 'a' } }] }
  const text = [delta, limited.chat].map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
  const { channel } = await upstream(t, events(text))
  const stream = await use(t, createTextProvider(chatWire)).stream(channel, request(), options())
  t.equal((await stream.read())?.length, 1)
  t.match(await failure(stream.read()), {
    kind: 'rate_limited',
    acceptance: 'certain',
    status: 429,
  })
})

t.test(
  'a response that met a limit before any output is a refusal, any other is a result',
  async (t) => {
    const provider = use(t, createTextProvider(responsesWire))
    const failed = (code: string) => ({
      status: 'failed',
      output: [],
      error: { code, message: '' },
    })
    const limit = await upstream(t, json(failed('rate_limit_exceeded')))
    t.match(await failure(provider.complete(limit.channel, request(), options())), {
      kind: 'rate_limited',
      acceptance: 'ruled_out',
    })
    const broken = await upstream(t, json(failed('server_error')))
    const channel = { ...broken.channel, id: 'broken' }
    const { tally } = await provider.complete(channel, request(), options())
    t.match(tally().failure, { code: 'server_error' })
  },
)
