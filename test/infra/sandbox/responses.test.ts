import t from 'tap'
import { call, sandboxFor, type Loose } from './client.ts'
import { callOf, eventsIn, read, RESPONSES, sdk } from './text-client.ts'

const body = (input: unknown, more: object = {}): object => ({
  model: 'text-basic',
  input,
  ...more,
})
const stream = (input: unknown, more: object = {}): object => body(input, { stream: true, ...more })

const LOOKUP = {
  type: 'function' as const,
  name: 'look_up',
  strict: null,
  parameters: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] },
}

void t.test('an answer echoes the request and its usage adds up', async (t) => {
  const sandbox = await sandboxFor(t)
  const reply = await call(sandbox.url, 'POST', RESPONSES, body('hello', { metadata: { a: 'b' } }))
  t.equal(reply.status, 200)
  t.match(reply.json, {
    id: /^resp_/,
    object: 'response',
    status: 'completed',
    model: 'text-basic-2026-01-15',
    error: null,
    incomplete_details: null,
    metadata: { a: 'b' },
    output: [{ type: 'message', id: /^msg_/, role: 'assistant', status: 'completed' }],
  })
  const { usage, output } = reply.json
  t.equal(usage.input_tokens, 6)
  t.equal(usage.output_tokens, Math.ceil(Buffer.byteLength(output[0].content[0].text) / 4))
  t.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens)
})

void t.test('a stream sends every event in order, numbered, with the end last', async (t) => {
  const sandbox = await sandboxFor(t)
  const reply = await call(sandbox.url, 'POST', RESPONSES, stream('hi [[sandbox words=3]]'))
  const events = eventsIn(reply.text)
  t.strictSame(
    events.map(({ event }) => event),
    [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ],
  )
  t.ok(
    events.every(({ event, json }, index) => json.type === event && json.sequence_number === index),
  )
  const whole = await call(sandbox.url, 'POST', RESPONSES, body('hi [[sandbox words=3]]'))
  t.strictSame(events.at(-1)!.json.response.usage, whole.json.usage)
  t.equal(events[0]!.json.response.usage, null)
  t.notMatch(reply.text, /DONE/)
})

void t.test(
  'the official client reads answers, streams, structure and function calls',
  async (t) => {
    const sandbox = await sandboxFor(t)
    const client = sdk(sandbox)
    const input = 'hello [[sandbox words=30]]'
    const whole = await client.responses.create({ model: 'text-basic', input })
    t.match(whole.output_text, /\w+ \w+/)
    let text = ''
    let last: Loose
    for await (const event of await client.responses.create({
      model: 'text-basic',
      input,
      stream: true,
    })) {
      if (event.type === 'response.output_text.delta') text += event.delta
      last = event
    }
    t.equal(text, whole.output_text)
    t.equal(last.type, 'response.completed')

    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const format = { type: 'json_schema' as const, name: 'n', schema }
    const formed = await client.responses.create({ model: 'text-basic', input, text: { format } })
    t.strictSame(JSON.parse(formed.output_text), { n: 1 })

    const asked = 'look [[sandbox tool=look_up]]'
    const made = await client.responses.create({
      model: 'text-tools',
      input: asked,
      tools: [LOOKUP],
    })
    const item = made.output[0] as Loose
    t.match(item, {
      type: 'function_call',
      call_id: /^call_/,
      name: 'look_up',
      status: 'completed',
    })
    t.strictSame(JSON.parse(item.arguments), { key: 'sample' })
    const next = await client.responses.create({
      model: 'text-tools',
      tools: [LOOKUP],
      input: [
        { role: 'user', content: asked },
        item,
        { type: 'function_call_output', call_id: item.call_id, output: 'found' },
      ],
    })
    t.equal(next.output[0]!.type, 'message')
  },
)

void t.test('function calls are streamed in fragments', async (t) => {
  const sandbox = await sandboxFor(t)
  const forced = { tools: [LOOKUP], tool_choice: { type: 'function', name: 'look_up' } }
  const reply = await call(sandbox.url, 'POST', RESPONSES, stream('look', forced))
  const events = eventsIn(reply.text)
  const of = (name: string) => events.filter(({ event }) => event === name).map(({ json }) => json)
  t.match(of('response.output_item.added')[0].item, { type: 'function_call', arguments: '' })
  const deltas = of('response.function_call_arguments.delta')
  t.ok(deltas.length > 1)
  const [done] = of('response.function_call_arguments.done')
  t.equal(deltas.map(({ delta }) => delta).join(''), done.arguments)
  t.equal(done.name, 'look_up')
  t.equal(done.item_id, of('response.output_item.added')[0].item.id)
})

