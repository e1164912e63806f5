import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { ProviderError } from '../../../src/app/ports/provider.ts'
import { createAudioProvider } from '../../../src/families/audio/upstream/client.ts'

const call = {
  upstreamModel: 'reader-1',
  body: { input: 'Good morning.', voice: 'alloy', response_format: 'mp3', speed: 1.5 },
}
const options = { signal: new AbortController().signal, requestId: 'req_1' }

interface Answer {
  readonly status?: number
  readonly type?: string
  readonly body: string | Buffer
}

/** A server that answers so, and what it was sent. */
async function startServer(t: Test, answer: Answer) {
  const sent: { url: string | undefined; authorization: string | undefined; body: unknown }[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { url, headers } = request
      const body: unknown = JSON.parse(Buffer.concat(parts).toString())
      sent.push({ url, authorization: headers.authorization, body })
      const { status = 200, type = 'audio/mpeg' } = answer
      response.writeHead(status, { 'content-type': type, 'x-request-id': 'up-1' })
      response.end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const provider = createAudioProvider()
  t.teardown(async () => {
    await provider.close()
    server.close()
  })
  const channel = {
    id: 'own',
    family: 'audio',
    baseUrl: `http://127.0.0.1:${port}/v1/`,
    models: { reads: 'reader-1' },
    weight: 1,
    priority: 0,
    timeoutMs: 30_000,
    maxConcurrent: 4,
  }
  const speak = (credential?: string) =>
    provider.speak(
      credential === undefined ? channel : { ...channel, id: 'keyed', credential },
      call,
      options,
    )
  return { speak, sent }
}

t.test('the text is sent below the base URL, and the bytes come back', async (t) => {
  const bytes = Buffer.from([0xff, 0xfb, 0x90, 0x00, 0x01])
  const { speak, sent } = await startServer(t, { body: bytes })
  const answer = await speak()
  t.ok(bytes.equals(answer.bytes))
  t.equal(answer.upstreamRequestId, 'up-1')
  await speak('secret-1')
  const body = { model: 'reader-1', ...call.body }
  const url = '/v1/audio/speech'
  t.same(sent, [
    { url, authorization: undefined, body },
    { url, authorization: 'Bearer secret-1', body },
  ])
})

t.test('samples that begin as a text would are audio', async (t) => {
  for (const start of ['{', '<', '[1,'] as const) {
    const body = Buffer.concat([Buffer.from(start), Buffer.from([0x00, 0x90, 0x7f, 0xfe])])
    const { speak } = await startServer(t, { body, type: 'audio/pcm' })
    t.ok(body.equals((await speak()).bytes), start)
  }
})

t.test('what is no audio is a failure, whatever its status says', async (t) => {
  const json = { type: 'application/json' }
  for (const [answer, expected] of [
    [{ body: '' }, { kind: 'malformed' }],
    [{ body: '<!doctype html><p>down' }, { kind: 'malformed' }],
    [{ body: '\n<html><p>down' }, { kind: 'malformed' }],
    [{ body: '{"audio":"aGk="}' }, { kind: 'malformed' }],
    [{ body: 'ok', type: 'text/plain' }, { kind: 'malformed' }],
    [{ body: 'x', ...json }, { kind: 'malformed' }],
    [
      { body: '{"error":{"message":"no such voice","param":"voice","code":400}}' },
      { kind: 'invalid', param: 'voice' },
    ],
    [
      { body: '{"error":{"message":"slow down"}}', status: 429, ...json },
      { kind: 'rate_limited', acceptance: 'ruled_out' },
    ],
    [{ body: 'Not Found', status: 404, type: 'text/plain' }, { kind: 'account' }],
    [
      { body: '', status: 500 },
      { kind: 'unavailable', acceptance: 'unknown' },
    ],
  ] as const) {
    const { speak } = await startServer(t, answer)
    const error: unknown = await speak().catch((reason: unknown) => reason)
    t.ok(error instanceof ProviderError, answer.body)
    t.match(error, expected, answer.body)
  }
})
