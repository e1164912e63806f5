import t from 'tap'
import { sharedStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'

const { url, demo, other, caughtUp } = await sharedStack(t)

const ask = (token: string, method: string, path: string, body?: object) =>
  call(`${url}/api/admin${path}`, {
    method,
    token,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
const operator = demo.adminToken
const of = { tenant_id: demo.tenantId, user_id: demo.userId, name: 'for finance' }
const issue = async (level: string): Promise<{ readonly id: string; readonly secret: string }> => {
  const wanted = { ...of, kind: 'admin', scope: { level }, role: 'finance' }
  const { status, text, body } = await ask(operator, 'POST', '/tokens', wanted)
  if (status !== 200) throw new Error(text)
  return body.data
}

t.test('an admin token is issued with the role finance, and shown with it', async (t) => {
  const { id } = await issue('all_users')
  await caughtUp()
  const found = await ask(operator, 'GET', `/tokens/${id}`)
  t.match(found.body.data, { kind: 'admin', role: 'finance', scope: { level: 'all_users' } })
  const { body } = await ask(operator, 'GET', `/tokens?tenant_id=${demo.tenantId}`)
  const roles = body.data.items.map((token: { role: unknown }) => token.role)
  t.same(new Set(roles), new Set([null, 'finance']))
  const { secret: _, ...rotated } = (await ask(operator, 'POST', `/tokens/${id}/rotate`, {})).body
    .data
  t.match(rotated, { role: 'finance' }, 'a new secret keeps it')
  const renamed = await ask(operator, 'PATCH', `/tokens/${id}`, { name: 'renamed' })
  t.match(renamed.body.data, { name: 'renamed', role: 'finance' })
})

t.test('400 names the role of a token of another kind, an unknown one, and a change', async (t) => {
  const refused = { status: 400, body: { error: { code: 'invalid_request', param: 'role' } } }
  for (const kind of ['model', 'profile'])
    t.match(await ask(operator, 'POST', '/tokens', { ...of, kind, role: 'finance' }), {
      ...refused,
      body: { ...refused.body, message: /only a query or an admin token has a role/i },
    })
  const admin = { ...of, kind: 'admin', scope: { level: 'all_users' } }
  t.match(await ask(operator, 'POST', '/tokens', { ...admin, role: 'auditor' }), refused)
  const { id } = await issue('all_users')
  t.match(await ask(operator, 'PATCH', `/tokens/${id}`, { role: null }), refused)
  const own = await call(`${url}/api/user/tokens`, {
    method: 'POST',
    token: other.profileToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'model', name: 'x', role: 'finance' }),
  })
  t.match(own, refused)
})

t.test('an operator of finance gives credit and sets terms, and nothing else', async (t) => {
  const { secret } = await issue('all_tenants')
  const path = `/tenants/${other.tenantId}`
  const grant = { currency: 'CNY', amount: '5', reason: 'invoice paid', grant_id: 'by-finance' }
  t.match(await ask(secret, 'POST', `${path}/credit/grants`, grant), { status: 200 })
  t.match(await ask(secret, 'GET', `${path}/credit`), { status: 200 })
  const billing = {
    legal_name: 'Other',
    address: ['Torstr. 1'],
    country: 'DE',
    number_prefix: 'OTHER',
    terms: 'postpaid',
  }
  t.match(await ask(secret, 'PUT', `${path}/billing`, billing), { status: 200 })
  const refused = {
    status: 403,
    body: { message: /without a role/, error: { code: 'role_denied' } },
  }
  const limit = { currency: 'CNY', amount: '5', limit_id: 'by-finance' }
  t.match(await ask(secret, 'PUT', `${path}/credit/limit`, limit), refused)
  t.match(await ask(secret, 'PUT', `${path}/prices`, { multiplier: '0.5', prices: [] }), refused)
  t.match(await ask(secret, 'PUT', `${path}/reporting`, { tag_keys: [] }), refused)
  t.match(await ask(secret, 'GET', '/tokens'), refused)
  const wider = { ...of, kind: 'admin', scope: { level: 'all_tenants' } }
  t.match(await ask(secret, 'POST', '/tokens', wider), refused, 'it issues no wider token')
  t.match(await ask(secret, 'POST', '/tokens', { ...wider, role: 'finance' }), refused)
})

t.test('finance of a tenant stays within the tenant, and within its administrator', async (t) => {
  const { id, secret } = await issue('all_users')
  const grant = { currency: 'CNY', amount: '5', reason: 'mine', grant_id: 'mine' }
  t.match(await ask(secret, 'POST', `/tenants/${demo.tenantId}/credit/grants`, grant), {
    status: 403,
    body: { message: /operator/ },
  })
  t.match(await ask(secret, 'GET', `/tenants/${other.tenantId}/billing`), { status: 404 })
  const { body } = await ask(secret, 'GET', '/tenants')
  t.same(
    body.data.items.map((tenant: { id: string }) => tenant.id),
    [demo.tenantId],
  )
  const queries = await call(`${url}/api/query/v1/balance`, { token: secret })
  t.match(queries, { status: 403, body: { error: { code: 'wrong_token_kind' } } })
  t.match(await ask(secret, 'DELETE', `/tokens/${id}`), { status: 403 }, 'nor ends itself')
  t.match(await ask(operator, 'DELETE', `/tokens/${id}`), { status: 200 })
  t.match(await ask(secret, 'GET', '/tenants'), { status: 401 })
})
