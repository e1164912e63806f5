import t from 'tap'
import { call, sandboxFor, type Loose } from './client.ts'
import { callOf, CHAT, chatBody, chatStream, eventsIn, sdk } from './text-client.ts'

const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 } },
      required: ['city', 'days'],
    },
  },
}

void t.test('an answer has the envelope, the versioned model and usage that adds up', async (t) => {
  const sandbox = await sandboxFor(t)
  const body = chatBody('hello', {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hello' },
    ],
  })
  const reply = await call(sandbox.url, 'POST', CHAT, body)
  t.equal(reply.status, 200)
  t.match(reply.json, {
    id: /^chatcmpl-/,
    object: 'chat.completion',
    created: Number,
    model: 'text-basic-2026-01-15',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: String, refusal: null },
        finish_reason: 'stop',
      },
    ],
    service_tier: 'default',
  })
  const { usage, choices } = reply.json
  // Four a message, and one for every four bytes begun: 9 bytes and 5 bytes.
  t.equal(usage.prompt_tokens, 4 + 3 + 4 + 2)
  t.equal(usage.completion_tokens, Math.ceil(Buffer.byteLength(choices[0].message.content) / 4))
  t.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
  t.equal(usage.prompt_tokens_details.cached_tokens, 0)
  t.notOk('cache_write_tokens' in usage.prompt_tokens_details)

  const again = await call(sandbox.url, 'POST', CHAT, body)
  t.equal(again.json.choices[0].message.content, choices[0].message.content)
  t.not(again.json.id, reply.json.id)
  t.match(again.headers.get('x-ratelimit-limit-requests'), /^\d+$/)
  t.match(again.headers.get('x-ratelimit-reset-requests'), /^\d+ms$/)
  t.match(again.headers.get('x-request-id'), /^req_/)
})

void t.test(
  'a stream has no event lines, null usage until the last chunk, and [DONE]',
  async (t) => {
    const sandbox = await sandboxFor(t)
    const whole = await call(sandbox.url, 'POST', CHAT, chatBody('hi [[sandbox words=5]]'))
    const reply = await call(sandbox.url, 'POST', CHAT, chatStream('hi [[sandbox words=5]]'))
    t.match(reply.headers.get('content-type'), /^text\/event-stream/)
    const events = eventsIn(reply.text)
    t.equal(events.length, 1 + 5 + 1 + 1 + 1)
    t.ok(events.every(({ event }) => event === null))
    t.equal(events.at(-1)!.data, '[DONE]')
    const chunks = events.slice(0, -1).map(({ json }) => json)
    t.strictSame(chunks[0].choices[0].delta, { role: 'assistant', content: '', refusal: null })
    t.ok(chunks.slice(0, -1).every(({ usage }) => usage === null))
    const last = chunks.at(-1)
    t.strictSame(last.choices, [])
    t.strictSame(last.usage, whole.json.usage)
    t.equal(chunks.at(-2).choices[0].finish_reason, 'stop')
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    t.equal(text, whole.json.choices[0].message.content)

    const plain = await call(sandbox.url, 'POST', CHAT, chatBody('hi', { stream: true }))
    t.notMatch(plain.text, /"usage"/)
    t.match(plain.text, /data: \[DONE\]\n\n$/)
  },
)

