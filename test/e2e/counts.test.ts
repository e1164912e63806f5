import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { COUNTS_AT_ONCE } from '../../src/app/spending/throttle/token-counts.ts'
import { textSettings } from '../../src/families/text/settings.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, callOnce, queriesOf } from './support/client.ts'

/** The tokens of a prompt are counted by its provider, on three wires: free, bounded, and recorded nowhere. */

/** The model of an account of messages that does not count. */
const stack = await startStack({
  channels: (channels) =>
    channels.flatMap((channel) => {
      if (channel.family !== 'messages') return [channel]
      const { 'text-tools': mute = '', ...models } = channel.models
      const settings = { ...textSettings(channel), countsTokens: false }
      return [
        { ...channel, models },
        { ...channel, id: 'sandbox-mute', models: { 'text-tools': mute }, settings },
      ]
    }),
})
t.teardown(() => stack.stop())
const { url, demo, access } = stack
const finance = queriesOf(url, demo.queryToken)

interface Wire {
  readonly path: string
  readonly body: (text: string) => object
  readonly figure: string
}
const wires: Readonly<Record<string, Wire>> = {
  messages: {
    path: '/v1/messages/count_tokens',
    body: (content) => ({ model: 'text-basic', messages: [{ role: 'user', content }] }),
    figure: 'input_tokens',
  },
  responses: {
    path: '/v1/responses/input_tokens',
    body: (input) => ({ model: 'text-basic', input }),
    figure: 'input_tokens',
  },
  native: {
    path: '/v1beta/models/text-basic:countTokens',
    body: (text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
    figure: 'totalTokens',
  },
  'native below /v1': {
    path: '/v1/models/text-basic:countTokens',
    body: (text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
    figure: 'totalTokens',
  },
}

const post = (path: string, body: object, token = demo.modelToken): Promise<Answer> =>
  call(`${url}${path}`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** A token of another user, whose limits no other test uses. */
async function newToken(name: string): Promise<string> {
  const { tenantId } = demo
  const userId = `user_${name}`
  await addUser(access, { tenantId, userId, name })
  const { secret } = await issueToken(access, { tenantId, userId, kind: 'model', name })
  await stack.caughtUp()
  return secret
}

t.test('official clients get the figure that the provider bills', async (t) => {
  const text = `How many? ${'word '.repeat(50)}`
  const messages = [{ role: 'user' as const, content: text }]
  const anthropic = new Anthropic({ baseURL: url, apiKey: demo.modelToken })
  const asked = { model: 'text-basic', messages }
  const counted = await anthropic.messages.countTokens(asked)
  const { usage } = await anthropic.messages.create({ ...asked, max_tokens: 5 })
  t.same(counted, { input_tokens: usage.input_tokens })
  const beta = await anthropic.beta.messages.countTokens(asked)
  t.equal(beta.input_tokens, usage.input_tokens)

  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken })
  const input = { model: 'text-basic', input: text, instructions: 'Be short' }
  const ofInput = await openai.responses.inputTokens.count(input)
  const response = await openai.responses.create(input)
  t.match(ofInput, {
    object: 'response.input_tokens',
    input_tokens: response.usage?.input_tokens ?? -1,
  })
  const next = { model: 'text-basic', input: 'Next', previous_response_id: response.id }
  const continued = await openai.responses.inputTokens.count(next)
  t.equal(continued.input_tokens, (await openai.responses.create(next)).usage?.input_tokens)

  const { path = '', body } = wires['native'] ?? {}
  const ofTurns = await post(path, body?.(text) ?? {})
  const generated = await post('/v1beta/models/text-basic:generateContent', body?.(text) ?? {})
  t.equal(ofTurns.body.totalTokens, generated.body.usageMetadata.promptTokenCount)
})

t.test('a whole native request is counted with its instruction and its tools', async (t) => {
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]
  const whole = {
    contents,
    systemInstruction: { parts: [{ text: 'Be short' }] },
    tools: [{ functionDeclarations: [{ name: 'weather', parameters: { type: 'OBJECT' } }] }],
  }
  const { path } = wires['native'] ?? { path: '' }
  const [turns, flat, nested, named] = await Promise.all([
    post(path, { contents }),
    post(path, whole),
    post(path, { generateContentRequest: { ...whole, model: 'models/text-basic' } }),
    post(path, { generate_content_request: whole }),
  ])
  t.ok(turns.body.totalTokens < flat.body.totalTokens)
  t.same(nested.body, flat.body)
  t.same(named.body, flat.body)
  const made = await post('/v1beta/models/text-basic:generateContent', whole)
  t.equal(made.body.usageMetadata.promptTokenCount, flat.body.totalTokens)
  for (const [body, field] of [
    [
      { generateContentRequest: { ...whole, model: 'models/other' } },
      'generateContentRequest.model',
    ],
    [{ generateContentRequest: whole, contents }, 'contents'],
    [{ contents: [] }, 'contents'],
    [{}, 'contents'],
  ] as const)
    t.match(await post(path, body), {
      status: 400,
      body: { error: { details: [{}, { fieldViolations: [{ field }] }] } },
    })
})

