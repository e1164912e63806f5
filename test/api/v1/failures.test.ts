import { MEMORY_PER_BYTE } from '../../../src/api/kit/bodies/body-budget.ts'
import t from 'tap'
import { DomainError, type DomainCode } from '../../../src/kernel/errors.ts'
import { chatPath, goodChat, startText } from './support.ts'

const { app, texts, post } = await startText(t)

interface Case {
  readonly code: DomainCode
  readonly details?: Readonly<Record<string, unknown>>
  readonly status: number
  readonly answers: string | null
  readonly type: string
  readonly retry?: string
  readonly after?: string
  readonly param?: string
}

const callId = 'call_1'
const refused = { callId, acceptance: 'ruled_out' }

const cases: Readonly<Record<string, Case>> = {
  'the model does not exist': {
    code: 'unknown_model',
    status: 404,
    answers: 'model_not_found',
    type: 'invalid_request_error',
    param: 'model',
  },
  'the token may not use the model': {
    code: 'model_not_allowed',
    status: 403,
    answers: 'model_not_allowed',
    type: 'permission_error',
    param: 'model',
  },
  'a price is missing': {
    code: 'price_not_configured',
    details: { sku: 'x' },
    status: 503,
    answers: 'price_not_configured',
    type: 'server_error',
    retry: 'false',
  },
  'the balance is too low': {
    code: 'insufficient_balance',
    status: 402,
    answers: 'insufficient_balance',
    type: 'insufficient_balance',
  },
  'no channel is left': {
    code: 'no_channel',
    status: 503,
    answers: 'model_unavailable',
    type: 'server_error',
    after: '5',
  },
  'the response to continue is not found': {
    code: 'previous_response_not_found',
    details: { param: 'previous_response_id' },
    status: 400,
    answers: 'previous_response_not_found',
    type: 'invalid_request_error',
    param: 'previous_response_id',
  },
  'the account of the response to continue is unavailable': {
    code: 'kept_unavailable',
    details: { param: 'input[1].id' },
    status: 503,
    answers: 'kept_unavailable',
    type: 'server_error',
    after: '5',
    param: 'input[1].id',
  },
  'the log is away before anything was sent': {
    code: 'log_unavailable',
    status: 503,
    answers: 'service_unavailable',
    type: 'server_error',
    after: '2',
  },
  'the log is away after the answer': {
    code: 'log_unavailable',
    details: { callId },
    status: 503,
    answers: 'service_unavailable',
    type: 'server_error',
    retry: 'false',
  },
  'it is unknown whether the settlement was written': {
    code: 'log_outcome_unknown',
    details: { callId },
    status: 503,
    answers: 'service_unavailable',
    type: 'server_error',
    retry: 'false',
  },
  'the gateway is busy': {
    code: 'overloaded',
    status: 503,
    answers: 'overloaded',
    type: 'server_error',
    after: '2',
  },
  'the caller is too fast': {
    code: 'rate_limited',
    details: { ...refused, retryAfterMs: 1_500 },
    status: 429,
    answers: 'rate_limit_exceeded',
    type: 'rate_limit_error',
    after: '2',
  },
  'the wait is longer than clients obey': {
    code: 'rate_limited',
    details: { ...refused, retryAfterMs: 90_000 },
    status: 429,
    answers: 'rate_limit_exceeded',
    type: 'rate_limit_error',
    after: '90',
    retry: 'false',
  },
  'upstream refuses a field': {
    code: 'call_refused',
    details: {
      ...refused,
      kind: 'invalid',
      status: 400,
      upstreamCode: 'context_length_exceeded',
      upstreamType: 'invalid_request_error',
      param: 'messages',
    },
    status: 400,
    answers: 'context_length_exceeded',
    type: 'invalid_request_error',
    param: 'messages',
  },
  'upstream is at its limit, which it calls by a type of its own': {
    code: 'call_refused',
    details: { ...refused, kind: 'rate_limited', status: 429, upstreamType: 'requests' },
    status: 429,
    answers: 'rate_limit_exceeded',
    type: 'rate_limit_error',
    after: '1',
  },
  'upstream cannot process the body': {
    code: 'call_refused',
    details: { ...refused, kind: 'invalid', status: 422 },
    status: 422,
    answers: null,
    type: 'invalid_request_error',
  },
  'upstream has a conflict': {
    code: 'call_refused',
    details: { ...refused, kind: 'invalid', status: 409, upstreamCode: 'conflict' },
    status: 409,
    answers: 'conflict',
    type: 'conflict_error',
  },
  'upstream says a teapot': {
    code: 'call_refused',
    details: { ...refused, kind: 'invalid', status: 418 },
    status: 400,
    answers: null,
    type: 'invalid_request_error',
  },
  'upstream does not know the channel’s model': {
    code: 'call_refused',
    details: { ...refused, kind: 'invalid', status: 404, upstreamCode: 'model_not_found' },
    status: 503,
    answers: 'model_unavailable',
    type: 'server_error',
    retry: 'false',
  },
  'upstream refuses the account’s credential': {
    code: 'call_refused',
    details: { ...refused, kind: 'account', status: 401, upstreamType: 'invalid_request_error' },
    status: 503,
    answers: 'model_unavailable',
    type: 'server_error',
    retry: 'false',
  },
  'upstream was not reached': {
    code: 'upstream_unavailable',
    details: refused,
    status: 502,
    answers: 'upstream_unavailable',
    type: 'server_error',
    after: '2',
  },
  'upstream may have accepted the call': {
    code: 'upstream_unavailable',
    details: { callId, acceptance: 'unknown' },
    status: 502,
    answers: 'upstream_unavailable',
    type: 'server_error',
    retry: 'false',
  },
  'upstream is overloaded': {
    code: 'upstream_overloaded',
    details: { ...refused, retryAfterMs: 7_000 },
    status: 503,
    answers: 'upstream_overloaded',
    type: 'server_error',
    after: '7',
  },
  'upstream is overloaded, and may have accepted the call': {
    code: 'upstream_overloaded',
    details: { callId, acceptance: 'unknown' },
    status: 503,
    answers: 'upstream_overloaded',
    type: 'server_error',
    retry: 'false',
  },
  'upstream did not answer in time': {
    code: 'upstream_timeout',
    details: { callId, acceptance: 'unknown' },
    status: 504,
    answers: 'upstream_timeout',
    type: 'server_error',
    retry: 'false',
  },
  'upstream answered nonsense': {
    code: 'upstream_malformed',
    details: { callId, acceptance: 'certain' },
    status: 502,
    answers: 'upstream_error',
    type: 'server_error',
    retry: 'false',
  },
  'a code no call can have': {
    code: 'tenant_exists',
    status: 500,
    answers: 'internal_error',
    type: 'server_error',
    retry: 'false',
  },
}

