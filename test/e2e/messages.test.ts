import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import type { CallView } from '../../infra/sandbox/calls/store.ts'
import { sharedStack } from '../helpers/stack.ts'
import { call, queriesOf } from './support/client.ts'
import { owed } from './support/text-owed.ts'

/** The official client of messages, unmodified, and the ledger lines of its calls. */

const stack = await sharedStack(t)
const { url, demo } = stack
const client = new Anthropic({ baseURL: url, apiKey: demo.modelToken })
const finance = queriesOf(url, demo.queryToken)

let named = 0
/** A marker by which the provider's record is found. */
const name = () => `messages-${(named += 1)}`
const say = (content: string) => [{ role: 'user' as const, content }]

function upstreamOf(marker: string): CallView {
  const found = stack.sandbox.calls().filter(({ client_marker }) => client_marker === marker)
  if (found[0] === undefined || found.length > 1) throw new Error(`not one call of ${marker}`)
  return found[0]
}

interface Line {
  readonly sku: string
  readonly quantity: number
  readonly measurement: string
  readonly surface: string
  readonly rule: string
}

async function linesOf(callId: string | null): Promise<readonly Line[]> {
  await stack.caughtUp()
  return (await finance.lines(`source_id=${callId}`)).body.data.items as readonly Line[]
}

async function billed(callId: string | null): Promise<Record<string, number>> {
  return Object.fromEntries((await linesOf(callId)).map(({ sku, quantity }) => [sku, quantity]))
}

const figures = 'cached-tokens=11 cache-write-5m=7 cache-write-1h=5'
const all = `[[sandbox ${figures}]] ${'word '.repeat(40)}`

t.test('a message is answered and settled as the provider reports it', async (t) => {
  const marker = name()
  const { data, response, request_id } = await client.messages
    .create({ model: 'text-cache', max_tokens: 64, messages: say(`${all}[[client=${marker}]]`) })
    .withResponse()
  const callId = response.headers.get('x-call-id')
  t.match(data, {
    id: String(callId).replace('call_', 'msg_'),
    type: 'message',
    role: 'assistant',
    model: 'text-cache',
    content: [{ type: 'text', text: /\w/ }],
    stop_reason: 'end_turn',
    usage: { cache_read_input_tokens: 11, cache_creation_input_tokens: 12 },
  })
  t.match(request_id, /^req_/)
  t.equal(request_id, response.headers.get('x-request-id'))
  const lines = await billed(callId)
  t.same(lines, owed(upstreamOf(marker)))
  t.equal(Object.keys(lines).length, 5, 'input, cached input, both cache writes, output')
  for (const line of await linesOf(callId))
    t.match(line, { surface: 'v1.messages', measurement: 'reported', rule: /^text\/messages\// })
})

t.test('a stream is whole and settled like a plain answer, wherever its figures are', async (t) => {
  for (const switches of ['', 'figures=end', 'figures=both', 'compaction', 'cache-unsplit']) {
    const marker = name()
    const content = `[[sandbox ${figures} ${switches}]] ${'word '.repeat(40)}[[client=${marker}]]`
    const stream = client.messages.stream({
      model: 'text-cache',
      max_tokens: 64,
      messages: say(content),
    })
    const { data: events, response } = await stream.withResponse()
    const message = await events.finalMessage()
    const callId = response.headers.get('x-call-id')
    t.equal(message.id, String(callId).replace('call_', 'msg_'))
    t.match(message, { model: 'text-cache', stop_reason: 'end_turn', content: [{ text: /\w/ }] })
    const { usage } = upstreamOf(marker)
    const written = { cache_write_5m_tokens: 12, cache_write_1h_tokens: 0 }
    const reported = switches === 'cache-unsplit' ? { ...usage, ...written } : usage
    t.same(await billed(callId), owed({ ...upstreamOf(marker), usage: reported }), switches)
    for (const { measurement } of await linesOf(callId)) t.equal(measurement, 'reported')
  }
})

t.test('a later zero undoes no figure of a stream', async (t) => {
  const marker = name()
  const stream = client.messages.stream({
    model: 'text-cache',
    max_tokens: 64,
    messages: say(
      `[[sandbox ${figures} figures=undone]] ${'word '.repeat(40)}[[client=${marker}]]`,
    ),
  })
  const { data: events, response } = await stream.withResponse()
  await events.finalMessage()
  t.same(await billed(response.headers.get('x-call-id')), owed(upstreamOf(marker)))
})

t.test('thinking, tools and their results go back and forth', async (t) => {
  const tools = [
    {
      name: 'weather',
      input_schema: {
        type: 'object' as const,
        properties: { city: { type: 'string' } },
        required: ['city'],
      },
    },
  ]
  const first = say('[[sandbox tool=weather thoughts]] How is the weather?')
  const asked = { model: 'text-reason', max_tokens: 256, tools }
  const thinking = { type: 'enabled' as const, budget_tokens: 1_024 }
  const one = await client.messages.create({ ...asked, thinking, messages: first })
  t.match(one.content, [
    { type: 'thinking', signature: /./ },
    { type: 'tool_use', name: 'weather', input: { city: 'sample' } },
  ])
  const use = one.content.find(({ type }) => type === 'tool_use')
  const result = {
    type: 'tool_result' as const,
    tool_use_id: use?.type === 'tool_use' ? use.id : '',
    content: 'Sunny',
  }
  const two = client.messages.stream({
    ...asked,
    thinking,
    messages: [
      ...first,
      { role: 'assistant', content: one.content },
      { role: 'user', content: [result] },
    ],
  })
  t.match(await two.finalMessage(), { stop_reason: 'end_turn' })
  const searched = await client.messages
    .create({
      ...asked,
      model: 'text-tools',
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      messages: say('[[sandbox tool=web_search tool-searches=2]] News?'),
    })
    .withResponse()
  t.match(searched.data.usage.server_tool_use, { web_search_requests: 2 })
  t.match(await billed(searched.response.headers.get('x-call-id')), { 'web-search-call': 2 })
})

t.test('the tier that served a call is billed, whichever was asked for', async (t) => {
  for (const [switches, tier] of [
    ['', '-fast'],
    ['served=standard', ''],
  ] as const)
    for (const stream of [false, true]) {
      const answer = await call(`${url}/v1/messages`, {
        method: 'POST',
        token: demo.modelToken,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'text-basic',
          max_tokens: 64,
          speed: 'fast',
          stream,
          messages: say(`[[sandbox ${switches}]] Hello`),
        }),
      })
      t.equal(answer.status, 200, answer.text)
      t.same(Object.keys(await billed(answer.headers.get('x-call-id'))).toSorted(), [
        `text-basic-input-token${tier}`,
        `text-basic-output-token${tier}`,
      ])
    }
  const refused = await client.messages
    .create({ model: 'text-basic', max_tokens: 9, speed: 'slow', messages: say('Hi') } as never)
    .catch((error: unknown) => error)
  t.match(refused, { status: 400, message: /`speed` must be one of default, fast/ })
})

