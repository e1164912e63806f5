import OpenAI from 'openai'
import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, steadyHeaders } from './support/client.ts'

/** Responses that an account keeps, read and deleted by the ids that callers have of them. */

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo, other, access, sandbox } = stack
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken, maxRetries: 0 })
const model = 'text-basic'
const at = (id: string) => `${url}/v1/responses/${encodeURIComponent(id)}`
const get = (id: string, token = demo.modelToken) => call(at(id), { token })
const del = (id: string, token = demo.modelToken) => call(at(id), { method: 'DELETE', token })
const asked = () => sandbox.requestLog().filter(({ method }) => method !== 'POST').length
const missingId = `resp_${'A'.repeat(80)}`

t.test('the official client reads a response as it was created, then deletes it', async (t) => {
  for (const fields of [
    { input: 'Hello' },
    { input: 'Hello', max_output_tokens: 64, model: 'text-reason' },
    { input: 'Hello [[sandbox tool=web_search]]', tools: [{ type: 'web_search' as const }] },
  ]) {
    const made = await client.responses.create({ model, ...fields })
    const read = await client.responses.retrieve(made.id)
    t.same(read, made)
    t.match(await client.responses.delete(made.id), { id: made.id, deleted: true })
    await t.rejects(client.responses.retrieve(made.id), { message: /^404/ })
    await t.rejects(
      client.responses.create({ model, input: 'on', previous_response_id: made.id }),
      { code: 'previous_response_not_found', message: /^400/ },
    )
  }
})

t.test('a streamed response is kept too, and its items have the ids of the stream', async (t) => {
  const stream = await client.responses.create({ model, input: 'Hello', stream: true })
  let last: OpenAI.Responses.Response | undefined
  for await (const event of stream) if (event.type === 'response.completed') last = event.response
  const { body } = await get(last?.id ?? '')
  t.same(body.output, last?.output)
})

t.test('a response that continues another can be continued as both ids say', async (t) => {
  const first = await client.responses.create({ model, input: 'One' })
  const second = await client.responses.create({
    model,
    input: 'Two',
    previous_response_id: first.id,
  })
  const { body } = await get(second.id)
  t.equal(body.id, second.id)
  const third = await client.responses.create({
    model,
    input: 'Three',
    previous_response_id: String(body.previous_response_id),
  })
  t.equal(third.status, 'completed')
  const [item] = body.output
  const named = await client.responses.create({
    model,
    input: [{ type: 'item_reference', id: String(item.id) }],
  })
  t.equal(named.status, 'completed')
})

t.test('both are free: no line, no hold, and the headers have no cost', async (t) => {
  await stack.caughtUp()
  const finance = queriesOf(url, demo.queryToken)
  const made = await client.responses.create({ model, input: 'Hello' })
  await stack.caughtUp()
  const lines = (await finance.lines('limit=500')).body.data.items.length
  const end = await stack.gateway.log.endPosition()
  const answers = [await get(made.id), await del(made.id), await del(made.id)]
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 404],
  )
  t.same(answers[1]?.body, { id: made.id, object: 'response', deleted: true })
  for (const { headers } of answers)
    t.same([headers.get('x-cost'), headers.get('x-call-id')], [null, null])
  t.equal(await stack.gateway.log.endPosition(), end)
  t.equal((await finance.lines('limit=500')).body.data.items.length, lines)
})

t.test(
  'another tenant’s id is answered byte for byte as a missing one, and not asked',
  async (t) => {
    const { id } = await client.responses.create({ model, input: 'Hello' })
    const before = asked()
    const alike = (one: Answer, two: Answer) => {
      t.match(one, { status: 404, body: { error: { code: 'previous_response_not_found' } } })
      t.equal(one.text, two.text)
      t.same(steadyHeaders(one), steadyHeaders(two))
    }
    alike(await get(id, other.modelToken), await get(missingId, other.modelToken))
    alike(await del(id, other.modelToken), await del(missingId, other.modelToken))
    for (const odd of [
      'x',
      'resp_',
      `${id}A`,
      id.slice(0, -1),
      `msg_${id.slice(5)}`,
      'x'.repeat(3_000),
    ])
      t.equal((await get(odd)).status, 404, odd)
    t.equal(asked(), before, 'no account was asked')

    const bound = await issueToken(access, {
      tenantId: demo.tenantId,
      userId: demo.userId,
      kind: 'model',
      name: 'bound',
      models: ['text-reason'],
    })
    await stack.caughtUp()
    alike(await get(id, bound.secret), await get(missingId, bound.secret))
    alike(await del(id, bound.secret), await del(missingId, bound.secret))
    t.equal((await get(id)).status, 200, 'it is still kept')
    const own = await client.responses.create({ model: 'text-reason', input: 'Hello' })
    t.equal((await del(own.id, bound.secret)).status, 200)
    t.equal((await get(id, demo.queryToken)).status, 403)
  },
)

t.test('what was not kept is missing, and a fault of the account is no 404', async (t) => {
  const unkept = await client.responses.create({ model, input: 'Hello', store: false })
  t.equal((await get(unkept.id)).status, 404)
  const { id } = await client.responses.create({ model, input: 'Hello' })
  for (const [switches, status] of [
    ['http=500', 502],
    ['http=429', 429],
    ['http=401', 503],
    ['garbage', 502],
    // The gateway asks once more on a new connection.
    ['drop-after-accept', 200],
  ] as const) {
    sandbox.faults.add({ faults: [switches], match: { family: 'responses', op: 'get' }, once: 1 })
    t.equal((await get(id)).status, status, switches)
  }
  t.equal((await get(id)).status, 200)
  t.equal((await call(`${at(id)}?stream=true`, { token: demo.modelToken })).status, 400)
})
