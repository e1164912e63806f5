import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import * as fc from 'fast-check'
import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'
import { character } from '../helpers/characters.ts'

/** Bodies of messages as a provider gets them: large ones, odd ones and halves of them. */

const MIB = 1024 * 1024
/** The body of the last request that came. */
let received = Buffer.alloc(0)
const provider = createServer((request, response) => {
  void buffer(request).then((body) => {
    received = body
    response.setHeader('content-type', 'application/json').end(
      JSON.stringify({
        id: 'msg_theirs',
        type: 'message',
        role: 'assistant',
        model: 'text-basic',
        content: [{ type: 'text', text: 'Hello' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 5, output_tokens: 2 },
      }),
    )
  })
})
provider.listen(0, '127.0.0.1')
await once(provider, 'listening')
t.teardown(() => {
  provider.closeAllConnections()
  provider.close()
})
const baseUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`
const stack = await startStack({
  channels: (all) =>
    all.map((one) =>
      one.family === 'messages' ? { ...one, baseUrl, models: { 'text-basic': 'text-basic' } } : one,
    ),
})
t.teardown(() => stack.stop())
const { url, demo } = stack

const post = (body: string | Buffer, token = demo.modelToken) =>
  call(`${url}/v1/messages`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body,
  })
const say = (content: unknown) => ({
  model: 'text-basic',
  max_tokens: 64,
  messages: [{ role: 'user', content }],
})

/** A body of so many bytes, nearly all of them an image. */
function withImage(bytes: number): Buffer {
  const source = { type: 'base64', media_type: 'image/png', data: '@' }
  const [before = '', after = ''] = JSON.stringify(say([{ type: 'image', source }])).split('@')
  const body = Buffer.alloc(bytes, 'A')
  body.write(before, 0)
  body.write(after, bytes - after.length)
  return body
}

t.test('32 MiB go on byte for byte, one more byte is 413 in the shape of this wire', async (t) => {
  const largest = withImage(32 * MIB)
  const taken = await post(largest)
  t.equal(taken.status, 200, taken.text)
  t.ok(received.equals(largest))
  for (const bytes of [32 * MIB + 1, 33 * MIB]) {
    received = Buffer.alloc(0)
    const refused = await post(withImage(bytes))
    t.match(refused, {
      status: 413,
      body: { type: 'error', error: { type: 'request_too_large' }, request_id: /^req_/ },
    })
    t.equal(refused.headers.get('request-id'), refused.body.request_id)
    t.equal(received.length, 0)
  }
})

t.test('half a body is 400 in the shape of this wire', async (t) => {
  const whole = JSON.stringify(say('Hello'))
  for (const half of [whole.slice(0, whole.length / 2), whole.slice(0, -1), '{', '']) {
    received = Buffer.alloc(0)
    const refused = await post(half)
    t.match(refused, {
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error' }, request_id: /^req_/ },
    })
    t.equal(received.length, 0)
  }
})

t.test('a session of 5,000 uses of tools goes on byte for byte', async (t) => {
  const use = (at: number) => {
    const id = `toolu_01AbCdEfGhIjKlMn${at}`
    const thinking = { type: 'thinking', thinking: `Look at ${at}`, signature: 'c2lnbmF0dXJl' }
    const input = { file_path: `src/part-${at}.ts`, old_string: `const a = ${at}`, file_id: 'mine' }
    return [
      {
        role: 'assistant',
        content: [thinking, { type: 'tool_use', id, name: 'Edit', input }],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: id, content: `done ${at}` }],
      },
    ]
  }
  const uses = Array.from({ length: 5_000 }, (_none, at) => use(at)).flat()
  const session = JSON.stringify({ ...say('Go'), messages: [...say('Go').messages, ...uses] })
  const { status, text } = await post(session)
  t.equal(status, 200, text)
  t.equal(received.toString(), session)
})

/** JSON in which names are numbers, numbers are written oddly, and characters are escaped; only values may hold NUL. */
const name = fc.oneof(
  fc.nat(20).map(String),
  fc.string({ unit: character, maxLength: 8 }).filter((one) => !one.includes('\0')),
)
const scalar = fc.oneof(
  fc.constantFrom('1.50', '1e3', '-0', '12345678901234567890', 'null', String.raw`"\u00e9\/😀"`),
  fc.string({ unit: character }).map((one) => JSON.stringify(one)),
  fc.base64String().map((one) => JSON.stringify(one)),
)
const members = fc
  .uniqueArray(fc.tuple(name, scalar), { selector: ([one]) => one, maxLength: 6 })
  .map((all) => all.filter(([one]) => one !== '__proto__'))
  .map((all) => `{ ${all.map(([one, is]) => `${JSON.stringify(one)} :${is}`).join(' ,')}}`)

t.test('odd bodies go on byte for byte', async (t) => {
  await fc.assert(
    fc.asyncProperty(members, members, fc.base64String(), async (input, schema, signature) => {
      const body = `{"tools":[{"name":"t","input_schema":${schema}}],"max_tokens" : 64,
        "messages":[{"role":"assistant","content":[
          {"type":"redacted_thinking","data":"${signature}"},
          {"type":"tool_use","id":"t_1","name":"t","input":${input}}]}],
        "model": "text-basic"\t}`
      const { status, text } = await post(body)
      if (status !== 200) throw new Error(text)
      return received.toString() === body
    }),
    { numRuns: propertyRuns(60) },
  )
  t.pass()
})

t.test('a caller sees the limits of its token in headers of this wire', async (t) => {
  const { tenantId, userId } = demo
  const limits = { requestsPerMinute: 2, tokensPerMinute: 1_000 }
  const name = 'limited'
  const { secret } = await issueToken(stack.access, {
    tenantId,
    userId,
    kind: 'model',
    name,
    limits,
  })
  const of = (answer: Awaited<ReturnType<typeof post>>, measure: string, part: string) =>
    answer.headers.get(`anthropic-ratelimit-${measure}-${part}`)
  const body = JSON.stringify(say('Hello'))
  const [first, second] = [await post(body, secret), await post(body, secret)]
  t.same([of(first, 'requests', 'limit'), of(first, 'requests', 'remaining')], ['2', '1'])
  t.equal(of(second, 'requests', 'remaining'), '0')
  t.equal(of(first, 'tokens', 'limit'), '1000')
  t.match(of(first, 'tokens', 'remaining'), /^9\d\d$/)
  for (const measure of ['requests', 'tokens'])
    t.match(of(first, measure, 'reset'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/)
  const refused = await post(body, secret)
  t.match(refused, { status: 429, body: { error: { type: 'rate_limit_error' } } })
  t.equal(of(refused, 'requests', 'remaining'), '0')
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  t.equal(first.headers.get('x-ratelimit-limit-requests'), null, 'headers of other wires')
})