t.test('a long prompt has prices of its own, and caches are part of its length', async (t) => {
  for (const [cached, tier] of [
    [99_999 - 100, ''],
    [100_001, '-long'],
  ] as const) {
    const { response } = await client.messages
      .create({
        model: 'text-cache',
        max_tokens: 64,
        messages: say(
          `[[sandbox cached-tokens=${cached} cache-write-5m=0]] ${'word '.repeat(9_000)}`,
        ),
      })
      .withResponse()
    const skus = Object.keys(await billed(response.headers.get('x-call-id')))
    t.ok(skus.includes(`text-cache-cached-input-token${tier}`), skus.join())
    t.ok(skus.includes(`text-cache-output-token${tier}`), skus.join())
  }
})

t.test('errors reach the client as its own, with its request id', async (t) => {
  const ask = (content: string, more: object = {}) =>
    client.messages
      .create({ model: 'text-basic', max_tokens: 9, messages: say(content), ...more })
      .then(
        () => undefined,
        (error: unknown) => error as InstanceType<typeof Anthropic.APIError>,
      )
  t.match(await ask('hello', { model: 'no-such-model' }), {
    status: 404,
    requestID: /^req_/,
    error: {
      type: 'error',
      error: { type: 'not_found_error', details: { error_code: 'model_not_found' } },
      request_id: /^req_/,
    },
  })
  t.match(await ask('hello', { max_tokens: 0 }), {
    status: 400,
    error: { error: { type: 'invalid_request_error', message: /`max_tokens` must be/ } },
  })
  const overloaded = await call(`${url}/v1/messages`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'text-basic',
      max_tokens: 9,
      messages: say('[[sandbox refuse=overloaded_error]]'),
    }),
  })
  t.match(overloaded, { status: 529, body: { error: { type: 'overloaded_error' } } })
  t.match(overloaded.headers.get('retry-after'), /^\d+$/)
  t.match(await ask('[[sandbox refuse=invalid_request_error]]'), {
    status: 400,
    error: { error: { type: 'invalid_request_error', message: /not valid/ } },
  })
  const stranger = new Anthropic({ baseURL: url, apiKey: 'sk-nobody' })
  const refused = await stranger.messages
    .create({ model: 'text-basic', max_tokens: 9, messages: say('hello') })
    .catch((error: unknown) => error)
  t.match(refused, { status: 401, error: { error: { type: 'authentication_error' } } })
})