for (const [name, { path, body, figure }] of Object.entries(wires)) {
  t.test(`${name}: a count is free, and is in no event, log line or list of calls`, async (t) => {
    const before = stack.sandbox.calls().length
    const canary = `canary-of-${name.replaceAll(/\W/g, '-')}`
    const answer = await post(path, body(`Hello ${canary}`))
    t.match(answer, { status: 200, body: { [figure]: Number } }, answer.text)
    for (const header of ['x-call-id', 'x-cost', 'x-cost-currency'])
      t.equal(answer.headers.get(header), null, header)
    t.equal(answer.headers.get('cache-control'), 'no-store')
    t.equal(stack.sandbox.calls().length, before)
    await stack.caughtUp()
    const refused = await post(path, body(`[[sandbox refuse=nonsense]] ${canary}`))
    t.ok(refused.status >= 400, refused.text)
    t.notMatch(stack.logged(), canary)
    t.equal((await finance.get(`/search?q=${canary}`)).text.includes(canary), false)
  })

  t.test(`${name}: a provider's failure is that of a call`, async (t) => {
    const failed = async (switches: string) => {
      const { status, text, headers } = await post(path, body(`[[sandbox ${switches}]] Hello`))
      t.notMatch(
        text,
        /127\.0\.0\.1|sandbox-|0a1b2c3d|anthropic|google\.com|openai\.com/i,
        switches,
      )
      return { status, retry: headers.get('x-should-retry'), wait: headers.get('retry-after') }
    }
    t.match(await failed('http=404'), { status: 404 })
    t.match(await failed('http=401'), { status: 503 })
    t.match(await failed('http=429'), { status: 429, wait: /^\d+$/ })
    t.match(await failed('http=500'), { status: /^50\d$/ })
    t.match(await failed('malformed'), { status: 502 })
    t.match(await failed('http=400'), { status: 400 })
  })

  t.test(`${name}: models and members are refused as for a call`, async (t) => {
    const unknown = await post(path.replace('text-basic', 'no-such-model'), {
      ...body('Hello'),
      ...(path.includes(':') ? {} : { model: 'no-such-model' }),
    })
    t.equal(unknown.status, 404)
    t.match(unknown.text, /there is no model `no-such-model` here/)
    const empty = await post(path, {})
    t.equal(empty.status, 400, empty.text)
    const stranger = await post(path, body('Hello'), 'sk-nobody')
    t.equal(stranger.status, 401)
    const other = await call(`${url}${path}`, { token: demo.modelToken })
    t.match([other.status, other.headers.get('allow')], [405, 'POST'])
  })
}

