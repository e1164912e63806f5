import OpenAI from 'openai'
import t from 'tap'
import type { CallView } from '../../infra/sandbox/calls/store.ts'
import { eventually } from '../helpers/eventually.ts'
import { sharedStack } from '../helpers/stack.ts'
import { call, queriesOf } from './support/client.ts'
import { owed } from './support/text-owed.ts'

const stack = await sharedStack(t)
const callsBefore = stack.sandbox.calls().length
const { url, demo } = stack
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken, maxRetries: 0 })
const finance = queriesOf(url, demo.queryToken)
const model = 'text-basic'

const say = (content: string) => [{ role: 'user' as const, content }]
let named = 0
/** A marker by which the provider's record is found. */
const name = () => `caller-${(named += 1)}`

function upstreamOf(marker: string): CallView {
  const [found, ...more] = stack.sandbox
    .calls()
    .filter(({ client_marker }) => client_marker === marker)
  if (found === undefined || more.length > 0) throw new Error(`not one call of ${marker}`)
  return found
}

interface Line {
  readonly sku: string
  readonly quantity: number
  readonly measurement: string
  readonly surface: string
  readonly request_id: string
}

async function linesOf(callId: string): Promise<readonly Line[]> {
  await stack.caughtUp()
  return (await finance.lines(`source_id=${callId}`)).body.data.items as readonly Line[]
}

async function allLines(): Promise<readonly Line[]> {
  await stack.caughtUp()
  const items: Line[] = []
  for (let cursor = ''; ;) {
    const { data } = (await finance.lines(`limit=100${cursor}`)).body
    items.push(...(data.items as readonly Line[]))
    if (data.next_cursor === null) break
    cursor = `&cursor=${String(data.next_cursor)}`
  }
  return items
}

async function billed(callId: string): Promise<Record<string, number>> {
  return Object.fromEntries((await linesOf(callId)).map(({ sku, quantity }) => [sku, quantity]))
}

void t.test('chat is answered, settled as the provider reports it, and explained', async (t) => {
  const marker = name()
  const { data, response, request_id } = await client.chat.completions
    .create({ model, messages: say(`Hello [[client=${marker}]]`) })
    .withResponse()
  t.equal(data.model, model)
  t.match(data.choices, [{ message: { role: 'assistant', content: /\w/ }, finish_reason: 'stop' }])
  const callId = response.headers.get('x-call-id') ?? ''
  t.match(callId, /^call_/)
  const upstream = upstreamOf(marker)
  t.equal(data.usage?.prompt_tokens, upstream.usage.input_tokens)
  t.same(await billed(callId), owed(upstream))
  for (const line of await linesOf(callId))
    t.match(line, { surface: 'v1.chat', measurement: 'reported', request_id: request_id ?? '' })
  const found = (await finance.get(`/ledger/summary?group_by=model&source_id=${callId}`)).body
  t.match(found, { success: true })
})

void t.test('a streamed chat is whole, and settled like a plain one', async (t) => {
  for (const include_usage of [false, true]) {
    const marker = name()
    const { data: stream, response } = await client.chat.completions
      .create({
        model,
        messages: say(`Hello [[client=${marker}]]`),
        stream: true,
        ...(include_usage ? { stream_options: { include_usage } } : {}),
      })
      .withResponse()
    let content = ''
    const usages: unknown[] = []
    for await (const chunk of stream) {
      t.equal(chunk.model, model)
      content += chunk.choices[0]?.delta.content ?? ''
      if ('usage' in chunk) usages.push(chunk.usage)
    }
    t.ok(content.length > 20)
    const upstream = upstreamOf(marker)
    t.same(await billed(response.headers.get('x-call-id') ?? ''), owed(upstream))
    if (!include_usage) t.same(usages, [])
    else t.match(usages.at(-1), { completion_tokens: upstream.usage.output_tokens })
    t.ok(usages.slice(0, -1).every((usage) => usage === null))
  }
})