t.test('an error within a stream is an event of the client, and costs nothing', async (t) => {
  const stream = client.messages.stream({
    model: 'text-basic',
    max_tokens: 64,
    messages: say('[[sandbox error-after=4 fail=overloaded_error]] Hello'),
  })
  const { data: events, response } = await stream.withResponse()
  const error = await events.finalMessage().catch((failed: unknown) => failed)
  t.match(error, { error: { type: 'error', error: { type: /_error$/ } } })
  t.same(await billed(response.headers.get('x-call-id')), {})
})

t.test('the token may come in `x-api-key`', async (t) => {
  const answer = await call(`${url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': demo.modelToken },
    body: JSON.stringify({ model: 'text-basic', max_tokens: 9, messages: say('Hello') }),
  })
  t.match(answer, { status: 200, body: { type: 'message' } })
  t.equal(answer.headers.get('request-id'), answer.headers.get('x-request-id'))
  t.match(answer.headers.get('x-cost'), /^0\.0\d+$/)
})

const post = (body: object, headers: Readonly<Record<string, string>> = {}) =>
  call(`${url}/v1/messages`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

t.test('the id of a message finds its call, for its tenant alone', async (t) => {
  const { body, headers } = await post({ model: 'text-basic', max_tokens: 9, messages: say('Hi') })
  const callId = String(headers.get('x-call-id'))
  await stack.caughtUp()
  const own = await call(`${url}/v1/receipts/${body.id}`, { token: demo.modelToken })
  t.match(own, { status: 200, body: { id: callId } })
  t.match(await finance.get(`/tasks/${body.id}/history`), { status: 200 })
  const found = await finance.get(`/search?q=${body.id}`)
  t.match(found.text, callId)
  const missing = `msg_${'0'.repeat(26)}`
  const [theirs, none] = await Promise.all(
    [String(body.id), missing].map((id) =>
      call(`${url}/v1/receipts/${id}`, { token: stack.other.modelToken }),
    ),
  )
  t.equal(theirs?.status, 404)
  t.equal(theirs?.text.replace(/req_\w+/, ''), none?.text.replace(/req_\w+/, ''))
  const others = queriesOf(url, stack.other.queryToken)
  const [life, missed] = await Promise.all(
    [String(body.id), missing].map((id) => others.get(`/tasks/${id}/history`)),
  )
  t.equal(life?.status, 404)
  t.equal(life?.text.replace(/req_\w+/, ''), missed?.text.replace(/req_\w+/, ''))
  t.notMatch((await others.get(`/search?q=${body.id}`)).text, callId)
})

t.test('nothing that a caller writes is in an event', async (t) => {
  const canary = 'canary-of-a-caller'
  const words = (switches: string) => [
    {
      role: 'user',
      content: [{ type: 'text', text: `${canary} [[sandbox words=5 ${switches}]]` }],
    },
  ]
  const body = {
    model: 'text-basic',
    max_tokens: 64,
    system: [{ type: 'text', text: canary }],
    tools: [{ name: canary, description: canary, input_schema: { title: canary } }],
    stop_sequences: [canary],
    metadata: { user_id: canary },
    mcp_servers: [
      { name: canary, url: `https://${canary}.example.com`, authorization_token: canary },
    ],
    context_management: { edits: [{ type: canary }] },
    [canary]: canary,
  }
  const ofClients = ['anthropic-beta', 'anthropic-x-canary', 'user-agent', 'x-app', 'cookie']
  const headers = Object.fromEntries(ofClients.map((one) => [one, canary]))
  for (const switches of ['', 'fail=api_error', 'refuse=invalid_request_error', 'no-usage'])
    for (const stream of [false, true]) {
      const answer = await post({ ...body, stream, messages: words(switches) }, headers)
      const callId = answer.headers.get('x-call-id')
      t.type(callId, 'string', answer.text)
      await stack.caughtUp()
      const history = await finance.get(`/tasks/${callId}/history`)
      // A request that is refused before it is accepted has no event.
      t.equal(history.status, switches.startsWith('refuse=') ? 404 : 200)
      t.notOk(history.text.includes(canary), history.text)
    }
  const lines = JSON.stringify(stack.logged())
  t.match(lines, /v1\/messages/)
  t.notOk(lines.includes(canary), 'nor in a line of the log')
})
