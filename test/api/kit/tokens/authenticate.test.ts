import t from 'tap'
import { startApp, tasksPath } from '../../support/app.ts'

const { app, logged } = await startApp()
t.teardown(async () => app.close())

const linesPath = '/api/query/v1/ledger/lines'

async function call(url: string, authorization?: string) {
  return app.inject({ url, headers: authorization === undefined ? {} : { authorization } })
}

void t.test('401 AuthenticationError without a usable token on /provA', async (t) => {
  const headers = [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'sk-one',
    'Basic c2stb25l',
    'Bearer sk-one sk-two',
    'Bearer sk-unknown',
    'Bearer sk-expired',
    'Bearer sk-disabled',
    `Bearer ${'x'.repeat(600)}`,
  ]
  for (const header of headers) {
    const answer = await call(tasksPath, header)
    t.equal(answer.statusCode, 401, String(header))
    t.match(answer.json(), {
      error: { code: 'AuthenticationError', param: '', type: 'Unauthorized' },
    })
    t.equal(answer.headers['www-authenticate'], 'Bearer')
  }
})

void t.test('401 unauthorized without a usable token on /api/query/v1', async (t) => {
  const answer = await call(linesPath)
  t.equal(answer.statusCode, 401)
  t.match(answer.json(), { success: false, error: { code: 'unauthorized' } })
})

void t.test('401 that says how a token is sent, without the scheme Bearer', async (t) => {
  for (const header of ['sk-one', ' sk-one ', 'Bearer', 'Token sk-one', 'Basic c2s6', undefined]) {
    const answer = await call(tasksPath, header)
    t.equal(answer.statusCode, 401, String(header))
    t.match(answer.body, /Send it as `Authorization: Bearer <TOKEN>`/)
  }
})

void t.test('a token without its scheme is not looked up and not counted as unknown', async (t) => {
  t.equal((await call(tasksPath, 'Bearer sk-guess')).statusCode, 429, 'too many were unknown')
  for (const header of ['sk-guess', 'Token sk-guess', 'Basic c2stZ3Vlc3M6'])
    t.equal((await call(tasksPath, header)).statusCode, 401, header)
})

void t.test('the scheme is matched in upper and lower case', async (t) => {
  for (const header of ['bearer sk-one', 'BEARER  sk-one', 'Bearer sk-one '])
    t.equal((await call(tasksPath, header)).statusCode, 200, header)
})

void t.test('403 in the family’s shape for a token of another kind', async (t) => {
  for (const secret of ['pat-one', 'qak-all', 'adm-one']) {
    const answer = await call(tasksPath, `Bearer ${secret}`)
    t.equal(answer.statusCode, 403, secret)
    t.match(answer.json(), { error: { code: 'AccessDenied', type: 'Forbidden' } })
  }
  for (const secret of ['sk-one', 'pat-one', 'adm-one']) {
    const answer = await call(linesPath, `Bearer ${secret}`)
    t.equal(answer.statusCode, 403, secret)
    t.match(answer.json(), { success: false, error: { code: 'wrong_token_kind' } })
  }
})

void t.test('403 in the family’s shape from an address the token is not bound to', async (t) => {
  const surfaces = [
    [tasksPath, 'sk-bound', { error: { code: 'AccessDenied', type: 'Forbidden' } }],
    [linesPath, 'qak-bound', { success: false, error: { code: 'address_not_allowed' } }],
    ['/v1/models', 'sk-bound', { error: { code: 'permission_denied' } }],
    ['/v1beta/models/x:generateContent', 'sk-bound', { error: { status: 'PERMISSION_DENIED' } }],
    ['/provB/v1/t2a_v2', 'sk-bound', { base_resp: { status_code: 1004 } }],
    ['/provC/ent/v2/text2video', 'sk-bound', { code: 403, reason: 'Forbidden' }],
  ] as const
  for (const [url, token, shape] of surfaces) {
    const method = /Content$|t2a_v2$|2video$/.test(url) ? 'POST' : 'GET'
    const answer = await app.inject({
      method,
      url,
      headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': '203.0.113.9' },
      remoteAddress: '198.51.100.4',
    })
    t.equal(answer.statusCode, 403, `${url} ${answer.body}`)
    t.match(answer.json(), shape)
    t.match(
      answer.body,
      /may not be used from 198\.51\.100\.4/,
      'a header of the caller says nothing',
    )
  }
  for (const remoteAddress of ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8::1']) {
    const headers = { authorization: 'Bearer sk-bound' }
    const answer = await app.inject({ url: tasksPath, headers, remoteAddress })
    t.equal(answer.statusCode, 200, remoteAddress)
  }
})