for (const [title, each] of Object.entries(cases))
  void t.test(`${each.status} ${each.answers ?? 'without a code'} when ${title}`, async (t) => {
    texts.failure = new DomainError(each.code, 'what happened', each.details ?? {})
    for (const stream of [false, true]) {
      const answer = await post(chatPath, { ...goodChat, stream })
      t.equal(answer.statusCode, each.status)
      t.match(answer.json(), {
        error: { type: each.type, param: each.param ?? null, code: each.answers, message: /\w/ },
      })
      t.equal(answer.headers['x-should-retry'], each.retry)
      t.equal(answer.headers['retry-after'], each.after)
      t.equal(answer.headers['retry-after-ms'] !== undefined, each.after !== undefined)
      t.equal(answer.headers['x-call-id'], each.details?.['callId'])
    }
    texts.failure = undefined
  })

void t.test('500 reveals no detail of an unexpected error', async (t) => {
  texts.failure = new TypeError('secret internals')
  const answer = await post(chatPath, goodChat)
  texts.failure = undefined
  t.equal(answer.statusCode, 500)
  t.notMatch(answer.body, /secret/)
})

void t.test('401 without a valid token, in every way it can be missing', async (t) => {
  const headers: readonly Record<string, string>[] = [
    { authorization: '' },
    { authorization: 'Bearer' },
    { authorization: 'Basic sk-one' },
    { authorization: 'Bearer sk-unknown' },
    { authorization: 'Bearer sk-expired' },
    { authorization: 'Bearer sk-disabled' },
    { authorization: `Bearer ${'x'.repeat(600)}` },
  ]
  for (const each of headers) {
    const answer = await post(chatPath, goodChat, each)
    t.equal(answer.statusCode, 401)
    t.equal(answer.headers['www-authenticate'], 'Bearer')
    t.match(answer.json(), {
      error: { type: 'invalid_request_error', param: null, code: 'invalid_api_key' },
    })
  }
  const none = await app.inject({
    method: 'POST',
    url: `${chatPath}?key=sk-one`,
    payload: goodChat,
  })
  t.equal(none.statusCode, 401, 'a key in the URL is none')
  const native = { method: 'POST', url: chatPath, payload: goodChat } as const
  const other = await app.inject({ ...native, headers: { 'x-native-api-key': 'sk-one' } })
  t.equal(other.statusCode, 401, 'the native header is only for native paths')
})

