import OpenAI, { AuthenticationError, BadRequestError, NotFoundError, RateLimitError } from 'openai'
import t from 'tap'
import { DomainError } from '../../../src/kernel/errors.ts'
import { frame, type JsonObject } from '../support/memory-calls.ts'
import { chatCompletion, goodChat, listen, startText } from './support.ts'

const harness = await startText(t)
const { texts } = harness
const baseURL = `${await listen(harness)}/v1`
const client = new OpenAI({ baseURL, apiKey: 'sk-one', maxRetries: 0 })
const messages = [{ role: 'user' as const, content: 'Hello' }]
const model = 'text-basic'

const chunk = (delta: object, finish: string | null = null, part: object = {}) =>
  frame({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [{ index: 0, delta, finish_reason: finish }],
    usage: null,
    ...part,
  })
const usageChunk = frame(
  {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [],
    usage: chatCompletion.usage,
  },
  { usageOnly: true },
)

void t.test('chat', async (t) => {
  texts.answer = () => chatCompletion
  const { data, request_id } = await client.chat.completions
    .create({ model, messages })
    .withResponse()
  t.equal(data.choices[0]?.message.content, 'Hello')
  t.equal(data.usage?.total_tokens, 5)
  t.match(request_id, /^req_/)
})

void t.test('streaming chat, with and without usage', async (t) => {
  texts.steps = () => [
    chunk({ role: 'assistant', content: 'Hel' }),
    chunk({ content: 'lo' }, 'stop'),
    usageChunk,
  ]
  for (const include_usage of [false, true]) {
    const stream = await client.chat.completions.create({
      model,
      messages,
      stream: true,
      ...(include_usage ? { stream_options: { include_usage } } : {}),
    })
    let content = ''
    const usages: unknown[] = []
    for await (const each of stream) {
      content += each.choices[0]?.delta.content ?? ''
      if ('usage' in each) usages.push(each.usage)
    }
    t.equal(content, 'Hello')
    t.same(usages, include_usage ? [null, null, chatCompletion.usage] : [])
  }
})

void t.test('the stream helper puts tool call fragments together', async (t) => {
  const call = (fn: object, part: object = {}) =>
    chunk({ tool_calls: [{ index: 0, ...part, function: fn }] })
  texts.steps = () => [
    chunk({ role: 'assistant', content: null }),
    call({ name: 'weather', arguments: '' }, { id: 'call_1', type: 'function' }),
    call({ arguments: '{"city":' }),
    call({ arguments: '"Oslo"}' }),
    chunk({}, 'tool_calls'),
  ]
  const tools = [
    { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } },
  ]
  const final = await client.chat.completions
    .stream({ model, messages, tools })
    .finalChatCompletion()
  t.match(final.choices[0]?.message.tool_calls, [
    { id: 'call_1', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
  ])
  t.same(texts.streams.at(-1)?.body['tools'], tools)
})

void t.test('structured output', async (t) => {
  texts.answer = () => ({
    ...chatCompletion,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: '{"city":"Oslo"}' },
        finish_reason: 'stop',
      },
    ],
  })
  const parsed = await client.chat.completions.parse({
    model,
    messages,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'place', schema: { type: 'object' }, strict: true },
    },
  })
  t.same(parsed.choices[0]?.message.parsed, { city: 'Oslo' })
})

const message = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
}
const response: JsonObject = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model,
  output: [message],
  tools: [],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
}

void t.test('responses', async (t) => {
  texts.answer = () => response
  const answer = await client.responses.create({ model, input: 'Hello' })
  t.equal(answer.output_text, 'Hello')
})

void t.test('streaming responses, put together by the helper', async (t) => {
  const events: JsonObject[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
    {
      type: 'response.content_part.added',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    {
      type: 'response.output_text.delta',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'Hello',
    },
    { type: 'response.output_item.done', output_index: 0, item: message },
    { type: 'response.completed', response },
  ]
  texts.steps = () =>
    events.map((event, n) =>
      frame({ ...event, sequence_number: n }, { event: String(event['type']) }),
    )
  const seen: string[] = []
  const stream = client.responses.stream({ model, input: 'Hello' })
  stream.on('event', (event) => seen.push(event.type))
  const final = await stream.finalResponse()
  t.equal(final.output_text, 'Hello')
  t.same(
    seen,
    events.map(({ type }) => type),
  )
})

void t.test('models', async (t) => {
  const ids: string[] = []
  for await (const each of client.models.list()) ids.push(each.id)
  t.same(ids, ['gen-3-pro', model])
  t.equal((await client.models.retrieve(model)).owned_by, 'gateway')
  await t.rejects(client.models.retrieve('a/b'), { status: 404, code: 'model_not_found' })
})

async function failure(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await call
  } catch (error) {
    return error
  }
}

void t.test('failures become the client’s own errors', async (t) => {
  const create = async (as = client) => as.chat.completions.create({ model, messages })
  const other = new OpenAI({ baseURL, apiKey: 'sk-unknown', maxRetries: 0 })
  t.ok((await failure(create(other))) instanceof AuthenticationError)
  texts.failure = new DomainError('insufficient_balance', 'Nothing left', {})
  await t.rejects(create(), { status: 402, code: 'insufficient_balance' })
  texts.failure = new DomainError('rate_limited', 'Slow down', { retryAfterMs: 10 })
  t.ok((await failure(create())) instanceof RateLimitError)
  texts.failure = new DomainError('unknown_model', 'No such model', {})
  t.ok((await failure(create())) instanceof NotFoundError)
  texts.failure = undefined
  const empty = client.chat.completions.create({ model, messages: [] })
  t.ok((await failure(empty)) instanceof BadRequestError)
})

void t.test('the official client retries retryable failures only', async (t) => {
  const retrying = new OpenAI({ baseURL, apiKey: 'sk-one', maxRetries: 2 })
  const create = async () => retrying.chat.completions.create({ model, messages })
  let before = texts.calls.length
  texts.failure = new DomainError('rate_limited', 'Slow down', { retryAfterMs: 10 })
  await t.rejects(create())
  t.equal(texts.calls.length - before, 3, 'after the time we name')
  before = texts.calls.length
  texts.failure = new DomainError('upstream_timeout', 'No answer', { acceptance: 'unknown' })
  await t.rejects(create())
  t.equal(texts.calls.length - before, 1, 'never where it could be billed twice')
  texts.failure = undefined
})

void t.test('a failure in the middle of a stream is thrown by the client', async (t) => {
  texts.steps = () => [
    chunk({ content: 'a' }),
    () => {
      throw new DomainError('upstream_unavailable', 'The answer broke off', {})
    },
  ]
  const stream = await client.chat.completions.create({ ...goodChat, messages, stream: true })
  await t.rejects(
    async () => {
      for await (const each of stream) t.ok(each.id)
    },
    { code: 'upstream_unavailable', message: /broke off/ },
  )
})
