import OpenAI from 'openai'
import t from 'tap'
import { sharedStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'

const stack = await sharedStack(t)
const { url, demo } = stack
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken, maxRetries: 0 })
const model = 'text-basic'

const post = (path: string, body: object) =>
  call(`${url}${path}`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const chat = { model, messages: [{ role: 'user', content: 'Hello' }] }
const responses = { model, input: 'Hello' }
const native = { contents: [{ parts: [{ text: 'Hello' }] }] }
const generate = `/v1beta/models/${model}:generateContent`

void t.test('a member that changes the price is refused in the shape of its surface', async (t) => {
  const before = stack.sandbox.calls().length
  for (const [path, body] of [
    ['/v1/chat/completions', chat],
    ['/v1/responses', responses],
  ] as const)
    for (const [name, value] of Object.entries({
      service_tier: 'priority',
      speed: 'fast',
      models: ['dearer'],
      provider: { order: ['a'] },
      route: 'fallback',
      plugins: [{ id: 'web' }],
      transforms: ['middle-out'],
      modalities: ['text', 'audio'],
      extra_body: { speed: 'fast' },
    })) {
      const asked = { ...body, [name]: value }
      for (const more of [{}, { stream: true }]) {
        const answer = await post(path, { ...asked, ...more })
        t.equal(answer.status, 400, `${path} ${name}`)
        t.match(answer.body.error, { type: 'invalid_request_error', param: name })
      }
      const quoted = await post('/v1/quote', { path, body: asked })
      t.equal(quoted.status, 400, `quote of ${path} ${name}`)
    }
  const audio = { ...native, generationConfig: { responseModalities: ['AUDIO'] } }
  const refused = await post(generate, audio)
  t.equal(refused.status, 400)
  t.match(refused.body.error, { status: 'INVALID_ARGUMENT', message: /responseModalities/ })
  t.equal(stack.sandbox.calls().length, before, 'nothing was sent')
})

void t.test('the default members of an official client are accepted', async (t) => {
  const completion = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'Hello' }],
    n: 1,
    service_tier: 'auto',
    modalities: ['text'],
    store: false,
  })
  t.equal(completion.choices.length, 1)
  const response = await client.responses.create({ model, input: 'Hello', service_tier: 'default' })
  t.equal(response.status, 'completed')
  const config = { responseModalities: ['TEXT'], candidateCount: 1 }
  t.equal((await post(generate, { ...native, generationConfig: config })).status, 200)
  t.equal((await post('/v1/chat/completions', { ...chat, n: 0 })).body.error.param, 'n')
})