void t.test('the official client reads answers and streams', async (t) => {
  const sandbox = await sandboxFor(t)
  const client = sdk(sandbox)
  const messages = [{ role: 'user' as const, content: 'hello [[sandbox words=40]]' }]
  const whole = await client.chat.completions.create({ model: 'text-basic', messages })
  const stream = await client.chat.completions.create({
    model: 'text-basic',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let usage: unknown = null
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    if (chunk.usage) usage = chunk.usage
  }
  t.equal(text, whole.choices[0]!.message.content)
  t.strictSame(usage, whole.usage)
  const models = await client.models.list()
  t.ok(models.data.some(({ id }) => id === 'text-cache'))
  t.equal((await client.models.retrieve('text-tools')).id, 'text-tools')
  await t.rejects(client.models.retrieve('nothing'), { status: 404, code: 'model_not_found' })
})

void t.test('a tool is called when the switch or tool_choice forces it', async (t) => {
  const sandbox = await sandboxFor(t)
  const client = sdk(sandbox)
  const model = 'text-tools'
  const tools = [WEATHER]
  const asked = { role: 'user' as const, content: 'weather [[sandbox tool=get_weather]]' }
  const first = await client.chat.completions.create({ model, tools, messages: [asked] })
  const { message, finish_reason } = first.choices[0]!
  t.equal(finish_reason, 'tool_calls')
  t.equal(message.content, null)
  const [made] = message.tool_calls!
  t.match(made, { type: 'function', id: /^call_/, function: { name: 'get_weather' } })
  const args = '{"city":"sample","days":2}'
  t.match(made, { function: { arguments: args } })

  const result = { role: 'tool' as const, tool_call_id: made!.id, content: 'sunny' }
  const second = await client.chat.completions.create({
    model,
    tools,
    messages: [asked, message, result],
  })
  t.equal(second.choices[0]!.finish_reason, 'stop')

  const fragments: string[] = []
  const named: string[] = []
  const stream = await client.chat.completions.create({
    model,
    tools,
    messages: [{ role: 'user', content: 'weather' }],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
    stream: true,
  })
  for await (const chunk of stream) {
    for (const { index, id, function: part } of chunk.choices[0]?.delta.tool_calls ?? []) {
      t.equal(index, 0)
      if (id !== undefined) named.push(`${part?.name}`)
      fragments.push(part?.arguments ?? '')
    }
  }
  t.strictSame(named, ['get_weather'])
  t.ok(fragments.length > 2)
  t.equal(fragments.join(''), args)

  const none = await client.chat.completions.create({
    model,
    tools,
    messages: [{ role: 'user', content: 'hi' }],
  })
  t.equal(none.choices[0]!.finish_reason, 'stop')
  await t.rejects(
    client.chat.completions.create({ model, messages: [asked] }),
    { status: 400, code: 'invalid_sandbox_marker' },
    'a tool that was not offered',
  )
})

void t.test('functions of the older form are answered in the older form', async (t) => {
  const sandbox = await sandboxFor(t)
  const body = { functions: [WEATHER.function], function_call: { name: 'get_weather' } }
  const whole = await call(sandbox.url, 'POST', CHAT, chatBody('weather', body))
  t.equal(whole.json.choices[0].finish_reason, 'function_call')
  t.equal(whole.json.choices[0].message.function_call.name, 'get_weather')
  const streamed = await call(sandbox.url, 'POST', CHAT, chatStream('weather', body))
  const deltas = eventsIn(streamed.text).map(({ json }) => json?.choices[0]?.delta.function_call)
  const calls = deltas.filter((one) => one !== undefined)
  t.equal(calls[0].name, 'get_weather')
  t.strictSame(JSON.parse(calls.map((one) => one.arguments).join('')), { city: 'sample', days: 2 })
})

void t.test('an answer under a JSON schema fits it; max_tokens cuts it off', async (t) => {
  const sandbox = await sandboxFor(t)
  const schema = {
    type: 'object',
    properties: {
      kind: { enum: ['fruit', 'nut'] },
      when: { type: 'string', format: 'date' },
      tags: { type: 'array', items: { $ref: '#/$defs/tag' }, minItems: 2 },
      weight: { type: ['number', 'null'], exclusiveMinimum: 3 },
    },
    required: ['kind', 'when', 'tags', 'weight'],
    $defs: { tag: { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'] } },
  }
  const format = { type: 'json_schema', json_schema: { name: 'thing', schema } }
  const whole = await call(sandbox.url, 'POST', CHAT, chatBody('x', { response_format: format }))
  t.strictSame(JSON.parse(whole.json.choices[0].message.content), {
    kind: 'fruit',
    when: '2026-01-15',
    tags: [{ on: true }, { on: true }],
    weight: 4,
  })
  const free = await call(
    sandbox.url,
    'POST',
    CHAT,
    chatBody('x', { response_format: { type: 'json_object' } }),
  )
  t.match(JSON.parse(free.json.choices[0].message.content), { answer: String })

  const cut = await call(
    sandbox.url,
    'POST',
    CHAT,
    chatBody('x [[sandbox words=99]]', { max_tokens: 7 }),
  )
  t.equal(cut.json.choices[0].finish_reason, 'length')
  t.equal(cut.json.usage.completion_tokens, 7)
})

void t.test('refusals have their status and envelope', async (t) => {
  const sandbox = await sandboxFor(t, { apiKeys: ['good-key'], models: ['mine-*'] })
  const ask = (body: unknown, key = 'good-key') =>
    call(sandbox.url, 'POST', CHAT, body, { authorization: `Bearer ${key}` })
  const cases: readonly (readonly [Promise<{ status: number; json: unknown }>, number, string])[] =
    [
      [ask(chatBody('x'), 'bad-key'), 401, 'invalid_api_key'],
      [ask('{"model":'), 400, 'invalid_json'],
      [ask(chatBody('x', { model: 'text-none' })), 404, 'model_not_found'],
      [ask(chatBody('x', { messages: [] })), 400, 'invalid_value'],
      [ask(chatBody('x', { messages: [{ role: 'king', content: 'x' }] })), 400, 'invalid_value'],
      [ask(chatBody('x', { temperature: 3 })), 400, 'invalid_value'],
      [ask(chatBody('x', { max_tokens: 0 })), 400, 'invalid_value'],
      [ask(chatBody('x [[sandbox nonsense]]')), 400, 'invalid_sandbox_marker'],
      [ask(chatBody('x [[sandbox refuse=insufficient_quota]]')), 429, 'insufficient_quota'],
      [
        ask(chatBody('x [[sandbox refuse=context_length_exceeded]]')),
        400,
        'context_length_exceeded',
      ],
      [ask(chatBody('x [[sandbox refuse=server_overloaded]]')), 503, 'server_error'],
      [ask(chatBody('x [[sandbox http=500]]')), 500, 'server_error'],
    ]
  for (const [asked, status, code] of cases) {
    const reply = await asked
    t.equal(reply.status, status, code)
    const { error } = reply.json as { error: { code: string; type: string; message: string } }
    t.ok(error.code === code || error.type === code, code)
    t.type(error.message, 'string')
  }
  t.equal((await ask(chatBody('x', { model: 'mine-7' }))).status, 200)
  const limited = await ask(chatBody('x [[sandbox refuse=rate_limit_exceeded retry-after=7]]'))
  t.equal(limited.headers.get('retry-after'), '7')
  t.equal(limited.headers.get('retry-after-ms'), '7000')
  const scarce = await ask(chatBody('x [[sandbox remaining=0 reset-ms=61500]]'))
  t.equal(scarce.headers.get('x-ratelimit-remaining-requests'), '0')
  t.equal(scarce.headers.get('x-ratelimit-reset-requests'), '1m1.500s')
  const page = await ask(chatBody('x [[sandbox http=502]]'))
  t.match([page.status, page.text], [502, /<html>/])
  t.equal(sandbox.calls().length, 2, 'nothing that was refused was accepted')
})

void t.test('a search is made on request, or always, and cited', async (t) => {
  const sandbox = await sandboxFor(t, { models: ['text-search'] })
  const cited = { type: 'url_citation', url_citation: { url: /^https:/, start_index: 0 } }
  const post = async (model: string, prompt: string, more: object = {}) =>
    (await call(sandbox.url, 'POST', CHAT, chatBody(prompt, { model, ...more }))).json
  const options = { web_search_options: {} }
  const asked = 'x [[sandbox tool=web_search tool-searches=5]]'
  const none = await post('text-basic', 'x', options)
  t.strictSame(none.choices[0].message.annotations, [])
  const one = await post('text-basic', `${asked} [[client=asked]]`, options)
  t.match(one.choices[0].message.annotations, [cited])
  t.strictSame((await callOf(sandbox, 'asked')).tool_calls, { web_search: 1 })
  const always = await post('text-search', 'x [[client=always]]')
  t.match(always.choices[0].message.annotations, [cited])
  t.strictSame((await callOf(sandbox, 'always')).tool_calls, { web_search: 1 })
  t.match((await post('text-basic', asked)).error, { code: 'invalid_sandbox_marker' })

  const stream = await call(sandbox.url, 'POST', CHAT, chatStream(asked, options))
  const deltas = eventsIn(stream.text).flatMap(({ json }) => json?.choices?.[0]?.delta ?? [])
  t.match(
    deltas.filter((delta: Loose) => 'annotations' in delta),
    [{ annotations: [cited] }],
  )
})
