import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import t from 'tap'
import { startStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { call, queriesOf, steadyHeaders, type Answer } from './support/client.ts'

const stack = await startStack({
  hosts: { 'models.example.com': ['93.184.216.34'] },
  // An account with a public address: what lies there must not be referred to.
  channels: (ours) => [
    ...ours,
    ...ours.flatMap((channel) =>
      channel.family === 'native'
        ? [{ ...channel, id: 'far', baseUrl: 'https://models.example.com/v1beta', priority: 9 }]
        : [],
    ),
  ],
})
t.teardown(() => stack.stop())
const replica = await stack.replica()
const { demo, other } = stack
const clientOf = (baseUrl: string, apiKey: string) =>
  new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries: 0 })
const client = clientOf(stack.url, demo.modelToken)
const model = 'text-basic'

function post(path: string, body: object, token = demo.modelToken): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  return call(`${stack.url}${path}`, { method: 'POST', token, headers, body: JSON.stringify(body) })
}

void t.test('the official client continues a response, on either replica', async (t) => {
  const first = await client.responses.create({ model, input: 'one' })
  const second = await client.responses.create({
    model,
    input: 'two',
    previous_response_id: first.id,
  })
  t.equal(second.previous_response_id, first.id)
  t.not(second.id, first.id)
  t.ok(Number(second.usage?.input_tokens) > Number(first.usage?.total_tokens))
  const stream = clientOf(replica.url, demo.modelToken).responses.stream({
    model,
    input: 'three',
    previous_response_id: second.id,
  })
  const ids = new Set<string>()
  stream.on('response.created', ({ response }) => void ids.add(response.id))
  stream.on('response.in_progress', ({ response }) => void ids.add(response.id))
  const third = await stream.finalResponse()
  t.same([...ids], [third.id])
  t.equal(third.previous_response_id, second.id)
  t.ok(await client.responses.create({ model, input: 'four', previous_response_id: third.id }))
  const upstream = stack.sandbox.calls({ family: 'responses' }).map(({ id }) => id)
  for (const { id } of [first, second, third]) t.notOk(upstream.includes(id))
  t.same(new Set(upstream).size, 4)
})

void t.test('the official client sends an answer’s items back, reasoning included', async (t) => {
  const asked = { role: 'user' as const, content: 'one' }
  const first = await client.responses.create({ model: 'text-reason', input: [asked] })
  t.equal(first.output[0]?.type, 'reasoning')
  const told = first.output.flatMap((item) =>
    item.type === 'reasoning' || item.type === 'message' ? [item] : [],
  )
  t.equal(told.length, first.output.length)
  const input = [asked, ...told, asked]
  t.ok(await client.responses.create({ model: 'text-reason', input }))
  const foreign = clientOf(stack.url, other.modelToken)
  await t.rejects(foreign.responses.create({ model: 'text-reason', input }), {
    code: 'previous_response_not_found',
    param: 'input[1].id',
  })
})

interface SentItem {
  readonly type?: string
  readonly id?: string
}

/** A client that names what was answered before instead of repeating it, and what it sends. */
function referringClient(baseUrl: string, apiKey: string) {
  const sent: (readonly SentItem[])[] = []
  const provider = createOpenAI({
    baseURL: `${baseUrl}/v1`,
    apiKey,
    fetch: async (url, init) => {
      const { input } = JSON.parse(init?.body as string) as { readonly input: readonly SentItem[] }
      sent.push(input)
      return fetch(url, init)
    },
  })
  const options = {
    tools: {
      weather: tool({
        inputSchema: jsonSchema<{ readonly city: string }>({
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        }),
        execute: () => 'rain',
      }),
    },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  }
  return { model: (name: string) => provider.responses(name), options, sent }
}

const asked = { role: 'user' as const, content: 'Weather? [[sandbox tool=weather]]' }

