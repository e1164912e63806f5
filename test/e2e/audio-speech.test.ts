import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import t from 'tap'
import { durationMs } from '../families/speech/upstream/sounds.ts'
import { checkout } from '../helpers/checkout.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, RAW, withRawSpeech } from './support/client.ts'
import { silentWav } from '../helpers/silent-wav.ts'

/** Speech on the wire of official clients, over the speech family. */

const stack = await startStack({ channels: withRawSpeech })
t.teardown(() => stack.stop())
const { url, demo, other, sandbox } = stack
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken, maxRetries: 0 })
const good = { model: 'speech-2.8-hd', input: 'Good morning.', voice: 'nova' }
const at = `${url}/v1/audio/speech`
const post = (fields: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  call(at, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...good, ...fields }),
  })
const upstream = (marker: string) => sandbox.calls({ family: 'speech', client_marker: marker })

/** Clones a voice of twelve seconds of silence; returns the wire's code. */
async function clonedBy(token: string, voice: string): Promise<number> {
  const wav = silentWav(12)
  const form = new FormData()
  form.append('purpose', 'voice_clone')
  form.append('file', new Blob([new Uint8Array(wav)]), 'me.wav')
  const to = (path: string) => `${url}/provB/v1/${path}`
  const { body } = await call(to('files/upload'), { method: 'POST', token, body: form })
  const cloned = await call(to('voice_clone'), {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: `{"file_id":${String(body.file.file_id)},"voice_id":"${voice}"}`,
  })
  return Number(cloned.body.base_resp.status_code)
}

t.test(
  'the official client gets the bytes of each format, at either form of account',
  async (t) => {
    const types = { mp3: 'audio/mpeg', wav: 'audio/wav', flac: 'audio/flac', pcm: 'audio/pcm' }
    for (const model of [good.model, RAW])
      for (const format of ['mp3', 'wav', 'flac', 'pcm'] as const) {
        const answer = await client.audio.speech.create({ ...good, model, response_format: format })
        t.equal(answer.headers.get('content-type'), types[format])
        t.match(answer.headers.get('x-call-id'), /^call_/)
        t.equal(answer.headers.get('x-cost-currency'), 'USD')
        const bytes = Buffer.from(await answer.arrayBuffer())
        const wantedMs = good.input.length * 60
        if (format === 'pcm') t.ok(Math.abs(bytes.length / 48 - wantedMs) <= 40, '24000 samples')
        else t.ok(Math.abs(durationMs(format, bytes) - wantedMs) <= 40, `${model} ${format}`)
      }
    const usual = await client.audio.speech.create(good)
    t.equal(usual.headers.get('content-type'), 'audio/mpeg')
    const fast = await client.audio.speech.create({ ...good, speed: 2, voice: { id: 'alloy' } })
    const bytes = Buffer.from(await fast.arrayBuffer())
    t.ok(Math.abs(durationMs('mp3', bytes) - good.input.length * 30) <= 40)
  },
)

t.test('every voice that the official client knows speaks', async (t) => {
  const resource = new URL('node_modules/openai/resources/audio/speech.d.ts', checkout)
  const [, said = ''] = /built-in voices are\s([^.]*)\./.exec(readFileSync(resource, 'utf8')) ?? []
  const voices = [...said.matchAll(/`(\w+)`/g)].map(([, voice = '']) => voice)
  t.equal(voices.length, 13, said)
  for (const voice of voices) {
    const answer = await client.audio.speech.create({ ...good, input: 'Hi', voice })
    t.ok((await answer.arrayBuffer()).byteLength > 0, voice)
  }
})

t.test('it is quoted and settled by its characters, as other speech', async (t) => {
  const quoted = await call(`${url}/v1/quote`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: '/v1/audio/speech', body: good }),
  })
  t.match(quoted.body, { hold: '0.0013', lines: [{ sku: 'speech-2.8-hd-character' }] })
  const answer = await post({ input: '你好 you' })
  t.equal(answer.headers.get('x-cost'), '0.0008')
  await stack.caughtUp()
  const { items } = (
    await queriesOf(url, demo.queryToken).lines(`source_id=${answer.headers.get('x-call-id')}`)
  ).body.data
  t.match(items, [{ surface: 'v1.speech', quantity: 8, amount: '0.0008' }])
})

