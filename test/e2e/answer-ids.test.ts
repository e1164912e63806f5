import t from 'tap'
import { familyDeps } from '../api/support/app.ts'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { families } from '../../src/families/index.ts'
import { openFamilies } from '../../src/families/module.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, steadyHeaders } from './support/client.ts'

/** The id in the answer of a call finds the call, wherever an id is taken. */

const stack = await sharedStack(t)
const { url, demo, other } = stack
const env = environmentOf(stack)
const run = (...args: readonly string[]) => tollgate(args, env)

function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  return call(`${url}${path}`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}
const CHAT = '/v1/chat/completions'
const chat = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }
const native = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }
const callOf = ({ headers }: Answer): string => String(headers.get('x-call-id'))
const frames = ({ text }: Answer): readonly Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Record<string, unknown>)

const whole = await post(CHAT, chat)
const callId = callOf(whole)
const answerId = String(whole.body.id)
await stack.caughtUp()

t.test('a chat answer has the id of its call, whole and in every frame', async (t) => {
  t.match(callId, /^call_[0-9A-HJKMNP-TV-Z]{26}$/)
  t.equal(answerId, callId.replace('call_', 'chatcmpl-'))
  const streamed = await post(CHAT, {
    ...chat,
    stream: true,
    stream_options: { include_usage: true },
  })
  const ids = frames(streamed).map(({ id }) => id)
  t.ok(ids.length > 2)
  t.same([...new Set(ids)], [callOf(streamed).replace('call_', 'chatcmpl-')])
})

t.test('a native answer has the id of its call, whole and in every frame', async (t) => {
  for (const prefix of ['/v1beta', '/v1']) {
    const one = await post(`${prefix}/models/text-basic:generateContent`, native)
    t.equal(one.body.responseId, callOf(one))
    const path = `${prefix}/models/text-basic:streamGenerateContent?alt=sse`
    const streamed = await post(path, native)
    const ids = frames(streamed).map(({ responseId }) => responseId)
    t.ok(ids.length > 0)
    t.same([...new Set(ids)], [callOf(streamed)])
  }
})

t.test('the id of a response opens to its call, for its tenant alone', async (t) => {
  const secret = 'a marker secret of the tests alone'
  const opened = openFamilies(families, { ...familyDeps, markerSecret: secret })
  t.teardown(opened.close)
  const body = { model: 'text-basic', input: 'Hello' }
  const one = await post('/v1/responses', body)
  const streamed = await post('/v1/responses', { ...body, stream: true })
  const [begun] = frames(streamed) as { response?: { id: string } }[]
  const next = await post('/v1/responses', { ...body, previous_response_id: one.body.id })
  t.equal(next.body.previous_response_id, one.body.id)
  for (const [answer, id] of [
    [one, one.body.id],
    [streamed, begun?.response?.id],
    [next, next.body.id],
  ] as const) {
    t.equal(opened.callOfAnswer(demo.tenantId, String(id)), callOf(answer))
    t.equal(opened.callOfAnswer(other.tenantId, String(id)), undefined)
  }
  t.equal(opened.callOfAnswer(demo.tenantId, answerId), undefined)
})

t.test('the id finds the receipt and the history of the call', async (t) => {
  const own = await call(`${url}/v1/receipts/${answerId}`, { token: demo.modelToken })
  t.match(own, { status: 200, body: { id: callId } })
  t.same((await call(`${url}/v1/receipts/${callId}`, { token: demo.modelToken })).body, own.body)
  const finance = queriesOf(url, demo.queryToken)
  t.match(await finance.get(`/receipts/${answerId}`), {
    status: 200,
    body: { data: { id: callId } },
  })
  const history = await finance.get(`/tasks/${answerId}/history`)
  t.match(history, { status: 200 })
  t.same(history.body, (await finance.get(`/tasks/${callId}/history`)).body)

  const receipt = await run('receipt', answerId)
  t.match(receipt.stdout, callId, receipt.stderr)
  t.equal(receipt.stdout, (await run('receipt', callId)).stdout)
  for (const source of [[], ['--from-log']]) {
    const replay = await run('replay', answerId, ...source)
    t.match(replay.stdout, callId, replay.stderr)
    t.match(replay.stdout, /CallSettled/)
  }
})

t.test('to others the id is one that does not exist', async (t) => {
  const missing = `chatcmpl-${'0'.repeat(26)}`
  for (const [path, token] of [
    ['/v1/receipts', other.modelToken],
    ['/api/query/v1/receipts', other.queryToken],
  ] as const) {
    const [theirs, none] = await Promise.all(
      [answerId, missing].map((id) => call(`${url}${path}/${id}`, { token })),
    )
    t.equal(theirs?.status, 404)
    t.equal(theirs?.text.replace(/req_\w+/, ''), none?.text.replace(/req_\w+/, ''))
    t.same(steadyHeaders(theirs!), steadyHeaders(none!))
  }
  for (const id of [answerId, missing]) {
    const { code } = await run('receipt', id, '--tenant', other.tenantId)
    t.equal(code, 1)
  }
})

t.test('a repeated answer has the id that it had the first time', async (t) => {
  const key = { 'idempotency-key': 'answer id' }
  const first = await post(CHAT, chat, key)
  const second = await post(CHAT, chat, key)
  t.equal(second.headers.get('idempotent-replayed'), 'true')
  t.equal(second.text, first.text)
  t.equal(second.body.id, callOf(first).replace('call_', 'chatcmpl-'))
})

t.test('the provider’s own id is kept with the call', async (t) => {
  const { data } = (await queriesOf(url, demo.queryToken).get(`/tasks/${callId}/history`)).body
  const [settled] = data.items ?? data
  t.match(settled.data.upstreamRequestId, /./)
  t.not(settled.data.upstreamRequestId, answerId)
})
