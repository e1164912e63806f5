import t, { type Test } from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { accountStream } from '../../src/domain/account/events.ts'
import type { QueryScope, TokenKind, TokenRole } from '../../src/domain/token/events.ts'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

/** Tokens of finance and of support do what their role needs, within their scope, and no more. */

const stack = await startStack({ env: { RATE_LIMIT_RPM: '6000' } })
t.teardown(() => stack.stop())
const { access, demo, other, url } = stack
const { tenantId, userId } = demo
const operator = demo.adminToken

interface Issued {
  readonly id: string
  readonly secret: string
}

/** Sends to the administration, or to the account of a profile token, by its whole path below `/api`. */
const ask = (token: string, method: string, path: string, body?: object, base = url) =>
  call(`${base}/api${path}`, {
    method,
    token,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
async function issue(
  kind: TokenKind,
  role: TokenRole,
  level: QueryScope['level'],
  user = userId,
  of = tenantId,
): Promise<Issued> {
  const wanted = { tenant_id: of, user_id: user, kind, name: `${kind} of ${role}` }
  const answer = await ask(operator, 'POST', '/admin/tokens', { ...wanted, scope: { level }, role })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.data
}
const refusedRole = { status: 403, body: { error: { code: 'role_denied' } } }

for (const user of ['fin', 'sup']) await addUser(access, { tenantId, userId: user, name: user })
const query = {
  finance: await issue('query', 'finance', 'all_users', 'fin'),
  support: await issue('query', 'support', 'all_users', 'sup'),
}
const admin = {
  finance: await issue('admin', 'finance', 'all_tenants', 'fin'),
  support: await issue('admin', 'support', 'all_tenants', 'sup'),
}
const roles = ['finance', 'support'] as const

const chat = await call(`${url}/v1/chat/completions`, {
  method: 'POST',
  token: demo.modelToken,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'Hi' }] }),
})
const callId = String(chat.headers.get('x-call-id'))
const [line] = await eventually('the line of the call', async () => {
  const { body } = await ask(demo.queryToken, 'GET', `/query/v1/receipts/${callId}`)
  return body.data?.state === 'settled' ? body.data.lines : undefined
})
await stack.caughtUp()

/** Asks for each path with both roles: it is answered with 200 or refused for the role. */
async function walk(
  t: Test,
  of: Readonly<Record<TokenRole, Issued>>,
  open: readonly TokenRole[],
  paths: readonly string[],
): Promise<void> {
  for (const path of paths)
    for (const role of roles) {
      const answer = await ask(of[role].secret, 'GET', path)
      if (open.includes(role)) t.equal(answer.status, 200, `${role}: ${path}`)
      else t.match(answer, refusedRole, `${role}: ${path}`)
    }
}

t.test('query tokens of finance and of support walk their rows of the table', async (t) => {
  const below = (paths: readonly string[]) => paths.map((path) => `/query/v1${path}`)
  const money = [
    '/balance',
    '/movements?currency=USD',
    '/grants',
    '/adjustments',
    '/credits',
    '/holds',
    '/logs',
    '/usage',
    '/ledger/lines',
    '/ledger/lines?format=csv',
    '/ledger/summary',
    '/periods?month=2026-01',
  ]
  const found = [`/receipts/${callId}`, `/lives/${callId}`, `/lives/${callId}/ticket`]
  const lists = ['/tasks', '/failures', '/refusals', '/repeats', '/changes', `/search?q=${callId}`]
  await walk(t, query, ['finance'], below(money))
  await walk(t, query, roles, below([...found, ...lists]))
  await walk(t, query, ['support'], below([`/tasks/${callId}/history`, '/assets', '/asset-groups']))
})