t.test('a retry with the same key is answered with the same bytes, once sent', async (t) => {
  const headers = { 'idempotency-key': 'speech-1' }
  const first = await post({ input: 'Once. [[client=once]]' }, headers)
  const again = await post({ input: 'Once. [[client=once]]' }, headers)
  t.equal(first.status, 200)
  t.equal(again.text, first.text)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal(again.headers.get('x-call-id'), first.headers.get('x-call-id'))
  t.equal(upstream('once').length, 1)
  const reused = await post({ input: 'Twice.' }, headers)
  t.match(reused, { status: 409, body: { error: { code: 'idempotency_key_reused' } } })
})

t.test('a wrong member is refused by its own name, and nothing is sent', async (t) => {
  const before = sandbox.calls().length
  for (const [fields, param] of [
    [{ input: undefined }, 'input'],
    [{ input: ' ' }, 'input'],
    [{ input: 'x'.repeat(10_000) }, 'input'],
    [{ input: 7 }, 'input'],
    [{ voice: undefined }, 'voice'],
    [{ voice: '' }, 'voice'],
    [{ voice: { id: 7 } }, 'voice'],
    [{ voice: 'nobody-1' }, 'voice'],
    [{ speed: 4 }, 'speed'],
    [{ response_format: 'opus' }, 'response_format'],
    [{ response_format: 'wav', input: '语'.repeat(9_999), speed: 0.5 }, 'response_format'],
    [{ stream_format: 'sse' }, 'stream_format'],
    [{ instructions: 'Whisper.' }, 'instructions'],
    [{ text: 'hello' }, 'text'],
    [{ voice_id: 'nova' }, 'voice_id'],
    [{ respones_format: 'mp3' }, 'respones_format'],
  ] as const) {
    const answer = await post(fields)
    t.match(
      answer,
      { status: 400, body: { error: { param, type: 'invalid_request_error' } } },
      param,
    )
    t.match(answer.body.error.message, new RegExp(`\`${param}\``), answer.text)
  }
  for (const model of ['tts-1', 'voice-clone', 'image-2']) {
    const answer = await post({ model })
    t.match(answer, { status: 404, body: { error: { code: 'model_not_found', param: 'model' } } })
  }
  t.equal(sandbox.calls().length, before)
  await t.rejects(client.audio.speech.create({ ...good, model: 'tts-1' }), { message: /^404/ })
  await t.rejects(client.audio.speech.create({ ...good, speed: 9 }), { message: /^400/ })
})

t.test(
  'a voice that upstream lacks, or that another tenant cloned, is a wrong voice',
  async (t) => {
    const missing = await post({ voice: 'English_Nobody', input: '[[sandbox refuse=2042]]' })
    const unknown = await post({ voice: 'nobody-1' })
    t.match(unknown, { status: 400, body: { error: { param: 'voice' } } })
    t.same([missing.status, missing.body], [unknown.status, unknown.body])
    t.equal(await clonedBy(other.modelToken, 'TheirVoice1'), 0)
    const theirs = await post({ voice: 'TheirVoice1' })
    t.same([theirs.status, theirs.body], [unknown.status, unknown.body])
    const by = (token: string) =>
      call(at, {
        method: 'POST',
        token,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...good, voice: 'TheirVoice1' }),
      })
    t.equal((await by(other.modelToken)).status, 200)
    t.equal((await by(other.queryToken)).status, 403)
  },
)

t.test('a failure of the provider is not billed, and has this shape', async (t) => {
  const failed = await post({ input: 'Hello [[sandbox http-after-accept=500]]' })
  t.equal(failed.status, 502, failed.text)
  t.match(failed.body.error, { type: 'server_error' })
})