void t.test('403 for a token of another kind, 503 when tokens cannot be looked up', async (t) => {
  for (const secret of ['pat-one', 'adm-one', 'qak-all']) {
    const answer = await post(chatPath, goodChat, { authorization: `Bearer ${secret}` })
    t.equal(answer.statusCode, 403)
    t.match(answer.json(), { error: { code: 'permission_denied' } })
  }
  const away = await post(chatPath, goodChat, { authorization: 'Bearer sk-away' })
  t.equal(away.statusCode, 503)
  t.equal(away.headers['retry-after'], '2')
})

void t.test('404, 405, 413, 415 and 431 in the shape of the family', async (t) => {
  const small = await startText(t, { limits: { bodyBytes: { '/v1': 200, '/v1beta': 200 } } })
  const asForm = { 'content-type': 'multipart/form-data; boundary=x' }
  const answers = [
    [await post('/v1/nothing', {}), 404, 'unknown_url'],
    [await app.inject({ url: chatPath }), 405, 'method_not_allowed'],
    [await small.post(chatPath, { ...goodChat, pad: 'x'.repeat(200) }), 413, 'request_too_large'],
    [await post(chatPath, 'x', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type'],
    [await post(chatPath, goodChat, { 'content-encoding': 'br' }), 415, 'unsupported_media_type'],
    [await post('/v1/images/generations', '--x--', asForm), 415, 'unsupported_media_type'],
    [await post('/v1/images/generations/async', '--x--', asForm), 415, 'unsupported_media_type'],
  ] as const
  for (const [answer, status, code] of answers) {
    t.equal(answer.statusCode, status)
    t.match(answer.json(), { error: { type: 'invalid_request_error', param: null, code } })
  }
})

void t.test('503 overloaded when bodies take all of the reserved memory', async (t) => {
  const tight = await startText(t, { limits: { bodyMemoryBytes: 300 * MEMORY_PER_BYTE.ascii } })
  let let1: () => void = () => undefined
  tight.texts.answer = async () => {
    await new Promise<void>((resolve) => (let1 = resolve))
    return {}
  }
  const first = tight.post(chatPath, { ...goodChat, pad: 'x'.repeat(200) })
  while (tight.texts.calls.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const second = await tight.post(chatPath, { ...goodChat, pad: 'x'.repeat(200) })
  t.equal(second.statusCode, 503)
  t.match(second.json(), { error: { code: 'overloaded' } })
  t.equal(second.headers['retry-after'], '2')
  let1()
  t.equal((await first).statusCode, 200)
})