t.test('an account that does not count is answered as such, and a call works', async (t) => {
  const asked = { model: 'text-tools', messages: [{ role: 'user', content: 'Hello' }] }
  const answer = await post('/v1/messages/count_tokens', asked)
  t.match(answer, {
    status: 404,
    body: {
      type: 'error',
      error: {
        type: 'not_found_error',
        message: /does not count tokens/,
        details: { error_code: 'not_offered' },
      },
      request_id: /^req_/,
    },
  })
  t.equal(answer.headers.get('request-id'), answer.headers.get('x-request-id'))
})

t.test('ids of another tenant read like missing ones', async (t) => {
  const { body } = await post('/v1/responses', { model: 'text-basic', input: 'Hello' })
  const [theirs, missing] = await Promise.all(
    [String(body.id), 'resp_nothing'].map((previous_response_id) =>
      post(
        '/v1/responses/input_tokens',
        { model: 'text-basic', input: 'Next', previous_response_id },
        stack.other.modelToken,
      ),
    ),
  )
  t.match(theirs, { status: 400, body: { error: { code: 'previous_response_not_found' } } })
  t.same(theirs?.body, missing?.body)
  const item = { type: 'item_reference', id: body.output[0].id }
  const reference = await post(
    '/v1/responses/input_tokens',
    { model: 'text-basic', input: [item] },
    stack.other.modelToken,
  )
  t.match(reference, { status: 400, body: { error: { code: 'previous_response_not_found' } } })
  for (const answer of [theirs, reference]) t.notMatch(answer?.text ?? '', String(body.id))
})

t.test('a provider that is silent is given up after ten seconds', async (t) => {
  const { path, body } = wires['messages'] as Wire
  const answer = await post(path, body('[[sandbox hang]] Hello'))
  t.match(answer, { status: 504, body: { error: { type: 'timeout_error' } } })
})

t.test('both kinds of official clients list the models, page by page', async (t) => {
  const anthropic = new Anthropic({ baseURL: url, apiKey: demo.modelToken })
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken })
  const listed: string[] = []
  for await (const { id } of anthropic.models.list({ limit: 3 })) listed.push(id)
  const { data } = await openai.models.list()
  t.same(
    listed,
    data.map(({ id }) => id),
  )
  t.ok(listed.length > 6, `${listed.length} models`)
  const key = { 'x-api-key': demo.modelToken }
  const all = await call(`${url}/v1/models?limit=1000`, { headers: key })
  t.match(all.body, { has_more: false, first_id: listed[0], last_id: listed.at(-1) })
  const one = await anthropic.models.retrieve('text-basic')
  t.match(one, { type: 'model', display_name: 'text-basic', created_at: /^\d{4}-/ })
  t.match(await openai.models.retrieve('text-basic'), { object: 'model', owned_by: 'gateway' })
})

t.test('200 counts at once are mostly refused, and calls go on', async (t) => {
  const token = await newToken('burst')
  const { path, body } = wires['messages'] as Wire
  const burst = Array.from({ length: 200 }, () =>
    post(path, body('[[sandbox first-byte-ms=1500]] Hello'), token),
  )
  await eventually('counts are under way', () =>
    stack.sandbox.requests().routes['messages.count']?.in_flight === COUNTS_AT_ONCE
      ? true
      : undefined,
  )
  t.match(await callOnce(url, token), /^call_/, 'a call of the same token is served')
  const answers = await Promise.all(burst)
  const of = (status: number) => answers.filter((one) => one.status === status)
  t.equal(of(200).length + of(429).length, answers.length)
  t.ok(of(200).length >= COUNTS_AT_ONCE && of(429).length > 0, `${of(200).length} served`)
  t.match(of(429)[0], {
    body: {
      error: {
        type: 'rate_limit_error',
        message: /at its limit of requests at a time that count tokens \(8\)/,
      },
    },
  })
  t.match(of(429)[0]?.headers.get('retry-after'), /^\d+$/)
  t.match(await callOnce(url, token), /^call_/)
})
