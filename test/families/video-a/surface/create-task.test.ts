import t from 'tap'
import { DomainError, type DomainCode } from '../../../../src/kernel/errors.ts'
import { asModel, goodBody, startApp, tasksPath } from '../../../api/support/app.ts'

const { app, tasks, hosts } = await startApp()
t.teardown(async () => app.close())

async function create(payload: unknown, headers: Record<string, string> = {}) {
  return app.inject({
    method: 'POST',
    url: tasksPath,
    headers: { 'content-type': 'application/json', ...asModel, ...headers },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  })
}

async function refusal(payload: unknown, headers: Record<string, string> = {}) {
  const before = tasks.created.length
  const answer = await create(payload, headers)
  t.equal(tasks.created.length, before, 'nothing was created')
  return { status: answer.statusCode, ...answer.json<{ error: Record<string, string> }>().error }
}

void t.test('200 with the native id only, and the platform id as a header', async (t) => {
  const answer = await create(goodBody)
  t.equal(answer.statusCode, 200)
  const task = tasks.owned[0]?.view
  t.same(answer.json(), { id: task?.nativeId })
  t.equal(answer.headers['x-platform-id'], task?.platformId)
  t.match(answer.headers['x-request-id'], /^req_[0-9A-Z]{26}$/)
})

void t.test('200 with the external model for the 2.5 models', async (t) => {
  const answer = await create({ ...goodBody, model: 'overseas-video-2-5-260628' })
  t.equal(answer.statusCode, 200)
  t.equal(answer.json().model, 'overseas-video-2-5')
})

void t.test('the use case gets the external name, the facts and the normalised body', async (t) => {
  const answer = await create({
    ...goodBody,
    model: 'overseas-video-2-0-mini-260615',
    safety_identifier: 'end-user',
    execution_expires_after: 7_200,
    CallbackURL: ' https://hooks.example.com/x ',
    priority: 3,
  })
  t.equal(answer.statusCode, 200)
  const input = tasks.created.at(-1)
  t.match(input, {
    principal: { tenantId: 'tenant_1', tokenId: 'tok_1' },
    family: 'video-a',
    surface: 'provA.tasks',
    requestId: answer.headers['x-request-id'],
    model: 'overseas-video-2-0-mini',
    callerMarker: 'end-user',
    executionExpiresAfterS: 7_200,
    idempotencyKey: undefined,
    facts: { settings: { duration: 5, priority: 3 } },
    upstreamBody: { callback_url: 'https://hooks.example.com/x', duration: 5 },
  })
  t.match(input?.bodyHash, /^[0-9a-f]{64}$/)
  t.notOk(Object.hasOwn(input?.upstreamBody ?? {}, 'model'))
  t.notOk(Object.hasOwn(input?.upstreamBody ?? {}, 'CallbackURL'))
})

void t.test('a request id of the caller is never used', async (t) => {
  const answer = await create(goodBody, { 'x-request-id': 'mine', 'request-id': 'mine' })
  t.match(answer.headers['x-request-id'], /^req_/)
})

void t.test('an Idempotency-Key reaches the use case; a replay is marked', async (t) => {
  await create(goodBody, { 'idempotency-key': 'order 7' })
  const first = tasks.created.at(-1)
  t.equal(first?.idempotencyKey, 'order 7')
  await create({ ...goodBody, duration: 6 }, { 'idempotency-key': 'order 7' })
  t.not(tasks.created.at(-1)?.bodyHash, first?.bodyHash, 'another body has another hash')
  tasks.replay = true
  const again = await create(goodBody, { 'idempotency-key': 'order 7' })
  tasks.replay = false
  t.equal(again.headers['idempotent-replayed'], 'true')
  t.equal(tasks.created.at(-1)?.bodyHash, first?.bodyHash)
})

void t.test('400 for an Idempotency-Key that is empty, too long or not printable', async (t) => {
  for (const key of ['', 'x'.repeat(256), 'a\u00e9'])
    t.match(await refusal(goodBody, { 'idempotency-key': key }), {
      status: 400,
      code: 'invalid_request',
      param: 'Idempotency-Key',
    })
})

