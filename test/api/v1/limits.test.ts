import * as fc from 'fast-check'
import t from 'tap'
import { durationText, limitHeaders } from '../../../src/api/kit/answers/answer-headers.ts'
import type { LimitStatuses } from '../../../src/app/spending/throttle/rates.ts'
import { limitReached } from '../../../src/app/spending/throttle/limits.ts'
import { frame } from '../support/memory-calls.ts'
import { chatCompletion, chatPath, goodChat, startText } from './support.ts'

let limitStatuses: LimitStatuses = {
  requests: { limit: 60, remaining: 57, resetMs: 3_000 },
  tokens: { limit: 9_000, remaining: 8_100, resetMs: 120 },
}
const { app, texts, post } = await startText(t, {
  throttle: { statuses: (who) => (who.limits === undefined ? {} : limitStatuses) },
})
texts.answer = () => chatCompletion
texts.steps = () => [frame({ choices: [] })]
const limited = { authorization: 'Bearer sk-limited' }

const shown = (headers: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-ratelimit')))
const all = {
  'x-ratelimit-limit-requests': '60',
  'x-ratelimit-remaining-requests': '57',
  'x-ratelimit-reset-requests': '3s',
  'x-ratelimit-limit-tokens': '9000',
  'x-ratelimit-remaining-tokens': '8100',
  'x-ratelimit-reset-tokens': '120ms',
}

void t.test('every answer to a limited token has its rate limit headers', async (t) => {
  t.same(shown((await post(chatPath, goodChat, limited)).headers), all)
  const stream = await post(chatPath, { ...goodChat, stream: true }, limited)
  t.match(stream.headers['content-type'], /event-stream/)
  t.same(shown(stream.headers), all)
  const events = { model: 'text-basic', input: 'x', stream: true }
  t.same(shown((await post('/v1/responses', events, limited)).headers), all)
  const models = await app.inject({ url: '/v1/models', headers: limited })
  t.equal(models.statusCode, 200)
  t.same(shown(models.headers), all)
})

void t.test('failures of any kind have the rate limit headers too', async (t) => {
  const refused = await post(chatPath, { ...goodChat, messages: [] }, limited)
  t.equal(refused.statusCode, 400)
  t.same(shown(refused.headers), all)
  texts.failure = limitReached({ whose: 'token', limitedBy: 'requests', limit: 60, waitMs: 700 })
  for (const stream of [false, true]) {
    const answer = await post(chatPath, { ...goodChat, stream }, limited)
    t.equal(answer.statusCode, 429)
    t.same(shown(answer.headers), all)
    t.same(answer.json(), {
      error: {
        message: 'This token is at its limit of requests a minute (60)',
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limit_exceeded',
      },
    })
    t.equal(answer.headers['retry-after'], '1')
    t.equal(answer.headers['retry-after-ms'], '700')
    t.equal(answer.headers['x-should-retry'], undefined)
  }
  texts.failure = undefined
  const unknown = await post(chatPath, goodChat, { authorization: 'Bearer sk-unknown' })
  t.equal(unknown.statusCode, 401)
  t.same(shown(unknown.headers), {})
})

void t.test('a token without limits gets no rate limit headers', async (t) => {
  t.same(shown((await post(chatPath, goodChat)).headers), {})
  t.same(shown((await post(chatPath, { ...goodChat, stream: true })).headers), {})
})

void t.test('a stream that opens late has the rate limit headers when it opens', async (t) => {
  const late = await startText(t, {
    throttle: { statuses: (who) => (who.limits === undefined ? {} : limitStatuses) },
    streamLimits: { openAfterMs: 20 },
  })
  late.texts.begin = () => new Promise((resolve) => setTimeout(resolve, 80))
  const before = limitStatuses
  const answering = late.post(chatPath, { ...goodChat, stream: true }, limited)
  limitStatuses = { requests: { limit: 60, remaining: 3, resetMs: 61_500 } }
  t.same(shown((await answering).headers), {
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '3',
    'x-ratelimit-reset-requests': '1m1.5s',
  })
  limitStatuses = before
})

void t.test('only the limits that a token has are in the headers', async (t) => {
  const only = { tokens: { limit: 5, remaining: 5, resetMs: 0 } }
  t.same(limitHeaders(only), {
    'x-ratelimit-limit-tokens': '5',
    'x-ratelimit-remaining-tokens': '5',
    'x-ratelimit-reset-tokens': '0s',
  })
  t.same(limitHeaders({}), {})
})

void t.test('durations are written as the official clients read them', async (t) => {
  const examples = { 0: '0s', 12: '12ms', 999: '999ms', 1_000: '1s', 8_640: '8.64s' }
  for (const [ms, text] of Object.entries(examples)) t.equal(durationText(Number(ms)), text)
  t.equal(durationText(60_000), '1m0s')
  t.equal(durationText(360_000), '6m0s')
  const units: Readonly<Record<string, number>> = { m: 60_000, s: 1_000, ms: 1 }
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 600_000 }), (ms) => {
      const parts = [...durationText(ms).matchAll(/(\d+(?:\.\d+)?)(ms|m|s)/g)]
      const read = parts.reduce(
        (sum, [, figure, unit]) => sum + Number(figure) * (units[unit ?? ''] ?? Number.NaN),
        0,
      )
      return Math.round(read * 1_000) === ms * 1_000
    }),
  )
})

void t.test('retry-after is at least one second and at most sixty', async (t) => {
  for (const [waitMs, seconds] of [
    [0, '1'],
    [1, '1'],
    [1_001, '2'],
    [59_001, '60'],
    [60_000, '60'],
    [3_600_000, '60'],
  ] as const) {
    texts.failure = limitReached({ whose: 'token', limitedBy: 'tokens', limit: 10, waitMs })
    const text = await post(chatPath, goodChat, limited)
    t.equal(text.headers['retry-after'], seconds)
    t.ok(Number(text.headers['retry-after-ms']) >= 1)
    const native = await post('/v1beta/models/gen-3-pro:generateContent', goodNative, limited)
    t.equal(native.statusCode, 429)
    t.equal(native.headers['retry-after'], seconds)
    const { error } = native.json() as { error: { status: string; details: object[] } }
    t.equal(error.status, 'RESOURCE_EXHAUSTED')
    const retryMs = Number(native.headers['retry-after-ms'])
    t.match(error.details, [
      { reason: 'RATE_LIMIT_EXCEEDED' },
      { '@type': /RetryInfo$/, retryDelay: `${retryMs / 1_000}s` },
    ])
    t.same(shown(native.headers), {}, 'these headers are of the other wire')
  }
  texts.failure = undefined
})

const goodNative = { contents: [{ parts: [{ text: 'Hello' }] }] }
