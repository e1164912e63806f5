import t from 'tap'
import { call, sandboxFor } from './client.ts'
import { CHAT, chatBody, chatStream, read } from './text-client.ts'

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