void t.test('400 invalid_request names the missing or wrong field', async (t) => {
  const cases: readonly (readonly [object, string])[] = [
    [{ ...goodBody, model: undefined }, 'model'],
    [{ ...goodBody, model: 'video-2-0' }, 'model'],
    [{ ...goodBody, model: 'overseas-video-2.0-mini' }, 'model'],
    [{ ...goodBody, content: undefined }, 'content'],
    [{ ...goodBody, duration: undefined }, 'duration'],
    [{ ...goodBody, duration: '5' }, 'duration'],
    [{ ...goodBody, ratio: '2:1' }, 'ratio'],
    [{ ...goodBody, priority: 10 }, 'priority'],
    [{ ...goodBody, service_tier: 'flex' }, 'service_tier'],
    [{ ...goodBody, draft: true }, 'draft'],
    [{ ...goodBody, model: 'overseas-video-2-5', seed: 1 }, 'seed'],
    [
      { ...goodBody, content: [{ type: 'image_url', image_url: { url: 1 } }] },
      'content[0].image_url.url',
    ],
  ]
  for (const [body, param] of cases)
    t.match(await refusal(body), {
      status: 400,
      code: 'invalid_request',
      param,
      type: 'BadRequest',
    })
})

void t.test('400 invalid_duration outside the model’s range', async (t) => {
  for (const duration of [3, 16, 0, -2])
    t.match(await refusal({ ...goodBody, duration }), {
      status: 400,
      code: 'invalid_duration',
      param: 'duration',
    })
})

void t.test('400 for a body that is no JSON object', async (t) => {
  for (const body of ['[]', '"x"', '1', 'null', 'true'])
    t.match(await refusal(body), { status: 400, code: 'invalid_request', param: '' }, body)
  t.match(await refusal('{"model":'), {
    status: 400,
    message: 'The request body is not valid JSON: line 1, column 10, where it ends',
  })
  t.match(await refusal(''), { status: 400, message: 'The request body is empty' })
})