const weather = {
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

void t.test('tools are called and their results used, whole and streamed', async (t) => {
  const tools = [{ type: 'function' as const, function: weather }]
  const messages = say('Weather? [[sandbox tool=weather]]')
  const first = await client.chat.completions.create({ model: 'text-tools', messages, tools })
  const message = first.choices[0]?.message
  const called = message?.tool_calls?.[0]
  t.match(called, { type: 'function', function: { name: 'weather', arguments: /city/ } })
  if (message === undefined || called === undefined) return
  const second = await client.chat.completions.create({
    model: 'text-tools',
    messages: [...messages, message, { role: 'tool', tool_call_id: called.id, content: 'rain' }],
    tools,
  })
  t.equal(second.choices[0]?.finish_reason, 'stop')
  const streamed = await client.chat.completions
    .stream({ model: 'text-tools', messages, tools })
    .finalChatCompletion()
  t.match(streamed.choices[0]?.message.tool_calls, [
    { function: { name: 'weather', arguments: /city/ } },
  ])
  const legacy = await client.chat.completions.create({
    model: 'text-tools',
    messages,
    functions: [weather],
  })
  t.match(legacy.choices[0]?.message.function_call, { name: 'weather' })
})

void t.test('structured output fits its schema on both interfaces', async (t) => {
  const described = { name: 'place', schema: weather.parameters, strict: true }
  const format = { type: 'json_schema' as const, json_schema: described }
  const chat = await client.chat.completions.parse({
    model,
    messages: say('Where?'),
    response_format: format,
  })
  t.match(chat.choices[0]?.message.parsed, { city: String })
  const answer = await call(`${url}/v1/responses`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      input: [{ role: 'user', content: [{ type: 'text', text: 'Where?' }] }],
      response_format: format,
    }),
  })
  t.equal(answer.status, 200)
  t.match(JSON.parse(String(answer.body.output[0].content[0].text)), { city: String })
})

void t.test('cache writes and reads show in usage and on the bill', async (t) => {
  const long = 'a prompt worth keeping '.repeat(50)
  for (const kind of ['cached_write_tokens', 'cached_tokens']) {
    const marker = name()
    const { data, response } = await client.chat.completions
      .create({ model: 'text-cache', messages: say(`${long}[[client=${marker}]]`) })
      .withResponse()
    const details = { ...data.usage?.prompt_tokens_details } as Record<string, unknown>
    t.ok(Number(details[kind]) > 100, kind)
    t.equal(Object.hasOwn(details, 'cached_write_tokens'), kind === 'cached_write_tokens')
    t.notOk(Object.keys(details).some((each) => each.startsWith('cache_write')))
    t.same(await billed(response.headers.get('x-call-id') ?? ''), owed(upstreamOf(marker)))
  }
})

void t.test('responses, whole and streamed, with tools the provider runs itself', async (t) => {
  const marker = name()
  const { data, response } = await client.responses
    .create({
      model: 'text-tools',
      input: `News? [[sandbox tool=web_search tool-searches=2]][[client=${marker}]]`,
      tools: [{ type: 'web_search' }],
    })
    .withResponse()
  t.ok(data.output_text.length > 0)
  t.match(data.usage, { server_tool_usage: { web_search_calls: 2 } })
  t.same(await billed(response.headers.get('x-call-id') ?? ''), owed(upstreamOf(marker)))

  const again = name()
  const stream = client.responses.stream({
    model: 'text-tools',
    input: `Weather? [[sandbox tool=weather]][[client=${again}]]`,
    tools: [{ type: 'function', ...weather, strict: false }],
  })
  const seen = new Set<string>()
  stream.on('event', (event) => seen.add(event.type))
  const final = await stream.finalResponse()
  t.equal(final.model, 'text-tools')
  t.match(final, { status: 'completed', tool_calls: [{ type: 'function_call', name: 'weather' }] })
  t.ok(seen.has('response.output_item.added') && seen.has('response.completed'))
  await stack.caughtUp()
  const items = (await finance.lines('model=text-tools')).body.data.items as readonly Line[]
  t.ok(items.some(({ quantity }) => quantity === upstreamOf(again).usage.output_tokens))
})