t.test('admin tokens of finance and of support walk their rows of the table', async (t) => {
  const tenant = `/admin/tenants/${tenantId}`
  const books = await ask(admin.finance.secret, 'GET', '/admin/price-books')
  const version: string = books.body.data.items[0].version
  const prices = [
    `/admin/price-books/${version}`,
    `/admin/sku-prices?sku=text-basic-output-token`,
    `/admin/price-books/${version}/diff?against=${version}`,
    `/admin/price-books/${version}/what-if?from=2026-01-01`,
    `${tenant}/prices`,
  ]
  const settings = ['credit', 'approvals', 'reporting', 'billing'].map(
    (name) => `${tenant}/${name}`,
  )
  await walk(t, admin, ['finance'], [...settings, '/admin/price-books', ...prices])
  await walk(t, admin, roles, ['/admin/tenants', tenant, '/admin/proposals', `${tenant}/budgets`])
  await walk(t, admin, ['finance'], ['/admin/proposals/waiting'])
  const accounts = ['/admin/tokens', `/admin/tokens/${query.finance.id}`, `${tenant}/users`]
  await walk(t, admin, ['support'], [...accounts, `${tenant}/limits`])
  await walk(t, admin, [], [`${tenant}/balance-alerts`, '/admin/issuer'])
  const changes = [
    ['PUT', `${tenant}/credit/limit`, { currency: 'USD', amount: '5', limit_id: 'mine' }],
    ['PUT', `${tenant}/approvals`, { limits: [], lapse_hours: 72 }],
    ['PUT', `${tenant}/prices`, { multiplier: '0.5', prices: [] }],
    ['PUT', `${tenant}/limits`, { limits: [] }],
    ['PUT', '/admin/issuer', { legal_name: 'Mine', address: ['Here'], country: 'DE' }],
    ['POST', '/admin/tokens', { tenant_id: tenantId, user_id: 'sup', kind: 'model', name: 'mine' }],
    ['PATCH', `/admin/tokens/${query.support.id}`, { name: 'mine' }],
    ['POST', `/admin/tokens/${query.support.id}/rotate`, {}],
    ['DELETE', `/admin/tokens/${query.support.id}`, undefined],
  ] as const
  for (const [method, path, body] of changes)
    for (const role of roles)
      t.match(await ask(admin[role].secret, method, path, body), refusedRole, `${method} ${path}`)
})

t.test(
  'finance posts alone; what support posts waits for another user, and moves once',
  async (t) => {
    const tenant = `/admin/tenants/${tenantId}`
    const grant = { currency: 'USD', amount: '0.5', reason: 'goodwill', grant_id: 'by-finance' }
    const byFinance = await ask(admin.finance.secret, 'POST', `${tenant}/credit/grants`, grant)
    t.match(byFinance, { status: 200, body: { data: { changed: true } } })
    const back = {
      line_id: line.line_id,
      amount: line.amount,
      code: 'goodwill',
      reason: 'late',
      adjustment_id: 'back',
    }
    const postings = [
      [`${tenant}/credit/grants`, { ...grant, grant_id: 'by-support' }],
      [`${tenant}/adjustments`, back],
    ] as const
    const sameUser = await issue('admin', 'finance', 'all_tenants', 'sup')
    for (const [path, body] of postings) {
      const post = () => ask(admin.support.secret, 'POST', path, body)
      const proposed = await post()
      t.equal(proposed.status, 202, proposed.text)
      t.match(proposed.body.data, { object: 'proposal', state: 'proposed', changed: true })
      const { id } = proposed.body.data
      t.match(await post(), { status: 202, body: { data: { id, changed: false } } }, 'again')
      const proposal = `${tenant}/proposals/${id}`
      for (const role of roles)
        t.match(await ask(admin[role].secret, 'GET', proposal), { body: { data: { id } } })
      const approve = (token: string) => ask(token, 'POST', `${proposal}/approve`)
      t.match(await approve(admin.support.secret), refusedRole, 'support approves none')
      const reject = { reason: 'not ours' }
      t.match(await ask(admin.support.secret, 'POST', `${proposal}/reject`, reject), refusedRole)
      t.match(await approve(sameUser.secret), { body: { error: { code: 'proposal_own' } } })
      t.match(await approve(admin.finance.secret), {
        status: 200,
        body: { data: { state: 'approved', ended_by: { user_id: 'fin' }, changed: true } },
      })
      t.match(await post(), { status: 200, body: { data: { changed: false } } }, 'it is posted')
    }
    const events = await access.log.readStream(accountStream(tenantId), { limit: 500 })
    const posted = events.filter(
      ({ data }) =>
        ('grantId' in data && data.grantId === 'by-support') ||
        ('adjustmentId' in data && data.adjustmentId === 'back'),
    )
    t.same(
      posted.map(({ type }) => type),
      ['CreditGranted', 'AdjustmentPosted'],
    )
  },
)

