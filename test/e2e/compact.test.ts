import OpenAI from 'openai'
import t from 'tap'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf } from './support/client.ts'

/** A conversation is compacted as a call: billed by its usage, and settled before it is delivered. */

const stack = await sharedStack(t)
const { url, demo } = stack
const finance = queriesOf(url, demo.queryToken)
const path = '/v1/responses/compact'

const post = (body: object, more: { readonly token?: string; readonly key?: string } = {}) =>
  call(`${url}${path}`, {
    method: 'POST',
    token: more.token ?? demo.modelToken,
    headers: {
      'content-type': 'application/json',
      ...(more.key === undefined ? {} : { 'idempotency-key': more.key }),
    },
    body: JSON.stringify(body),
  })

async function linesOf({ headers }: Answer): Promise<readonly Record<string, unknown>[]> {
  await stack.caughtUp()
  const { body } = await finance.lines(`source_id=${headers.get('x-call-id')}`)
  return body.data.items as readonly Record<string, unknown>[]
}
const conversation = (switches = '') => ({
  model: 'text-basic',
  input: [
    { role: 'user', content: `First ${switches}` },
    { role: 'assistant', content: 'An answer' },
    { role: 'user', content: `Second ${switches}` },
  ],
})

t.test('a compacted conversation is billed by its usage, and goes on', async (t) => {
  const answer = await post(conversation())
  t.match(answer, {
    status: 200,
    body: {
      id: /^resp_/,
      object: 'response.compaction',
      output: [{ role: 'user' }, { role: 'user' }, { type: 'compaction', encrypted_content: /./ }],
      usage: { input_tokens: Number, output_tokens: Number },
    },
  })
  t.notOk('tool_calls' in answer.body)
  const { input_tokens: input, output_tokens: output } = answer.body.usage
  const lines = await linesOf(answer)
  t.same(Object.fromEntries(lines.map(({ sku, quantity }) => [sku, quantity])), {
    'text-basic-input-token': input,
    'text-basic-output-token': output,
  })
  for (const line of lines)
    t.match(line, { surface: 'v1.responses.compact', measurement: 'reported' })
  t.match(answer.headers.get('x-cost'), /^0\.0\d+$/)
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken })
  const next = await client.responses.create({
    model: 'text-basic',
    input: [...answer.body.output, { role: 'user', content: 'Third' }],
  })
  t.match(next.output_text, /\w/)
  const official = await client.responses.compact(conversation() as never)
  t.match(official, { object: 'response.compaction', output: [{}, {}, { type: 'compaction' }] })
})

t.test('a retry under one key is charged once, and a failure costs nothing', async (t) => {
  const [one, two] = [
    await post(conversation(), { key: 'compact-1' }),
    await post(conversation(), { key: 'compact-1' }),
  ]
  t.same(two.body, one.body)
  t.equal(two.headers.get('x-call-id'), one.headers.get('x-call-id'))
  t.equal((await linesOf(one)).length, 2)
  for (const switches of ['fail=server_error', 'malformed', 'http=500']) {
    const failed = await post(conversation(`[[sandbox ${switches}]]`))
    t.ok(failed.status >= 500, `${switches}: ${failed.text}`)
    t.same(await linesOf(failed), [])
  }
  const silent = await post(conversation('[[sandbox no-usage]]'))
  t.equal(silent.status, 200)
  for (const line of await linesOf(silent)) t.match(line, { measurement: 'estimated' })
})

t.test('what has no meaning here, and ids of another tenant, are refused by name', async (t) => {
  for (const [more, param] of [
    [{ stream: true }, 'stream'],
    [{ max_output_tokens: 5 }, 'max_output_tokens'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ input: undefined }, 'input'],
  ] as const)
    t.match(await post({ ...conversation(), ...more }), { status: 400, body: { error: { param } } })
  const made = await call(`${url}/v1/responses`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', input: 'Hello' }),
  })
  const own = await post({ ...conversation(), previous_response_id: made.body.id })
  t.equal(own.status, 200, own.text)
  const [theirs, missing] = await Promise.all(
    [String(made.body.id), 'resp_nothing'].map((previous_response_id) =>
      post({ ...conversation(), previous_response_id }, { token: stack.other.modelToken }),
    ),
  )
  t.match(theirs, { status: 400, body: { error: { code: 'previous_response_not_found' } } })
  t.same(theirs?.body, missing?.body)
})