void t.test('built-in tools are used when offered and requested, and counted', async (t) => {
  const sandbox = await sandboxFor(t)
  const tools = [
    { type: 'web_search_preview' },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
  ]
  const unused = await call(sandbox.url, 'POST', RESPONSES, body('x', { tools }))
  t.equal(unused.json.output.length, 1)
  const asked =
    'x [[sandbox tool=web_search,code_interpreter,file_search tool-searches=2]] [[client=b]]'
  const reply = await call(sandbox.url, 'POST', RESPONSES, stream(asked, { tools }))
  const events = eventsIn(reply.text)
  const { output } = events.at(-1)!.json.response
  t.strictSame(
    output.map((item: Loose) => item.type),
    [
      'web_search_call',
      'web_search_call',
      'code_interpreter_call',
      'code_interpreter_call',
      'file_search_call',
      'file_search_call',
      'message',
    ],
  )
  for (const name of [
    'response.web_search_call.searching',
    'response.code_interpreter_call_code.done',
    'response.code_interpreter_call.interpreting',
    'response.file_search_call.completed',
  ]) {
    t.equal(events.filter(({ event }) => event === name).length, 2, name)
  }
  const { tool_calls } = await callOf(sandbox, 'b')
  t.strictSame(tool_calls, { web_search: 2, code_interpreter: 2, file_search: 2 })
})

void t.test('an answer may end incomplete or failed, with its usage', async (t) => {
  const sandbox = await sandboxFor(t)
  const end = async (prompt: string, more: object = {}) => {
    const whole = await call(sandbox.url, 'POST', RESPONSES, body(prompt, more))
    const streamed = await call(sandbox.url, 'POST', RESPONSES, stream(prompt, more))
    const last = eventsIn(streamed.text).at(-1)!
    t.equal(whole.status, 200)
    t.equal(last.event, `response.${whole.json.status}`)
    t.strictSame(last.json.response.usage, whole.json.usage)
    return whole.json
  }
  t.match(await end('x [[sandbox incomplete]]'), {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    usage: { output_tokens: Number },
  })
  t.match(await end('x [[sandbox words=50]]', { max_output_tokens: 5 }), {
    status: 'incomplete',
    usage: { output_tokens: 5 },
  })
  t.match(await end('x [[sandbox blocked]]'), {
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
    output: [],
  })
  t.match(await end('x [[sandbox fail=server_error]]'), {
    status: 'failed',
    error: { code: 'server_error', message: String },
    usage: null,
  })
  const billed = await end('x [[sandbox fail=rate_limit_exceeded usage-in-failed]]')
  t.match(billed, { status: 'failed', usage: { input_tokens: Number } })
  const outcomes = sandbox.calls().map(({ outcome, usage_sent }) => `${outcome} ${usage_sent}`)
  t.strictSame(
    [...new Set(outcomes)],
    ['incomplete true', 'blocked true', 'failed false', 'failed true'],
  )
})

void t.test('an error event breaks a stream off; reasoning is streamed as a summary', async (t) => {
  const sandbox = await sandboxFor(t)
  const reply = await read(sandbox.url + RESPONSES, stream('x [[sandbox error-after=5]]'))
  const events = eventsIn(reply.text)
  t.equal(reply.complete, true)
  t.equal(events.length, 6)
  t.match(events.at(-1), {
    event: 'error',
    json: { type: 'error', sequence_number: 5, code: 'server_error' },
  })

  const thinking = { model: 'text-reason', reasoning: { effort: 'low', summary: 'auto' } }
  const thought = await call(sandbox.url, 'POST', RESPONSES, stream('x', thinking))
  const names = new Set(eventsIn(thought.text).map(({ event }) => event))
  t.ok(names.has('response.reasoning_summary_text.delta'))
  const { output, usage } = eventsIn(thought.text).at(-1)!.json.response
  t.match(output[0], { type: 'reasoning', summary: [{ type: 'summary_text', text: /\w/ }] })
  t.equal(usage.output_tokens_details.reasoning_tokens, 32)

  const strange = await read(sandbox.url + RESPONSES, stream('x [[sandbox unknown-events]]'))
  t.match(strange.text, /event: response\.x_sandbox\.unknown\n/)
  const cut = await read(
    sandbox.url + RESPONSES,
    stream('x [[sandbox cut-before-usage]] [[client=k]]'),
  )
  t.equal(eventsIn(cut.text).at(-1)!.event, 'response.output_item.done')
  t.match(await callOf(sandbox, 'k'), { usage_sent: false, ending: 'cut' })
})

