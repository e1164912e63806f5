import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, steadyHeaders } from './support/client.ts'

const stack = await startStack({ env: { RATE_LIMIT_RPM: '6000' } })
t.teardown(() => stack.stop())
const { access, demo, other, url } = stack
const replica = await stack.replica(['api'])

/** What a replica is not told of by the log it reads again after 30 s; it is told in far less on any machine. */
const TOLD_MS = 15_000

/** Every secret that was ever shown: none of them may stand anywhere. */
const secrets: string[] = []

/** One surface of a gateway as one token uses it. */
function clientOf(surface: 'admin' | 'user', token: string, base = url) {
  const ask = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const sent = body === undefined ? {} : json
    const answer = await call(`${base}/api/${surface}${path}`, { method, token, ...sent })
    const secret: unknown = answer.body?.data?.secret
    if (typeof secret === 'string') secrets.push(secret)
    return answer
  }
  const done = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    const { data } = answer.body
    // It comes a moment later, whatever else is done: of it there is a test of its own.
    for (const token of [data, ...(data.items ?? [])]) delete token.last_used_at
    return data
  }
  return { ask, done }
}

const operator = clientOf('admin', demo.adminToken)

const chat = (token: string, base = url): Promise<Answer> =>
  call(`${base}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }),
  })

const historyOf = async (tokenId: string) => {
  await stack.caughtUp()
  const { rows } = await stack.gateway.pool.query<{ type: string; actor: string; request: string }>(
    `select type, metadata->>'actor' as actor, metadata->>'correlationId' as request
     from timeline.events where source_id = $1 order by position`,
    [tokenId],
  )
  return rows
}

await t.test('an operator runs a tenant with HTTP alone', async (t) => {
  const tenant = await operator.done('POST', '/tenants', { name: 'Acme', tenant_id: 'tenant_acme' })
  t.match(tenant, { object: 'tenant', id: 'tenant_acme', name: 'Acme' })
  const again = { name: 'Acme', tenant_id: 'tenant_acme' }
  t.same(await operator.done('POST', '/tenants', again), tenant, 'the same again changes nothing')
  t.same(await operator.done('GET', '/tenants/tenant_acme'), tenant)
  const user = await operator.done('POST', '/tenants/tenant_acme/users', {
    name: 'Ada',
    user_id: 'user_ada',
  })
  t.match(user, { object: 'user', id: 'user_ada', tenant_id: 'tenant_acme', name: 'Ada' })
  t.same((await operator.done('GET', '/tenants/tenant_acme/users')).items, [user])

  const who = { tenant_id: 'tenant_acme', user_id: 'user_ada' }
  const made = await operator.ask('POST', '/tokens', { ...who, kind: 'model', name: 'batch jobs' })
  t.equal(made.status, 200)
  t.equal(made.headers.get('cache-control'), 'no-store')
  const { secret: first, ...token } = made.body.data
  t.match(first, /^sk-[\w-]{43}$/)
  t.match(token, { kind: 'model', prefix: 'sk-', last_four: first.slice(-4), disabled_at: null })
  t.equal((await chat(first)).status, 402, 'nothing is owned yet')

  const grant = { currency: 'USD', amount: '25', reason: 'invoice 17', grant_id: 'grant_17' }
  const granted = await operator.done('POST', '/tenants/tenant_acme/credit/grants', grant)
  t.match(granted, { id: 'grant_17', amount: '25', changed: true })
  const repeated = await operator.done('POST', '/tenants/tenant_acme/credit/grants', grant)
  t.equal(repeated.changed, false)
  const limit = { currency: 'USD', amount: '5', limit_id: 'limit_17' }
  t.ok((await operator.done('PUT', '/tenants/tenant_acme/credit/limit', limit)).changed)
  t.notOk((await operator.done('PUT', '/tenants/tenant_acme/credit/limit', limit)).changed)
  t.match((await operator.done('GET', '/tenants/tenant_acme/credit')).accounts, [
    { currency: 'USD', granted: '25.000000000000', available: '30.000000000000' },
  ])
  // A balance too small for a call is looked at again after a tenth of a second.
  for (const at of [undefined, replica.url])
    await eventually('the credit counts', async () => (await chat(first, at)).status === 200)

  const rotate = await operator.ask('POST', `/tokens/${token.id}/rotate`, { overlap_seconds: 60 })
  t.equal(rotate.headers.get('cache-control'), 'no-store')
  const { secret: second } = rotate.body.data
  t.not(second, first)
  for (const secret of [first, second])
    for (const base of [url, replica.url])
      t.equal((await chat(secret, base)).status, 200, 'both work during the overlap')
  t.match((await operator.done('GET', `/tokens/${token.id}`)).rotated_at, /^20.*Z$/)

  const { issued, ...ended } = await operator.done('DELETE', `/tokens/${token.id}`)
  t.match(ended.disabled_at, /^20.*Z$/)
  t.same(issued, { disabled: 0, active: 0 })
  t.same(
    await operator.done('DELETE', `/tokens/${token.id}`),
    { ...ended, issued },
    'again it changes nothing',
  )
  await eventually(
    'refused on the other replica',
    async () => ((await chat(second, replica.url)).status === 401 ? true : undefined),
    TOLD_MS,
  )
  for (const secret of [first, second]) t.equal((await chat(secret)).status, 401)
  const late = await operator.ask('POST', `/tokens/${token.id}/rotate`)
  t.equal(late.status, 409)
  t.equal(late.body.error.code, 'token_disabled')

  const [admin] = (await operator.done('GET', `/tokens?tenant_id=${demo.tenantId}`)).items.filter(
    ({ kind }: { kind: string }) => kind === 'admin',
  )
  const across = await clientOf('admin', demo.adminToken, replica.url).done(
    'GET',
    '/tokens?user_id=user_ada',
  )
  t.same(across.items, [ended], 'a list of another replica shows what was just done')
  const history = await historyOf(token.id)
  t.same(
    history.map(({ type }) => type),
    ['TokenIssued', 'TokenRotated', 'TokenDisabled'],
  )
  for (const { actor, request } of history) {
    t.equal(actor, admin.id, 'whose token did it')
    t.match(request, /^req_/)
  }
})

await t.test(
  'a token bound to addresses is refused from other addresses, on every route',
  async (t) => {
    const who = { tenant_id: demo.tenantId, user_id: demo.userId }
    const made = await operator.done('POST', '/tokens', {
      ...who,
      kind: 'model',
      name: 'office',
      addresses: ['127.0.0.1', '203.0.113.7/24'],
    })
    t.same(made.addresses, ['127.0.0.1', '203.0.113.0/24'], 'as ranges are written')
    const both = [url, replica.url]
    for (const base of both) t.equal((await chat(made.secret, base)).status, 200)
    const change = (addresses: unknown) =>
      operator.done('PATCH', `/tokens/${made.id}`, { addresses })
    t.same((await change(['203.0.113.0/24'])).addresses, ['203.0.113.0/24'])
    for (const base of both)
      await eventually(
        'refused',
        async () => ((await chat(made.secret, base)).status === 403 ? true : undefined),
        TOLD_MS,
      )
    const refused = await chat(made.secret)
    t.match(refused.body.error, {
      code: 'permission_denied',
      message: /not be used from 127\.0\.0\.1/,
    })
    const spoofed = await call(`${url}/v1/models`, {
      token: made.secret,
      headers: { 'x-forwarded-for': '203.0.113.9' },
    })
    t.equal(spoofed.status, 403, 'what a caller says of itself counts nothing')
    t.equal((await change(null)).addresses, null)
    await eventually('from anywhere', async () =>
      (await chat(made.secret)).status === 200 ? true : undefined,
    )
    const key = await call(`${url}/v1/key`, { token: made.secret })
    t.equal(key.body.addresses, null)
    t.same(
      (await historyOf(made.id)).map(({ type }) => type),
      ['TokenIssued', 'TokenUpdated', 'TokenUpdated'],
    )
  },
)

await t.test('a token shows its last successful use, on whichever replica', async (t) => {
  const who = { tenant_id: demo.tenantId, user_id: demo.userId }
  const asked = { ...who, kind: 'model', name: 'rare', addresses: ['203.0.113.7'] }
  const made = await operator.done('POST', '/tokens', asked)
  const lastUsed = async () =>
    (await operator.ask('GET', `/tokens/${made.id}`)).body.data.last_used_at
  t.equal((await chat(made.secret, replica.url)).status, 403)
  await operator.done('PATCH', `/tokens/${made.id}`, { addresses: null })
  const before = Date.now()
  await eventually('let in', async () =>
    (await chat(made.secret, replica.url)).status === 200 ? true : undefined,
  )
  const used = await eventually('it says so', async () => (await lastUsed()) ?? undefined)
  t.ok(Date.parse(used) >= before && Date.parse(used) <= Date.now(), `${used}: no refusal counts`)
  const list = await operator.ask('GET', `/tokens?user_id=${demo.userId}&limit=1000`)
  t.match(
    list.body.data.items.find(({ id }: { id: string }) => id === made.id),
    { last_used_at: used },
  )
})

await t.test('a user manages own tokens and cannot widen them', async (t) => {
  const user = clientOf('user', other.profileToken)
  const made = await user.done('POST', '/tokens', {
    kind: 'model',
    name: 'mine',
    models: ['text-basic'],
    limits: { requests_per_minute: 60, concurrent_tasks: 2 },
    expires_at: '2099-01-01T00:00:00Z',
  })
  t.match(made, {
    kind: 'model',
    tenant_id: other.tenantId,
    user_id: other.userId,
    models: ['text-basic'],
    limits: { requests_per_minute: 60, tokens_per_minute: 'default', concurrent_tasks: 2 },
    expires_at: '2099-01-01T00:00:00.000Z',
    scope: null,
  })
  t.equal((await chat(made.secret)).status, 200)
  const { secret: _, ...shown } = made
  t.same(await user.done('GET', `/tokens/${made.id}`), shown)
  const query = await user.done('POST', '/tokens', { kind: 'query', name: 'mine' })
  t.same(query.scope, { level: 'current_user' })

  t.same(
    (await user.done('PATCH', `/tokens/${made.id}`, { models: ['text-basic', 'text-basic'] }))
      .models,
    ['text-basic'],
    'each once, and the same again changes nothing',
  )
  const change = { name: 'renamed', limits: { requests_per_minute: 30 } }
  const changed = await user.done('PATCH', `/tokens/${made.id}`, change)
  t.match(changed, { name: 'renamed', limits: { requests_per_minute: 30, concurrent_tasks: 2 } })
  t.same(await user.done('PATCH', `/tokens/${made.id}`, change), changed)
  t.same(
    (await historyOf(made.id)).map(({ type }) => type),
    ['TokenIssued', 'TokenUpdated', 'TokenLimitsChanged'],
    'the same again was no event',
  )

  const listed = await user.done('GET', '/tokens')
  t.same(listed.next_cursor, null)
  t.same(
    new Set(listed.items.map((one: { user_id: string }) => one.user_id)),
    new Set([other.userId]),
  )
  t.equal(listed.items.length, 6)
  t.notMatch(JSON.stringify(listed), /secret|[hH]ash/)
  const paged: string[] = []
  for (let at: string | null = ''; at !== null;) {
    const page: { items: { id: string }[]; next_cursor: string | null } = await user.done(
      'GET',
      `/tokens?limit=2${at === '' ? '' : `&cursor=${at}`}`,
    )
    paged.push(...page.items.map(({ id }) => id))
    at = page.next_cursor
  }
  t.same(
    paged,
    listed.items.map(({ id }: { id: string }) => id),
  )

  for (const [method, path, body, param] of [
    ['POST', '/tokens', { kind: 'query', name: 'x', scope: { level: 'all_users' } }, 'scope'],
    ['POST', '/tokens', { kind: 'query', name: 'x', scope: { level: 'all_tenants' } }, 'scope'],
    [
      'POST',
      '/tokens',
      { kind: 'query', name: 'x', scope: { level: 'specified_users', user_ids: [other.userId] } },
      'scope',
    ],
    ['POST', '/tokens', { kind: 'admin', name: 'x', scope: { level: 'all_users' } }, 'kind'],
    ['POST', '/tokens', { kind: 'profile', name: 'x' }, 'kind'],
    [
      'POST',
      '/tokens',
      { kind: 'model', name: 'x', limits: { requests_per_minute: null } },
      'limits',
    ],
    [
      'POST',
      '/tokens',
      { kind: 'model', name: 'x', limits: { requests_per_minute: 6001 } },
      'limits',
    ],
    ['PATCH', `/tokens/${made.id}`, { limits: { requests_per_minute: 31 } }, 'limits'],
    ['PATCH', `/tokens/${made.id}`, { limits: { requests_per_minute: 'default' } }, 'limits'],
    ['PATCH', `/tokens/${made.id}`, { models: null }, 'models'],
    ['PATCH', `/tokens/${made.id}`, { models: ['text-basic', 'text-pro'] }, 'models'],
    ['PATCH', `/tokens/${made.id}`, { expires_at: null }, 'expires_at'],
  ] as const) {
    const answer = await user.ask(method, path, body)
    t.equal(answer.status, 403, JSON.stringify(body))
    t.match(answer.body, { success: false, error: { code: 'scope_denied', param } })
  }
  for (const [kind, param] of [
    ['admin', 'scope'],
    ['query', 'scope'],
  ] as const) {
    const { id } = listed.items.find(
      (one: { kind: string; name: string }) => one.kind === kind && one.name !== 'mine',
    )
    const answer = await user.ask('POST', `/tokens/${id}/rotate`)
    t.equal(answer.status, 403, `the secret of a wider ${kind} token is not to be had`)
    t.equal(answer.body.error.param, param)
    for (const [method, body] of [
      ['PATCH', { name: 'x' }],
      ['DELETE', undefined],
    ] as const)
      t.equal((await user.ask(method, `/tokens/${id}`, body)).status, 403)
  }
  t.equal((await user.done('GET', '/tokens')).items.length, 6, 'nothing was made')
  const rotated = await user.done('POST', `/tokens/${made.id}/rotate`, { overlap_seconds: 0 })
  t.equal((await chat(made.secret)).status, 401)
  t.equal((await chat(rotated.secret)).status, 200)
  await user.done('DELETE', `/tokens/${made.id}`)
  t.equal((await chat(rotated.secret)).status, 401)
})

await t.test("another user's token and tenant are answered exactly as unknown ones", async (t) => {
  const user = clientOf('user', other.profileToken)
  const bound = await issueToken(access, {
    tenantId: other.tenantId,
    userId: other.userId,
    kind: 'admin',
    name: 'tenant admin',
    scope: { level: 'all_users' },
  })
  const tenantAdmin = clientOf('admin', bound.secret)
  const theirs = (await operator.done('GET', `/tokens?tenant_id=${demo.tenantId}`)).items
  const none = `token_${'0'.repeat(26)}`
  const same = (a: Answer, b: Answer, what: string): void => {
    t.equal(a.status, 404, what)
    t.equal(a.text, b.text, what)
    t.same(steadyHeaders(a), steadyHeaders(b), what)
  }
  for (const who of [user, tenantAdmin])
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/rotate', undefined],
    ] as const) {
      const of = (id: string) => who.ask(method, `/tokens/${id}${path}`, body)
      const missing = await of(none)
      for (const { id } of theirs) same(await of(id), missing, `${method} ${path}`)
      same(await of('nonsense'), missing, 'whatever the id looks like')
    }
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['GET', '/users', undefined],
    ['POST', '/users', { name: 'Eve' }],
    ['GET', '/credit', undefined],
  ] as const) {
    const of = (id: string) => tenantAdmin.ask(method, `/tenants/${id}${path}`, body)
    same(await of(demo.tenantId), await of('tenant_none'), `${method} ${path}`)
  }
  const issueFor = (tenant_id: string) =>
    tenantAdmin.ask('POST', '/tokens', {
      tenant_id,
      user_id: demo.userId,
      kind: 'model',
      name: 'x',
    })
  same(await issueFor(demo.tenantId), await issueFor('tenant_none'), 'a token elsewhere')
})

await t.test('a tenant admin manages that tenant only', async (t) => {
  const made = await operator.done('POST', '/tokens', {
    tenant_id: other.tenantId,
    user_id: other.userId,
    kind: 'admin',
    name: 'tenant admin',
    scope: { level: 'all_users' },
  })
  const admin = clientOf('admin', made.secret, replica.url)
  t.same(
    (await admin.done('GET', '/tenants')).items.map(({ id }: { id: string }) => id),
    [other.tenantId],
  )
  await admin.done('POST', `/tenants/${other.tenantId}/users`, { name: 'New', user_id: 'user_new' })
  const who = { tenant_id: other.tenantId, user_id: 'user_new', name: 'x' }
  const scope = { level: 'specified_users', user_ids: ['user_new', other.userId] }
  const query = await admin.done('POST', '/tokens', { ...who, kind: 'query', scope })
  t.same(query.scope, scope)
  t.equal((await call(`${url}/api/query/v1/balance`, { token: query.secret })).status, 200)
  const listed = (await admin.done('GET', '/tokens')).items
  t.same(
    new Set(listed.map(({ tenant_id }: { tenant_id: string }) => tenant_id)),
    new Set([other.tenantId]),
  )
  t.same((await admin.done('GET', `/tokens?tenant_id=${other.tenantId}`)).items, listed)
  for (const elsewhere of [demo.tenantId, 'tenant_none'])
    t.same((await admin.done('GET', `/tokens?tenant_id=${elsewhere}`)).items, [])
  const operators = listed.find(
    ({ kind, scope: of }: { kind: string; scope: unknown }) => kind === 'admin' && of === null,
  )
  for (const [method, path, body] of [
    ['POST', '/tenants', { name: 'x' }],
    [
      'POST',
      `/tenants/${other.tenantId}/credit/grants`,
      { currency: 'USD', amount: '1', reason: 'x', grant_id: 'g' },
    ],
    [
      'PUT',
      `/tenants/${other.tenantId}/credit/limit`,
      { currency: 'USD', amount: '1', limit_id: 'l' },
    ],
    ['POST', '/tokens', { ...who, kind: 'admin', scope: { level: 'all_tenants' } }],
    ['POST', '/tokens', { ...who, kind: 'query', scope: { level: 'all_tenants' } }],
    ['POST', `/tokens/${operators.id}/rotate`, undefined],
    ['PATCH', `/tokens/${operators.id}`, { name: 'x' }],
    ['DELETE', `/tokens/${operators.id}`, undefined],
  ] as const) {
    const answer = await admin.ask(method, path, body)
    t.equal(answer.status, 403, `${method} ${path}`)
    t.equal(answer.body.error.code, 'scope_denied')
  }
})

await t.test('400 names the faulty member, and no event is written', async (t) => {
  const before = await stack.gateway.log.endPosition()
  const who = { tenant_id: demo.tenantId, user_id: demo.userId }
  const token = { ...who, kind: 'model', name: 'x' }
  const [{ id }] = (await operator.done('GET', '/tokens?limit=1')).items
  const past = '2001-01-01T00:00:00Z'
  for (const [method, path, body, param] of [
    ['POST', '/tokens', { ...who, kind: 'model' }, 'name'],
    ['POST', '/tokens', { ...token, name: '' }, 'name'],
    ['POST', '/tokens', { ...token, name: 'a\nb' }, 'name'],
    ['POST', '/tokens', { ...token, name: 'x'.repeat(129) }, 'name'],
    ['POST', '/tokens', { ...token, kind: 'root' }, 'kind'],
    ['POST', '/tokens', { ...token, model: ['text-basic'] }, 'model'],
    ['POST', '/tokens', { ...token, expires: past }, 'expires'],
    ['POST', '/tokens', { ...token, expires_at: 'tomorrow' }, 'expires_at'],
    ['POST', '/tokens', { ...token, expires_at: past }, 'expires_at'],
    ['POST', '/tokens', { ...token, models: [] }, 'models'],
    ['POST', '/tokens', { ...token, addresses: [] }, 'addresses'],
    ['POST', '/tokens', { ...token, addresses: ['nowhere'] }, 'addresses'],
    ['POST', '/tokens', { ...token, addresses: ['203.0.113.0/33'] }, 'addresses'],
    [
      'POST',
      '/tokens',
      { ...token, limits: { requests_per_minute: 0 } },
      'limits.requests_per_minute',
    ],
    ['POST', '/tokens', { ...token, limits: { requestsPerMinute: 1 } }, 'limits.requestsPerMinute'],
    ['POST', '/tokens', { ...token, limits: { rpm: 1 } }, 'limits.rpm'],
    ['POST', '/tokens', { ...token, kind: 'query', limits: { tokens_per_minute: 1 } }, 'limits'],
    ['POST', '/tokens', { ...token, kind: 'query', models: ['text-basic'] }, 'models'],
    ['POST', '/tokens', { ...token, scope: { level: 'current_user' } }, 'scope'],
    ['POST', '/tokens', { ...token, kind: 'admin' }, 'scope'],
    ['POST', '/tokens', { ...token, kind: 'admin', scope: { level: 'current_user' } }, 'scope'],
    [
      'POST',
      '/tokens',
      { ...token, kind: 'query', scope: { level: 'specified_users' } },
      'scope.user_ids',
    ],
    ['POST', '/tokens', [], ''],
    ['PATCH', `/tokens/${id}`, { expires_at: past }, 'expires_at'],
    ['PATCH', `/tokens/${id}`, { kind: 'admin' }, 'kind'],
    ['POST', `/tokens/${id}/rotate`, { overlap_seconds: -1 }, 'overlap_seconds'],
    ['POST', `/tokens/${id}/rotate`, { reason: 'two\nlines' }, 'reason'],
    ['PATCH', `/tokens/${id}`, { reason: '' }, 'reason'],
    ['POST', `/tokens/${id}/rotate`, { overlap_seconds: 2_592_001 }, 'overlap_seconds'],
    ['POST', `/tokens/${id}/rotate`, { overlap: 5 }, 'overlap'],
    ['POST', '/tenants', { name: 'x', tenant_id: 'a b' }, 'tenant_id'],
    ['POST', '/tenants', { nmae: 'x' }, 'nmae'],
    ['POST', `/tenants/${demo.tenantId}/users`, {}, 'name'],
    [
      'POST',
      `/tenants/${demo.tenantId}/credit/grants`,
      { currency: 'EUR', amount: '1', reason: 'x' },
      'currency',
    ],
    [
      'POST',
      `/tenants/${demo.tenantId}/credit/grants`,
      { currency: 'USD', amount: '0', reason: 'x', grant_id: 'g' },
      'amount',
    ],
    [
      'POST',
      `/tenants/${demo.tenantId}/credit/grants`,
      { currency: 'USD', amount: 1, reason: 'x' },
      'amount',
    ],
    ['GET', '/tokens?colour=red', undefined, 'colour'],
    ['GET', '/tokens?limit=0', undefined, 'limit'],
    ['GET', '/tokens?cursor=!', undefined, 'cursor'],
    ['GET', '/tenants?colour=red', undefined, 'colour'],
    ['GET', `/tokens/${id}?colour=red`, undefined, 'colour'],
  ] as const) {
    const answer = await operator.ask(method, path, body)
    t.equal(answer.status, 400, `${method} ${path} ${JSON.stringify(body)} ${answer.text}`)
    t.match(answer.body, { success: false, error: { code: 'invalid_request' } })
    t.equal(answer.body.error.param ?? '', param, answer.text)
  }
  for (const [method, path, body, status, code] of [
    ['POST', '/tokens', { ...token, user_id: 'user_none' }, 404, 'user_not_found'],
    ['POST', '/tokens', { ...token, tenant_id: 'tenant_none' }, 404, 'tenant_not_found'],
    ['POST', '/tenants', { name: 'Other', tenant_id: demo.tenantId }, 409, 'tenant_exists'],
    ['POST', '/tenants/tenant_none/users', { name: 'x' }, 404, 'tenant_not_found'],
    [
      'POST',
      `/tenants/${demo.tenantId}/users`,
      { name: 'Other', user_id: demo.userId },
      409,
      'user_exists',
    ],
    [
      'POST',
      '/tenants/tenant_acme/credit/grants',
      { currency: 'USD', amount: '26', reason: 'x', grant_id: 'grant_17' },
      409,
      'grant_exists',
    ],
    ['POST', '/tenants', undefined, 400, 'invalid_request'],
    ['GET', '/tenants/%00', undefined, 400, 'invalid_request'],
    ['GET', `/tenants/${'x'.repeat(2_000)}/credit`, undefined, 404, 'tenant_not_found'],
    ['POST', '/tenants/%01/users', { name: 'x' }, 404, 'tenant_not_found'],
    [
      'PUT',
      '/tenants/%0a/credit/limit',
      { currency: 'USD', amount: '1', limit_id: 'l' },
      404,
      'tenant_not_found',
    ],
    ['GET', '/tokens/%01', undefined, 404, 'token_not_found'],
  ] as const) {
    const answer = await operator.ask(method, path, body)
    t.equal(answer.status, status, `${method} ${path} ${answer.text}`)
    t.equal(answer.body.error.code, code)
  }
  const slip = await operator.ask('POST', '/tenants', { nmae: 'x' })
  t.match(slip.body.message, /did you mean `name`/)
  for (const token of [demo.modelToken, demo.queryToken, demo.profileToken])
    t.equal((await clientOf('admin', token).ask('GET', '/tokens')).status, 403)
  for (const token of [demo.modelToken, demo.queryToken, demo.adminToken])
    t.equal((await clientOf('user', token).ask('GET', '/tokens')).status, 403)
  t.equal(await stack.gateway.log.endPosition(), before, 'the log is as it was')
})

await t.test('no secret is in a log, an event or a table', async (t) => {
  await stack.caughtUp()
  t.ok(secrets.length >= 6)
  const { rows: tables } = await stack.gateway.pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  t.ok(tables.length > 10)
  const kept = [stack.logged()]
  for (const { name } of tables) {
    const { rows } = await stack.gateway.pool.query(`select to_jsonb(x) as row from ${name} x`)
    kept.push(JSON.stringify(rows))
  }
  for (const secret of secrets)
    t.notOk(
      kept.some((text) => text.includes(secret) || text.includes(secret.slice(4, -4))),
      'of the timeline too, which holds every event whole',
    )
})