void t.test('400 for a duplicate, prototype or unsafe member, naming it', async (t) => {
  t.match(await refusal('{"model":"a","model":"b"}'), { status: 400, param: 'model' })
  t.match(await refusal('{"__proto__":{"model":"a"}}'), { status: 400, param: '__proto__' })
  t.match(await refusal('{"constructor":{"prototype":{}}}'), {
    status: 400,
    param: 'constructor.prototype',
  })
  t.match(await refusal('{"duration":9007199254740993}'), { status: 400, param: 'duration' })
  t.match(await refusal('{"model":"\\ud800"}'), { status: 400, param: 'model' })
  t.match(await refusal(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`), { status: 400 })
})

void t.test('413 for a body over the limit', async (t) => {
  const small = await startApp({ limits: { bodyBytes: { '/provA': 1_000 } } })
  t.teardown(async () => small.app.close())
  const answer = await small.app.inject({
    method: 'POST',
    url: tasksPath,
    headers: asModel,
    payload: { ...goodBody, pad: 'x'.repeat(1_000) },
  })
  t.equal(answer.statusCode, 413)
  t.match(answer.json(), { error: { code: 'invalid_request', param: '', type: 'BadRequest' } })
  t.equal(small.tasks.created.length, 0)
})

void t.test('415 for any body that is not plain JSON in UTF-8', async (t) => {
  const body = JSON.stringify(goodBody)
  const headers: readonly Record<string, string>[] = [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'application/jsonp' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': ';' },
    { 'content-type': 'application/json', 'content-encoding': 'br' },
  ]
  for (const each of headers)
    t.match(
      await refusal(body, each),
      { status: 415, code: 'invalid_request' },
      JSON.stringify(each),
    )
  t.equal(
    (await create(body, { 'content-type': 'application/json; charset=UTF-8' })).statusCode,
    200,
  )
})

void t.test('named assets are passed on by id and type, to be found for the tenant', async (t) => {
  const content = [
    { type: 'text', text: 'x' },
    { type: 'image_url', role: 'reference_image', image_url: { url: 'asset://asset-1' } },
  ]
  t.equal((await create({ ...goodBody, content, ProjectName: 'films' })).statusCode, 200)
  const { assets, upstreamBody } = tasks.created.at(-1) ?? {}
  t.match(assets, {
    assets: [{ assetId: 'asset-1', assetType: 'Image', param: 'content' }],
    projectName: 'films',
  })
  t.notMatch(JSON.stringify(upstreamBody), 'films')
  t.match(JSON.stringify(upstreamBody), 'asset://native-asset-1')
  for (const projectName of [7, '', 'x'.repeat(65)])
    t.match(await refusal({ ...goodBody, ProjectName: projectName }), {
      status: 400,
      param: 'ProjectName',
    })
})

void t.test('400 for a callback URL that is not public https', async (t) => {
  hosts.set('inside.example.com', ['93.184.216.34', '10.0.0.1'])
  const urls: readonly unknown[] = [
    '',
    '  ',
    7,
    'http://hooks.example.com',
    'https://user@hooks.example.com',
    'https://127.0.0.1/x',
    'https://2130706433/',
    'https://[::ffff:127.0.0.1]/',
    'https://localhost',
    'https://inside.example.com',
    'https://unknown.example.com',
  ]
  for (const url of urls) {
    t.match(await refusal({ ...goodBody, callback_url: url }), {
      status: 400,
      code: 'invalid_request',
      param: 'callback_url',
    })
    t.match(await refusal({ ...goodBody, CallbackURL: url }), { status: 400, param: 'CallbackURL' })
  }
})

void t.test('callback_url wins over CallbackURL, also for the check', async (t) => {
  const answer = await create({
    ...goodBody,
    callback_url: 'https://hooks.example.com/wins',
    CallbackURL: 'https://127.0.0.1/loses',
  })
  t.equal(answer.statusCode, 200)
  t.match(tasks.created.at(-1)?.upstreamBody, { callback_url: 'https://hooks.example.com/wins' })
})

const platformId = 'video_01JABCDEFGHJKMNPQRSTVWXYZZ'

interface Failure {
  readonly code: DomainCode
  readonly details?: Readonly<Record<string, unknown>>
  readonly status: number
  readonly answers: string
  readonly type: string
  readonly shouldRetry?: string
  readonly retryAfter?: string
}

const failures: Readonly<Record<string, Failure>> = {
  'the balance does not cover the task': {
    code: 'insufficient_balance',
    status: 402,
    answers: 'insufficient_balance',
    type: 'PaymentRequired',
  },
  'the token may not use the model': {
    code: 'model_not_allowed',
    status: 403,
    answers: 'AccessDenied',
    type: 'Forbidden',
  },
  'the model has no price': {
    code: 'price_not_configured',
    status: 503,
    answers: 'service_unavailable',
    type: 'ServiceUnavailable',
    shouldRetry: 'false',
  },
  'no channel serves the model': {
    code: 'no_channel',
    status: 503,
    answers: 'service_unavailable',
    type: 'ServiceUnavailable',
    shouldRetry: 'false',
  },
  'the account that has the assets is unavailable': {
    code: 'kept_unavailable',
    status: 503,
    answers: 'service_unavailable',
    type: 'ServiceUnavailable',
    shouldRetry: 'false',
  },
  'the log is away before anything was sent': {
    code: 'log_unavailable',
    status: 503,
    answers: 'service_unavailable',
    type: 'ServiceUnavailable',
    retryAfter: '2',
  },
  'the log went away after the task was accepted': {
    code: 'log_unavailable',
    details: { platformId },
    status: 503,
    answers: 'service_unavailable',
    type: 'ServiceUnavailable',
    shouldRetry: 'false',
  },
  'the Idempotency-Key came with another body': {
    code: 'idempotency_key_reused',
    details: { platformId },
    status: 409,
    answers: 'idempotency_key_reused',
    type: 'Conflict',
    shouldRetry: 'false',
  },
  'the same Idempotency-Key is being worked on': {
    code: 'idempotency_in_progress',
    status: 409,
    answers: 'idempotency_in_progress',
    type: 'Conflict',
    retryAfter: '1',
  },
  'the model service refused a field': {
    code: 'submission_refused',
    details: {
      platformId,
      kind: 'invalid',
      upstreamCode: 'InvalidParameter.ratio',
      param: 'ratio',
    },
    status: 400,
    answers: 'invalid_request',
    type: 'BadRequest',
  },
  'the model service refused the prompt': {
    code: 'submission_refused',
    details: { platformId, kind: 'invalid', upstreamCode: 'InputTextSensitiveContentDetected' },
    status: 400,
    answers: 'InputTextSensitiveContentDetected',
    type: 'BadRequest',
  },
  'the model service is out of rate': {
    code: 'submission_refused',
    details: { platformId, kind: 'rate_limited', retryAfterMs: 6_100 },
    status: 429,
    answers: 'RateLimitExceeded',
    type: 'TooManyRequests',
    retryAfter: '7',
  },
  'the token is at its limit of concurrent tasks': {
    code: 'rate_limited',
    details: { limitedBy: 'concurrent_tasks', limit: 5, retryAfterMs: 10_000 },
    status: 429,
    answers: 'RateLimitExceeded',
    type: 'TooManyRequests',
    retryAfter: '10',
  },
  'the token is at its limit for an unknown time': {
    code: 'rate_limited',
    status: 429,
    answers: 'RateLimitExceeded',
    type: 'TooManyRequests',
    retryAfter: '1',
  },
  'the model service refused the account': {
    code: 'submission_refused',
    details: { platformId, kind: 'account' },
    status: 503,
    answers: 'service_unavailable',
    type: 'ServiceUnavailable',
    shouldRetry: 'false',
  },
  'the model service could not be reached': {
    code: 'submission_refused',
    details: { platformId, kind: 'unavailable' },
    status: 502,
    answers: 'service_error',
    type: 'BadGateway',
    retryAfter: '2',
  },
  'it is unknown whether the model service took the task': {
    code: 'submission_uncertain',
    details: { platformId },
    status: 502,
    answers: 'service_error',
    type: 'BadGateway',
    shouldRetry: 'false',
  },
}

for (const [when, failure] of Object.entries(failures))
  void t.test(`${failure.status} ${failure.answers} when ${when}`, async (t) => {
    tasks.failure = new DomainError(failure.code, 'in our words', failure.details ?? {})
    const answer = await create(goodBody)
    t.equal(answer.statusCode, failure.status)
    const { error } = answer.json<{ error: Record<string, string> }>()
    t.match(error, { code: failure.answers, type: failure.type })
    t.same(Object.keys(error), ['code', 'message', 'param', 'type'])
    t.equal(answer.headers['x-should-retry'], failure.shouldRetry)
    t.equal(answer.headers['retry-after'], failure.retryAfter)
    t.equal(answer.headers['x-platform-id'], failure.details?.['platformId'])
  })

void t.test('503 when Postgres or the log cannot be reached', async (t) => {
  for (const error of [
    Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('the database system is starting up'), { code: '57P03' }),
    new Error('Connection terminated unexpectedly'),
    new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })]),
  ]) {
    tasks.failure = error
    const answer = await create(goodBody)
    t.equal(answer.statusCode, 503)
    t.match(answer.json(), { error: { code: 'service_unavailable', param: '' } })
    t.notMatch(answer.body, /5432|postgres|database/i, 'says nothing of the inside')
  }
})

void t.test('500 in the family’s shape, not to be retried, for an internal fault', async (t) => {
  for (const error of [
    new Error('secret detail'),
    new DomainError('tenant_exists', 'secret detail', {}),
    'secret detail',
  ]) {
    tasks.failure = error
    const answer = await create(goodBody)
    t.equal(answer.statusCode, 500)
    t.match(answer.json(), { error: { code: 'InternalServiceError', type: 'InternalServerError' } })
    t.equal(answer.headers['x-should-retry'], 'false')
    t.notMatch(answer.body, /secret/)
  }
})
