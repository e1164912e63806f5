import t from 'tap'
import { call, type Loose, sandboxFor } from './client.ts'
import {
  CHAT,
  chatBody,
  chatStream,
  type Event,
  eventsIn,
  native,
  nativeBody,
  read,
  RESPONSES,
} from './text-client.ts'

void t.test('a repeated prompt prefix is read from the cache the second time', async (t) => {
  const sandbox = await sandboxFor(t)
  const system = { role: 'system', content: 'a long system prompt '.repeat(20) }
  const usageOf = async (user: string, more: object = {}) => {
    const messages = [
      { ...system, ...more },
      { role: 'user', content: user },
    ]
    const reply = await call(
      sandbox.url,
      'POST',
      CHAT,
      chatBody('', { model: 'text-cache', messages }),
    )
    return reply.json.usage
  }
  const prefix = 4 + 105
  const first = await usageOf('one')
  t.match(first.prompt_tokens_details, {
    cached_tokens: 0,
    cache_write_tokens: prefix,
    cache_write_5m_tokens: prefix,
    cache_write_1h_tokens: 0,
  })
  t.equal(first.prompt_tokens, prefix + 5)
  const second = await usageOf('two')
  t.match(second.prompt_tokens_details, { cached_tokens: prefix, cache_write_tokens: 0 })
  sandbox.advance(301_000)
  const late = await usageOf('three')
  t.match(late.prompt_tokens_details, { cached_tokens: 0, cache_write_tokens: prefix })
  await sandbox.reset()
  const long = await usageOf('four', { cache_control: { type: 'ephemeral', ttl: '1h' } })
  t.match(long.prompt_tokens_details, { cache_write_5m_tokens: 0, cache_write_1h_tokens: prefix })
  const bare = await usageOf('five [[sandbox cache-unsplit cached-tokens=3 cache-write-5m=7]]')
  t.strictSame(bare.prompt_tokens_details, {
    cached_tokens: 3,
    audio_tokens: 0,
    cache_write_tokens: 7,
  })
})

void t.test('a reasoning model counts reasoning as output, and shows it on request', async (t) => {
  const sandbox = await sandboxFor(t)
  const ask = (prompt: string, more: object = {}) =>
    call(sandbox.url, 'POST', CHAT, chatBody(prompt, { model: 'text-reason', ...more }))
  const plain = await ask('x')
  const { usage } = plain.json
  t.equal(usage.completion_tokens_details.reasoning_tokens, 64)
  const visible = Math.ceil(Buffer.byteLength(plain.json.choices[0].message.content) / 4)
  t.equal(usage.completion_tokens, 64 + visible)
  const high = await ask('x', { reasoning_effort: 'high' })
  t.equal(high.json.usage.completion_tokens_details.reasoning_tokens, 128)
  const shown = await ask('x [[sandbox thoughts]]')
  t.match(shown.json.choices[0].message, { reasoning_content: /\w/ })
  const streamed = await read(sandbox.url + CHAT, chatStream('x [[sandbox thoughts]]'))
  t.match(streamed.text, /"delta":\{"reasoning_content":/)
})

void t.test('an answer says what it is and repeats the question, whole and streamed', async (t) => {
  const sandbox = await sandboxFor(t)
  const sentence = (question: string): string =>
    `This is the sandbox’s answer to: ${question} – no real model was asked to give it`
  const post = (path: string, body: object) => call(sandbox.url, 'POST', path, body)
  const textsIn = (events: readonly Event[], pick: (json: Loose) => string | undefined): string =>
    events.map(({ json }) => (json === undefined ? '' : (pick(json) ?? ''))).join('')
  const chat = await post(CHAT, chatBody('hello'))
  t.equal(chat.json.choices[0].message.content, sentence('hello'))
  const chatted = await read(sandbox.url + CHAT, chatStream('hello'))
  const pieceOf = (json: Loose): string | undefined => json.choices?.[0]?.delta?.content
  t.equal(textsIn(eventsIn(chatted.text), pieceOf), sentence('hello'))
  const order = { model: 'text-basic', input: 'hello' }
  const response = await post(RESPONSES, order)
  t.equal(response.json.output.at(-1).content[0].text, sentence('hello'))
  const responded = await read(sandbox.url + RESPONSES, { ...order, stream: true })
  const deltas = eventsIn(responded.text).filter(
    ({ event }) => event === 'response.output_text.delta',
  )
  t.equal(
    textsIn(deltas, (json) => json.delta),
    sentence('hello'),
  )
  const partOf = (json: Loose): string | undefined =>
    json.candidates?.[0]?.content?.parts?.[0]?.text
  const generated = await native(sandbox, 'text-basic:generateContent', nativeBody('hello'))
  t.equal(partOf(generated.json), sentence('hello'))
  const path = `${sandbox.url}/v1beta/models/text-basic:streamGenerateContent?alt=sse`
  const stream = await read(path, nativeBody('hello'))
  t.equal(textsIn(eventsIn(stream.text, '\r\n'), partOf), sentence('hello'))
})

void t.test('of a question it repeats one line that can be read, without markers', async (t) => {
  const sandbox = await sandboxFor(t)
  const answerTo = async (prompt: string): Promise<string> => {
    const { json } = await call(sandbox.url, 'POST', CHAT, chatBody(prompt))
    return /^This is the sandbox’s answer to: (.*) – /s.exec(json.choices[0].message.content)![1]!
  }
  t.equal(await answerTo('two\n lines\u0000\u202E [[client=c]]'), 'two lines')
  t.equal(await answerTo('cut \uD800 here'), 'cut here')
  t.equal(await answerTo('☀'.repeat(70)), `${'☀'.repeat(60)}…`)
  t.equal(await answerTo(''), '(no text)')
})
