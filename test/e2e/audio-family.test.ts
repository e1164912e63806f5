import OpenAI from 'openai'
import t from 'tap'
import { durationMs } from '../families/speech/upstream/sounds.ts'
import { sharedStack } from '../helpers/stack.ts'
import { call, queriesOf } from './support/client.ts'

/** Speech of a server that answers audio and reports no usage. */

const stack = await sharedStack(t)
const { url, demo, sandbox } = stack
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken, maxRetries: 0 })
const good = { model: 'audio-basic', input: 'Good morning.', voice: 'alloy' }
const ask = (path: string, body: object) =>
  call(`${url}${path}`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const post = (fields: object) => ask('/v1/audio/speech', { ...good, ...fields })
const linesOf = async (callId: string | null) => {
  await stack.caughtUp()
  return (await queriesOf(url, demo.queryToken).lines(`source_id=${callId}`)).body.data.items
}

t.test('the official client gets the bytes of each format', async (t) => {
  const types = { mp3: 'audio/mpeg', wav: 'audio/wav', flac: 'audio/flac', pcm: 'audio/pcm' }
  for (const format of ['mp3', 'wav', 'flac'] as const) {
    const answer = await client.audio.speech.create({ ...good, response_format: format, speed: 2 })
    t.equal(answer.headers.get('content-type'), types[format])
    const bytes = Buffer.from(await answer.arrayBuffer())
    t.ok(Math.abs(durationMs(format, bytes) - good.input.length * 30) <= 40, format)
  }
})

t.test('it is quoted and settled by the characters of the text', async (t) => {
  const quoted = await ask('/v1/quote', { path: '/v1/audio/speech', body: good })
  t.match(quoted.body, {
    hold: '0.000195',
    lines: [{ sku: 'audio-basic-character', rule: 'audio/characters/counted' }],
  })
  const answer = await post({ input: '你好 🛶!' })
  t.equal(answer.headers.get('x-cost'), '0.000075')
  t.match(await linesOf(answer.headers.get('x-call-id')), [
    { surface: 'v1.speech', model: 'audio-basic', quantity: 5, measurement: 'estimated' },
  ])
})

t.test('voices are sent as callers write them, or by the names of the channel', async (t) => {
  t.equal((await post({ voice: 'reader-voice-2' })).status, 200)
  const unknown = await post({ voice: 'nobody' })
  t.match(unknown, { status: 400, body: { error: { param: 'voice' } } })
  const before = sandbox.calls({ family: 'audio' }).length
  const cloned = await post({ voice: { id: 'my-voice' } })
  t.match(cloned, { status: 400, body: { error: { param: 'voice', message: /no cloned voices/ } } })
  t.equal(sandbox.calls({ family: 'audio' }).length, before, 'nothing was sent')
})

t.test('a failure is free', async (t) => {
  const failed = await post({ input: 'Oh. [[sandbox fail=server_error]]' })
  t.equal(failed.status, 502, failed.text)
  t.same(await linesOf(failed.headers.get('x-call-id')), [])
  t.equal(failed.headers.get('x-cost'), null)
})

t.test('only /v1/audio/speech has its models', async (t) => {
  t.match(await post({ model: 'audio-none' }), {
    status: 404,
    body: { error: { code: 'model_not_found' } },
  })
  t.match(await post({ model: 'text-basic' }), {
    status: 404,
    body: { error: { message: /is for \/v1\/chat\/completions/ } },
  })
  const spoken = await ask('/provB/v1/t2a_v2', {
    model: 'audio-basic',
    text: 'x',
    voice_id: 'nova',
  })
  t.not(spoken.body.base_resp.status_code, 0)
  const { body } = await call(`${url}/v1/models/audio-basic`, { token: demo.modelToken })
  t.match(body, { id: 'audio-basic', supported_endpoints: ['/v1/audio/speech'] })
})