void t.test('members and parts of other wires are refused as this upstream does', async (t) => {
  const sandbox = await sandboxFor(t)
  const refused = async (asked: object, code: string, param: string) => {
    const reply = await call(sandbox.url, 'POST', RESPONSES, asked)
    t.equal(reply.status, 400)
    t.match(reply.json.error, { code, param })
  }
  await refused(
    body('x', { response_format: { type: 'text' } }),
    'unsupported_parameter',
    'response_format',
  )
  await refused(body('x', { messages: [] }), 'unsupported_parameter', 'messages')
  await refused(body(undefined), 'missing_required_parameter', 'input')
  const part = (role: string, type: string) => [{ role, content: [{ type, text: 'x' }] }]
  await refused(body(part('user', 'text')), 'invalid_value', 'input[0].content[0]')
  await refused(body(part('assistant', 'input_text')), 'invalid_value', 'input[0].content[0]')
  await refused(body(part('user', 'output_text')), 'invalid_value', 'input[0].content[0]')
  const both = [
    ...part('user', 'input_text'),
    ...part('assistant', 'output_text'),
    ...part('user', 'input_text'),
  ]
  t.equal((await call(sandbox.url, 'POST', RESPONSES, body(both))).status, 200)
})

void t.test('a response is continued only by the account that keeps it', async (t) => {
  const sandbox = await sandboxFor(t)
  const post = (asked: object, key = 'one') =>
    call(sandbox.url, 'POST', RESPONSES, asked, { authorization: `Bearer ${key}` })
  const first = (await post(body('hello'))).json
  const next = await post(body('go on', { previous_response_id: first.id }))
  t.equal(next.json.previous_response_id, first.id)
  t.equal(next.json.usage.input_tokens, 6 + first.usage.total_tokens)
  const missing = async (id: string, key?: string) => {
    const { status, json } = await post(body('x', { previous_response_id: id }), key)
    t.equal(status, 400)
    t.match(json.error, { code: 'previous_response_not_found', param: 'previous_response_id' })
  }
  await missing('resp_nothing')
  await missing(first.id, 'two')
  await missing((await post(body('x', { store: false }))).json.id)
  await missing((await post(body('x [[sandbox fail=server_error]]'))).json.id)
  t.equal((await call(sandbox.url, 'POST', '/__sandbox/reset')).status, 200)
  await missing(first.id)
})

void t.test('a kept response is read and deleted by the account that keeps it', async (t) => {
  const sandbox = await sandboxFor(t)
  const ask = (method: string, path: string, asked?: object, key = 'one') =>
    call(sandbox.url, method, path, asked, { authorization: `Bearer ${key}` })
  const made = (await ask('POST', RESPONSES, body('hello'))).json
  const at = `${RESPONSES}/${made.id}`
  t.same((await ask('GET', at)).json, made)
  const error = { type: 'invalid_request_error', param: 'id', code: null }
  t.match(await ask('GET', at, undefined, 'two'), { status: 404, json: { error } })
  t.match(await ask('DELETE', at, undefined, 'two'), { status: 404, json: { error } })
  t.same((await ask('DELETE', at)).json, { id: made.id, object: 'response', deleted: true })
  t.match(await ask('GET', at), { status: 404, json: { error } })
  t.match(await ask('DELETE', at), { status: 404, json: { error } })
  const [item] = made.output
  const named = await ask('POST', RESPONSES, body([{ type: 'item_reference', id: item.id }]))
  t.equal(named.status, 404, 'its items are gone too')
})

void t.test('reasoning is looked up by its id unless it has its content', async (t) => {
  const sandbox = await sandboxFor(t)
  const post = (asked: object, key = 'one') =>
    call(sandbox.url, 'POST', RESPONSES, asked, { authorization: `Bearer ${key}` })
  const thinking = { model: 'text-reason', include: ['reasoning.encrypted_content'] }
  const [whole] = (await post(body('x', thinking))).json.output
  t.match(whole, { type: 'reasoning', encrypted_content: /\w/ })
  const { encrypted_content: _content, ...bare } = whole
  t.notOk('encrypted_content' in (await post(body('x', { model: 'text-reason' }))).json.output[0])
  const input = (item: unknown) => body([item, { role: 'user', content: 'x' }])
  t.equal((await post(input(bare))).status, 200)
  t.equal((await post(input(whole), 'two')).status, 200)
  const missing = await post(input(bare), 'two')
  t.equal(missing.status, 404)
  t.match(missing.json.error, { param: 'input', message: /not found/ })
})