const native = (method: string, body: object, headers: Record<string, string> = {}) =>
  call(`${url}/v1beta/models/gen-3-pro-preview-file:${method}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-native-api-key': demo.modelToken,
      ...headers,
    },
    body: JSON.stringify(body),
  })

void t.test('native generation with thoughts, inline media and a video by URL', async (t) => {
  const marker = name()
  const answer = await native('generateContent', {
    contents: [
      {
        parts: [
          { text: `What is it? [[client=${marker}]]` },
          { inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgo=' } },
          { file_data: { mime_type: 'video/mp4', file_uri: 'https://media.example.com/a.mp4' } },
        ],
      },
    ],
    generationConfig: { thinkingConfig: { thinkingLevel: 'high', includeThoughts: true } },
    max_tokens: 200,
  })
  t.equal(answer.status, 200)
  t.equal(answer.body.modelVersion, 'gen-3-pro-preview-file')
  const upstream = upstreamOf(marker)
  t.equal(upstream.usage.reasoning_tokens, 128)
  t.equal(answer.body.usageMetadata.thoughtsTokenCount, 128)
  t.same(await billed(answer.headers.get('x-call-id') ?? ''), owed(upstream))
})

void t.test('native streams have data frames only', async (t) => {
  const marker = name()
  const body = { contents: [{ parts: [{ text: `Hello [[client=${marker}]]` }] }] }
  const answer = await native('streamGenerateContent?alt=sse', body)
  t.equal(answer.status, 200)
  const frames = answer.text.split('\n\n').filter((frame) => frame !== '')
  for (const frame of frames)
    t.match(JSON.parse(frame.slice('data: '.length)), { modelVersion: 'gen-3-pro-preview-file' })
  t.match(frames.at(-1), /"finishReason":"STOP"/)
  t.same(await billed(answer.headers.get('x-call-id') ?? ''), owed(upstreamOf(marker)))
})

void t.test('lists the models of the token', async (t) => {
  const ids = (await client.models.list()).data.map(({ id }) => id)
  t.ok(ids.includes(model) && ids.includes('gen-3-pro-preview-file'))
  t.match(await client.models.retrieve(model), { id: model, owned_by: 'gateway' })
  await t.rejects(client.models.retrieve('text-nothing'), { code: 'model_not_found' })
})

void t.test('a provider’s refusal is answered in our words and costs nothing', async (t) => {
  const before = (await allLines()).length
  const cases: readonly (readonly [string, number, string | null])[] = [
    ['refuse=context_length_exceeded', 400, 'context_length_exceeded'],
    ['refuse=invalid_api_key', 503, 'model_unavailable'],
    ['refuse=billing_hard_limit_reached', 503, 'model_unavailable'],
    ['http=500', 502, 'upstream_unavailable'],
    ['http=529', 503, 'upstream_overloaded'],
    ['malformed', 502, 'upstream_error'],
    ['drop-after-accept', 502, 'upstream_unavailable'],
    // Last: the channel rests for as long as it says.
    ['refuse=rate_limit_exceeded retry-after=1', 429, 'rate_limit_exceeded'],
  ]
  for (const [fault, status, code] of cases) {
    const answer = await call(`${url}/v1/chat/completions`, {
      method: 'POST',
      token: demo.modelToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: say(`[[sandbox ${fault}]]`) }),
    })
    t.match(
      { status: answer.status, error: answer.body.error },
      { status, error: { code, message: /\w/, type: String } },
      fault,
    )
    t.notMatch(answer.text, /openai|sandbox|org-|127\.0\.0\.1/i, 'and names nobody')
    const mayRetry = answer.headers.get('x-should-retry') !== 'false'
    t.equal(mayRetry, status < 500, 'only what certainly was not done may be sent again')
    if (status === 429) t.equal(answer.headers.get('retry-after'), '1')
  }
  t.equal((await allLines()).length, before)
  await eventually('the end of the rest', async () => {
    const answer = client.chat.completions.create({ model, messages: say('Again?') })
    return answer.catch(() => undefined)
  })
})

void t.test('a stream that breaks off is reported in the stream', async (t) => {
  for (const fault of ['error-after=3', 'cut-after=3']) {
    const stream = await client.chat.completions.create({
      model,
      messages: say(`[[sandbox ${fault}]]`),
      stream: true,
    })
    let frames = 0
    await t.rejects(
      async () => {
        for await (const chunk of stream) frames += chunk.choices.length
      },
      { type: 'server_error', code: 'upstream_unavailable' },
    )
    t.ok(frames > 0, `${frames} frames came before`)
  }
})

void t.test('a caller who hangs up pays the usage so far', async (t) => {
  const marker = name()
  const leaving = new AbortController()
  const { data: stream, response } = await client.chat.completions
    .create(
      {
        model,
        messages: say(`[[sandbox words=60 frame-ms=10]][[client=${marker}]]`),
        stream: true,
      },
      { signal: leaving.signal },
    )
    .withResponse()
  const callId = response.headers.get('x-call-id') ?? ''
  for await (const chunk of stream) {
    t.ok(chunk.id)
    leaving.abort()
    break
  }
  const lines = await eventually('the settlement', async () => {
    const found = await linesOf(callId)
    return found.length > 0 ? found : undefined
  })
  t.ok(lines.every(({ measurement }) => measurement === 'reported'))
  t.same(await billed(callId), owed(upstreamOf(marker)))
})

void t.test('every success of the provider’s record is on the ledger, once', async (t) => {
  await stack.caughtUp()
  t.notMatch(stack.logged(), /a prompt worth keeping/, 'no prompt was logged')
  const ended = stack.sandbox
    .calls()
    .slice(callsBefore)
    .filter((each) => each.success && each.ending === 'whole' && each.http_status === 200)
    .filter((each) => !each.error_sent)
  const expected = new Map<string, number>()
  for (const each of ended)
    for (const [sku, quantity] of Object.entries(owed(each)))
      expected.set(sku, (expected.get(sku) ?? 0) + quantity)
  const items = await allLines()
  const actual = new Map<string, number>()
  for (const { sku, quantity, measurement } of items)
    if (measurement === 'reported') actual.set(sku, (actual.get(sku) ?? 0) + quantity)
  t.same(Object.fromEntries(actual), Object.fromEntries(expected))
  t.ok(actual.size > 8, `${actual.size} SKUs were compared`)
})