t.test(
  'a role does not widen a scope: only operators post, and a tenant sees itself',
  async (t) => {
    const home = other.tenantId
    const token = {
      query: await issue('query', 'support', 'all_users', other.userId, home),
      admin: await issue('admin', 'support', 'all_users', other.userId, home),
      finance: await issue('admin', 'finance', 'all_users', other.userId, home),
    }
    const grant = { currency: 'USD', amount: '5', reason: 'mine', grant_id: 'mine' }
    for (const { secret } of [token.admin, token.finance])
      t.match(await ask(secret, 'POST', `/admin/tenants/${home}/credit/grants`, grant), {
        status: 403,
        body: { message: /operator/, error: { code: 'scope_denied' } },
      })
    const reads = (id: string) => [
      `/query/v1/receipts/${id}`,
      `/query/v1/lives/${id}`,
      `/query/v1/lives/${id}/ticket`,
      `/query/v1/tasks/${id}/history`,
    ]
    const missing = reads(`${callId.slice(0, -1)}0`)
    for (const [index, path] of reads(callId).entries()) {
      const found = await ask(token.query.secret, 'GET', path)
      const none = await ask(token.query.secret, 'GET', missing[index] ?? '')
      t.same([found.status, found.text], [404, none.text], path)
    }
    const search = await ask(token.query.secret, 'GET', `/query/v1/search?q=${callId}`)
    t.same(search.body.data.items, [])
    for (const list of ['/query/v1/tasks', '/query/v1/failures', '/query/v1/refusals'])
      t.match(await ask(token.query.secret, 'GET', `${list}?tenant_id=${tenantId}`), {
        status: 403,
        body: { error: { code: 'scope_denied' } },
      })
    const { body } = await ask(token.admin.secret, 'GET', '/admin/tenants')
    t.same(
      body.data.items.map(({ id }: { readonly id: string }) => id),
      [home],
    )
    for (const path of ['', '/users', '/budgets', '/limits'])
      t.equal(
        (await ask(token.admin.secret, 'GET', `/admin/tenants/${tenantId}${path}`)).status,
        404,
      )
    const foreign = `/admin/tokens/${query.support.id}`
    t.equal((await ask(token.admin.secret, 'GET', foreign)).status, 404)
  },
)

t.test('a role stays through a change, a rotation and a restart, and lists show it', async (t) => {
  const path = `/admin/tokens/${query.support.id}`
  const renamed = await ask(operator, 'PATCH', path, { name: 'renamed' })
  t.match(renamed.body.data, { name: 'renamed', role: 'support' })
  const refused = { status: 400, body: { error: { code: 'invalid_request', param: 'role' } } }
  t.match(await ask(operator, 'PATCH', path, { role: null }), refused)
  const rotated = await ask(operator, 'POST', `${path}/rotate`, {})
  t.match(rotated.body.data, { role: 'support' })
  const restarted = await stack.replica(['api'])
  for (const secret of [query.support.secret, String(rotated.body.data.secret)])
    for (const base of [url, restarted.url]) {
      const get = (route: string) => ask(secret, 'GET', `/query/v1${route}`, undefined, base)
      t.match(await get('/usage'), {
        ...refusedRole,
        body: {
          message:
            'GET /api/query/v1/usage is for tokens of the role finance, or without a role; this one has the role support',
        },
      })
      t.match(await get(`/lives/${callId}`), { status: 200 })
    }
  const list = await ask(admin.support.secret, 'GET', `/admin/tokens?user_id=sup`)
  t.same(
    list.body.data.items.map((one: { kind: string; role: string }) => `${one.kind} ${one.role}`),
    ['query support', 'admin support', 'admin finance'],
  )
  await stack.caughtUp()
  const shown = await tollgate(['token', 'list', '--tenant', tenantId], environmentOf(stack))
  for (const words of ['query (support)', 'query (finance)', 'admin (support)'])
    t.match(shown.stdout, words)
})

t.test('a profile token issues a query token with a role; no other kind has one', async (t) => {
  const own = (kind: TokenKind, role: string): Promise<Answer> =>
    ask(other.profileToken, 'POST', '/user/tokens', { kind, name: 'mine', role })
  const { body } = await own('query', 'support')
  t.match(body.data, { kind: 'query', role: 'support', scope: { level: 'current_user' } })
  t.match(await ask(body.data.secret, 'GET', '/query/v1/balance'), refusedRole)
  t.match(await ask(body.data.secret, 'GET', '/query/v1/tasks'), { status: 200 })
  const listed = await ask(other.profileToken, 'GET', `/user/tokens/${body.data.id}`)
  t.match(listed.body.data, { role: 'support' })
  const refused = { status: 400, body: { error: { code: 'invalid_request', param: 'role' } } }
  for (const answer of [await own('model', 'finance'), await own('query', 'auditor')])
    t.match(answer, refused)
  for (const kind of ['model', 'profile']) {
    const wanted = { tenant_id: tenantId, user_id: userId, kind, name: 'x', role: 'finance' }
    t.match(await ask(operator, 'POST', '/admin/tokens', wanted), {
      ...refused,
      body: { message: /only a query or an admin token has a role/i },
    })
  }
  const model = issueToken(access, { tenantId, userId, kind: 'model', name: 'x', role: 'support' })
  await t.rejects(model, { code: 'token_scope_invalid' })
})
