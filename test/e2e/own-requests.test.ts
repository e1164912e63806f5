import t from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, TASKS, taskBody } from './support/client.ts'
import { watchConnections } from './support/token-connections.ts'

/** Looks and repeatable requests beyond what a token may: refused in the words of each family. */

const stack = await startStack({ env: { OWN_REQUESTS_RPM: '1', ACCOUNT_RATE_LIMIT_RPM: '3' } })
t.teardown(() => stack.stop())
const { url, demo, access } = stack
const connections = watchConnections(stack.gateway.pool)
const { tenantId, userId } = demo
const { secret } = await issueToken(access, {
  tenantId,
  userId,
  kind: 'model',
  name: 'looks',
})
await stack.caughtUp()

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  call(`${url}${path}`, {
    method,
    token: secret,
    ...(body === undefined
      ? {}
      : {
          headers: { 'content-type': 'application/json', 'idempotency-key': 'once' },
          body: JSON.stringify(body),
        }),
  })

const ID = '01M80DRGZXCTZFYWS8HKBYTW5F'
const chat = { model: 'text-basic', messages: [{ role: 'user', content: 'hello' }] }
const turn = { contents: [{ parts: [{ text: 'hello' }] }] }
const speech = { model: 'speech-2.8-hd', voice_id: 'nova', text: 'a boat' }
const v1 = { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } }
const provA = { error: { code: 'RateLimitExceeded', type: 'TooManyRequests' } }
const library = { ResponseMetadata: { Error: { Code: 'FlowLimitExceeded' } } }
const provBV1 = { base_resp: { status_code: 1002 } }
const provBV2 = { type: 'error', error: { type: 'rate_limit_error' } }
const provC = { code: 429, reason: 'TooManyRequests' }
const native = { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }

const cases: readonly (readonly [method: string, path: string, shape: object, body?: object])[] = [
  ['GET', '/v1/models', v1],
  ['GET', '/v1/videos', v1],
  ['GET', '/v1/files', v1],
  ['DELETE', '/v1/files/file-1', v1],
  ['POST', '/v1/chat/completions', v1, chat],
  ['POST', '/v1/responses', v1, { model: 'text-basic', input: 'hello' }],
  ['POST', '/v1/images/generations', v1, { model: 'image-2', prompt: 'a boat' }],
  ['POST', '/v1/quote', v1, { path: '/v1/chat/completions', body: chat }],
  ['POST', '/v1beta/models/text-basic:generateContent', native, turn],
  ['GET', TASKS, provA],
  ['GET', `${TASKS}/cgt-${ID}`, provA],
  ['DELETE', `${TASKS}/cgt-${ID}`, provA],
  ['POST', TASKS, provA, taskBody()],
  ['POST', '/provA/?Action=ListAssets&Version=2024-01-01', library, {}],
  ['POST', '/provB/v1/t2a_v2', provBV1, speech],
  ['GET', '/provB/v1/query/t2a_async_query_v2?task_id=1', provBV1],
  ['GET', '/provB/v1/files/retrieve?file_id=1', provBV1],
  ['GET', '/provB/v2/query/video_generation/1', provBV2],
  ['GET', '/provC/ent/v2/tasks/1/creations', provC],
  ['POST', '/provC/ent/v2/tasks/1/cancel', provC, {}],
]

void t.test('each family answers 429 in its own shape, without a query to Postgres', async (t) => {
  t.equal((await ask('GET', '/v1/models')).status, 200, 'one a minute')
  const before = {
    asked: connections.asked(`user\n${stack.demo.tenantId}\n${stack.demo.userId}`),
    sent: stack.sandbox.calls().length,
  }
  const answers = await Promise.all(
    cases.map(async ([method, path, shape, body]) => {
      const answer = await ask(method, path, body)
      return { where: `${method} ${path}`, shape, answer }
    }),
  )
  for (const { where, shape, answer } of answers) {
    t.equal(answer.status, 429, `${where}: ${answer.text}`)
    t.match(answer.body, shape, where)
    const waitS = Number(answer.headers.get('retry-after'))
    t.ok(waitS >= 1 && waitS <= 60, `${where}: ${waitS} s`)
  }
  t.equal(
    connections.asked(`user\n${stack.demo.tenantId}\n${stack.demo.userId}`),
    before.asked,
    'no connection was asked for',
  )
  t.equal(stack.sandbox.calls().length, before.sent, 'nothing was sent')
  const free = await call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: secret,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chat),
  })
  t.equal(free.status, 200, 'a call without a key is no look')
  const { text } = await call(`${url}/metrics`)
  t.match(text, `tollgate_rate_limited_total{limit="own_requests",of="user"} ${cases.length}`)
})

interface Described {
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<object> }>>
}

void t.test('every route of a model token documents its 429 in /openapi.json', async (t) => {
  const { body } = await call(`${url}/openapi.json`)
  const paths = body.paths as Readonly<Record<string, Readonly<Record<string, Described>>>>
  let routes = 0
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { security = [], responses }] of Object.entries(methods)) {
      if (!security.some((one) => 'modelToken' in one)) continue
      routes += 1
      t.ok('retry-after' in (responses['429']?.headers ?? {}), `${method} ${path}`)
    }
  t.ok(routes > 30, `${routes} routes`)
})

void t.test(
  'the profile and admin tokens of a user have one rate limit, operator tokens none',
  async (t) => {
    const issue = async (of: string, kind: 'profile' | 'admin', isOperator = false) => {
      const scope =
        kind === 'profile' || isOperator ? {} : { scope: { level: 'all_users' as const } }
      const order = { tenantId, userId: of, kind, name: 'rate', ...scope }
      return (await issueToken(access, order)).secret
    }
    const budgets = `/api/admin/tenants/${tenantId}/budgets`
    const paths = { profile: '/api/user/balance', admin: budgets } as const
    const get = (kind: 'profile' | 'admin', token: string) =>
      call(`${url}${paths[kind]}`, { token })
    for (const kinds of [
      ['profile', 'profile', 'profile'],
      ['admin', 'admin', 'admin'],
      ['profile', 'admin', 'profile'],
    ] as const) {
      const of = `user_${kinds.join('_')}`
      await addUser(access, { tenantId, userId: of, name: of })
      const tokens = await Promise.all(kinds.map((kind) => issue(of, kind)))
      await stack.caughtUp()
      const asks = tokens.map((token, n) => () => get(kinds[n] ?? 'profile', token))
      for (const ask of asks) t.equal((await ask()).status, 200, of)
      for (const ask of asks) {
        const next = await ask()
        t.equal(next.status, 429, `${of}: ${next.text}`)
        t.match(next.body, { success: false, error: { code: 'rate_limited' } })
        t.ok(Number(next.headers.get('retry-after')) >= 1)
      }
    }
    const operator = await issue(userId, 'admin', true)
    await addUser(access, { tenantId, userId: 'user_changing', name: 'Changing' })
    const token = await issue('user_changing', 'admin')
    await stack.caughtUp()
    for (let n = 0; n < 4; n += 1) t.equal((await get('admin', operator)).status, 200)
    const body = JSON.stringify({ time_zone: 'UTC', budgets: [] })
    const headers = { 'content-type': 'application/json' }
    const put = () => call(`${url}${budgets}`, { method: 'PUT', token, headers, body })
    for (let n = 0; n < 3; n += 1) t.not((await put()).status, 429)
    t.equal((await put()).status, 429, 'changes count as well')
  },
)