void t.test('429 in the family’s shape for an address of too many unknown tokens', async (t) => {
  const surfaces = [
    [tasksPath, 'sk-guess', { error: { code: 'RateLimitExceeded', type: 'TooManyRequests' } }],
    [linesPath, 'qak-guess', { success: false, error: { code: 'rate_limited' } }],
    ['/api/user/balance', 'pat-guess', { success: false, error: { code: 'rate_limited' } }],
    ['/api/admin/tenants', 'adm-guess', { success: false, error: { code: 'rate_limited' } }],
    ['/v1/models', 'sk-guess', { error: { code: 'rate_limit_exceeded' } }],
    ['/v1beta/models/x:generateContent', 'sk-guess', { error: { status: 'RESOURCE_EXHAUSTED' } }],
    ['/provB/v1/t2a_v2', 'sk-guess', { base_resp: { status_code: 1002 } }],
    ['/provC/ent/v2/text2video', 'sk-guess', { code: 429 }],
  ] as const
  for (const [url, token, shape] of surfaces) {
    const method = /Content$|t2a_v2$|2video$/.test(url) ? 'POST' : 'GET'
    const answer = await app.inject({ method, url, headers: { authorization: `Bearer ${token}` } })
    t.equal(answer.statusCode, 429, `${url} ${answer.body}`)
    t.match(answer.json(), shape)
    t.match(answer.body, /Too many requests with invalid tokens came from this address/)
    t.equal(answer.headers['retry-after'], '13', url)
  }
})

void t.test('the caller’s address comes from a trusted proxy only', async (t) => {
  const behind = await startApp({ trustedProxies: ['10.0.0.0/8', '::1'] })
  t.teardown(() => behind.app.close())
  const statusOf = async (remoteAddress: string, forwarded: string): Promise<number> => {
    const headers = { authorization: 'Bearer sk-bound', 'x-forwarded-for': forwarded }
    return (await behind.app.inject({ url: tasksPath, headers, remoteAddress })).statusCode
  }
  t.equal(await statusOf('10.1.2.3', '203.0.113.9'), 200)
  t.equal(await statusOf('::ffff:10.1.2.3', '203.0.113.9'), 200)
  t.equal(await statusOf('10.1.2.3', '198.51.100.4, 203.0.113.9, 10.9.9.9'), 200)
  t.equal(
    await statusOf('10.1.2.3', '203.0.113.9, 198.51.100.4'),
    403,
    'what the caller wrote itself',
  )
  t.equal(await statusOf('198.51.100.4', '203.0.113.9'), 403, 'a proxy that is not trusted')
  t.equal(await statusOf('10.1.2.3', '203.0.113.9:51234'), 200, 'with a port')
  t.equal(await statusOf('10.1.2.3', '198.51.100.4:1, 203.0.113.9:443, [::1]:80'), 200)
  t.equal(
    await statusOf('10.1.2.3', '203.0.113.9, unknown, 10.9.9.9'),
    403,
    'no proxy vouches for it',
  )
  t.equal(await statusOf('10.1.2.3', 'nonsense'), 403)
  t.equal(await statusOf('10.1.2.3', ''), 403, 'the proxy itself')
})

void t.test('503 in the family’s shape when tokens cannot be looked up', async (t) => {
  const provA = await call(tasksPath, 'Bearer sk-away')
  t.equal(provA.statusCode, 503)
  t.match(provA.json(), { error: { code: 'service_unavailable', type: 'ServiceUnavailable' } })
  const query = await call(linesPath, 'Bearer qak-away')
  t.equal(query.statusCode, 503)
  t.match(query.json(), { success: false, error: { code: 'service_unavailable' } })
})

void t.test('a token is asked for before the body is read', async (t) => {
  const answer = await app.inject({
    method: 'POST',
    url: tasksPath,
    headers: { 'content-type': 'text/plain' },
    payload: 'not read',
  })
  t.equal(answer.statusCode, 401)
})

void t.test('neither tokens nor bodies reach the logs', async (t) => {
  await app.inject({
    method: 'POST',
    url: `${tasksPath}?token=in-the-query`,
    headers: { authorization: 'Bearer sk-one', cookie: 'session=chocolate' },
    payload: { model: 'confidential prompt' },
  })
  await call(`${tasksPath}?api_key=in-the-query`, 'Bearer sk-unheard-of')
  const text = logged()
  t.match(text, /"msg":"request"/)
  t.match(text, /"tokenId":"tok_1"/)
  t.notMatch(text, /sk-one|sk-unheard-of|chocolate|confidential|in-the-query/)
})