/** Whether each request of a model's calls names items; tool calls alone come back whole. */
const naming = {
  'text-tools': [false, false, false, false, true],
  'text-reason': [false, true, false, true, true],
}
for (const [named, names] of Object.entries(naming))
  void t.test(
    `a client that references items by id makes tool round trips, with ${named}`,
    async (t) => {
      const { model, options, sent } = referringClient(stack.url, demo.modelToken)
      const whole = await generateText({ ...options, model: model(named), messages: [asked] })
      t.equal(whole.steps.length, 2)
      t.ok(whole.text.length > 0)
      const streamed = streamText({ ...options, model: model(named), messages: [asked] })
      t.ok((await streamed.text).length > 0)
      t.equal((await streamed.steps).length, 2)
      // The turns come back at another replica.
      const elsewhere = referringClient(replica.url, demo.modelToken)
      const messages = [
        asked,
        ...whole.response.messages,
        { role: 'user' as const, content: 'More' },
      ]
      const next = await generateText({ ...options, model: elsewhere.model(named), messages })
      t.ok(next.text.length > 0)
      const references = [...sent, ...elsewhere.sent].map((input) =>
        input.filter(({ type }) => type === 'item_reference'),
      )
      t.same(
        references.map((items) => items.length > 0),
        names,
      )
      for (const { id } of references.flat()) t.match(id, /^(?:fc|msg|rs)_[\w-]{40,}$/)

      const foreign = referringClient(stack.url, other.modelToken)
      const refused = generateText({ ...options, model: foreign.model(named), messages })
      await t.rejects(refused, { statusCode: 400, message: 'The previous response was not found.' })
    },
  )

void t.test('400, byte for byte, for another tenant’s response and an unknown one', async (t) => {
  const { id } = await client.responses.create({ model, input: 'mine' })
  const before = stack.sandbox.calls().length
  for (const stream of [false, true]) {
    const body = { model, input: 'yours?', stream }
    const ask = (previous_response_id: string) =>
      post('/v1/responses', { ...body, previous_response_id }, other.modelToken)
    const foreign = await ask(id)
    t.equal(foreign.status, 400)
    t.match(foreign.body, {
      error: {
        type: 'invalid_request_error',
        param: 'previous_response_id',
        code: 'previous_response_not_found',
        message: /\w/,
      },
    })
    const invented = [`resp_${'0'.repeat(id.length - 5)}`, 'resp_1', '', `${id.slice(0, -1)}A`]
    for (const none of invented) {
      const missing = await ask(none)
      t.equal(missing.status, foreign.status)
      t.equal(missing.text, foreign.text)
      t.same(steadyHeaders(missing), steadyHeaders(foreign))
    }
  }
  t.equal(stack.sandbox.calls().length, before, 'and nothing was sent')
  await t.rejects(
    clientOf(stack.url, other.modelToken).responses.create({
      model,
      input: 'x',
      previous_response_id: id,
    }),
    { code: 'previous_response_not_found', message: /^400 / },
  )
})

void t.test('400 for a file kept by the model service', async (t) => {
  const file_uri = 'https://models.example.com/v1beta/files/abc-123'
  const answer = await post('/v1beta/models/gen-3-pro-preview-file:generateContent', {
    contents: [{ parts: [{ file_data: { file_uri } }] }],
  })
  t.equal(answer.status, 400)
  t.match(answer.body.error, { message: /must not name a file of the model service/ })
})

const finance = queriesOf(stack.url, demo.queryToken)
async function searchesOf(answer: Answer) {
  await stack.caughtUp()
  const callId = answer.headers.get('x-call-id') ?? ''
  const { items } = (await finance.lines(`source_id=${callId}`)).body.data as {
    items: readonly { sku: string; quantity: number; amount: string; rule: string }[]
  }
  t.ok(items.length > 1, 'the call is on the ledger')
  return items
    .filter(({ sku }) => sku === 'web-search-call')
    .map(({ quantity, amount, rule }) => [quantity, Number(amount), rule])
}

void t.test('searches are on the ledger, streamed and not, and the audit agrees', async (t) => {
  const text = 'News? [[sandbox tool=web_search tool-searches=3]]'
  const chat = { model, messages: [{ role: 'user', content: text }], web_search_options: {} }
  const native = { contents: [{ parts: [{ text }] }], tools: [{ google_search: {} }] }
  for (const stream of [false, true]) {
    const answer = await post('/v1/chat/completions', { ...chat, stream })
    t.match(answer.text, /"url_citation"/)
    t.same(await searchesOf(answer), [[1, 0.01, 'text/chat/web-search-count']])
    const path = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    const generated = await post(`/v1beta/models/${model}:${path}`, native)
    t.match(generated.text, /"webSearchQueries"/)
    t.same(await searchesOf(generated), [[3, 0.03, 'text/native/web-search-count']])
  }
  const plain = { model, messages: [{ role: 'user', content: 'x' }], web_search_options: {} }
  t.same(await searchesOf(await post('/v1/chat/completions', plain)), [])
  const { code, stdout, stderr } = await tollgate(['audit', '--json'], environmentOf(stack))
  t.equal(code, 0, stdout + stderr)
  t.match(JSON.parse(stdout), { ok: true, findingsInAll: 0 })
})
