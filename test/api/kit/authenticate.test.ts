import t from 'tap'
import { startApp, tasksPath } from '../support/app.ts'

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
    'Bearer sk-nobody',
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

void t.test('the scheme is read in any case', async (t) => {
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
