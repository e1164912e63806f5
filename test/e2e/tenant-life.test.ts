import { Pool } from 'pg'
import t from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { setSetting } from '../../src/app/accounts/settings.ts'
import { eventually } from '../helpers/eventually.ts'
import { openTestTenant, startStack, type TestTenant } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, TASKS, tasksOf } from './support/client.ts'
import { everySurface, isDone, sendTo } from './support/every-surface.ts'

/** The life of tenants and users: what each status allows, on every surface and every replica. */

const stack = await startStack({
  env: { OBJECT_STORAGE: 'local', PUBLIC_BASE_URL: 'https://gateway.example.com' },
})
t.teardown(() => stack.stop())
const { url, access, demo } = stack
const operator = demo.adminToken
const json = { 'content-type': 'application/json' }

const ask = (token: string, method: string, path: string, body?: object): Promise<Answer> =>
  call(`${url}${path}`, {
    method,
    token,
    ...(body === undefined ? {} : { headers: json, body: JSON.stringify(body) }),
  })
const admin = (token: string, method: string, path: string, body?: object) =>
  ask(token, method, `/api/admin/tenants/${path}`, body)
const setStatus = (tenantId: string, status: string, reason?: string, more: object = {}) =>
  admin(operator, 'PUT', `${tenantId}/status`, {
    status,
    ...(reason === undefined ? {} : { reason }),
    ...more,
  })

/** A tenant with an administrator of its own. */
async function tenantOf(name: string): Promise<TestTenant & { readonly ownAdmin: string }> {
  const tenant = await openTestTenant(access, name)
  const { tenantId, userId } = tenant
  const scope = { level: 'all_users' } as const
  const issued = await issueToken(access, { tenantId, userId, kind: 'admin', name: 'own', scope })
  await stack.caughtUp()
  return { ...tenant, ownAdmin: issued.secret }
}

const chat = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }
const refusalOf = async (token: string, at = url): Promise<string | undefined> => {
  const { status, body } = await call(`${at}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: json,
    body: JSON.stringify(chat),
  })
  return status === 200 ? undefined : `${status} ${body.error.code}`
}
const becomes = (token: string, refusal: string | undefined, at = url) =>
  eventually(`${refusal}`, async () =>
    (await refusalOf(token, at)) === refusal ? true : undefined,
  )

const sentUpstream = () => stack.sandbox.requests().all.count

t.test('every surface refuses a suspended tenant in its own shape and sends nothing', async (t) => {
  const tenant = await tenantOf('everywhere')
  const its = { url, demo: tenant }
  const surfaces = await everySurface(its)
  const uploaded = await ask(tenant.modelToken, 'GET', '/v1/files')
  t.equal(uploaded.status, 200)
  t.match(await setStatus(tenant.tenantId, 'suspended', 'invoice 77 is overdue'), { status: 200 })
  await becomes(tenant.modelToken, '403 tenant_suspended')
  await stack.caughtUp()
  const before = sentUpstream()
  const library = (action: string) => ({
    surface: action,
    path: `/provA?Action=${action}&Version=2024-01-01`,
    body: { GroupId: 'group-1', URL: 'https://hooks.example.com/a.png', Name: 'a' },
  })
  const form = (purpose: string) => () => {
    const made = new FormData()
    made.set('purpose', purpose)
    made.set('file', new Blob(['{}']), 'a.jsonl')
    return made
  }
  const others = [
    { surface: 'v1.files', path: '/v1/files', body: form('user_data') },
    { surface: 'provB.files', path: '/provB/v1/files/upload', body: form('voice_clone') },
    ...['CreateAssetGroup', 'CreateAsset', 'CreateVisualValidateSession', 'UpdateAsset'].map(
      library,
    ),
    {
      surface: 'v1beta.stream',
      path: '/v1beta/models/text-basic:streamGenerateContent',
      body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    },
    {
      surface: 'messages.count',
      path: '/v1/messages/count_tokens',
      body: { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] },
    },
    {
      surface: 'responses.count',
      path: '/v1/responses/input_tokens',
      body: { model: 'text-basic', input: 'Hello' },
    },
    {
      surface: 'native.count',
      path: '/v1beta/models/text-basic:countTokens',
      body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    },
  ]
  for (const one of [...surfaces, ...others]) {
    const answer = await sendTo(its, one)
    const name = `${one.surface}: ${answer.text.slice(0, 200)}`
    t.equal(answer.status, 403, name)
    t.match(
      answer.text,
      /This tenant is suspended: invoice 77 is overdue\. Nothing was started/,
      name,
    )
    t.notOk(isDone(answer), name)
    t.equal(answer.headers.get('x-should-retry'), 'false', name)
  }
  const shapes = {
    '/v1/chat/completions': { error: { code: 'tenant_suspended', message: String } },
    '/v1/messages': {
      type: 'error',
      error: { type: 'permission_error', details: { error_code: 'tenant_suspended' } },
    },
    '/v1beta/models/text-basic:generateContent': { error: { code: 403 } },
    [TASKS]: { error: { code: 'tenant_suspended', type: 'Forbidden' } },
    '/provB/v2/video_generation': {
      type: 'error',
      error: { message: /tenant_suspended: .*\(1004\)/ },
    },
    '/provB/v1/t2a_v2': { base_resp: { status_code: 1004, status_msg: /^tenant_suspended: / } },
    '/provC/ent/v2/text2video': { code: 403, reason: 'TenantSuspended' },
    '/provA?Action=CreateAsset&Version=2024-01-01': {
      ResponseMetadata: { Error: { Code: 'tenant_suspended' } },
    },
  }
  for (const [path, shape] of Object.entries(shapes)) {
    const one = [...surfaces, ...others].find((known) => known.path === path)
    if (one === undefined) return t.fail(path)
    t.match((await sendTo(its, one)).body, shape, path)
  }
  t.equal(sentUpstream(), before, 'nothing was sent upstream')
  const balance = await queriesOf(url, tenant.queryToken).get('/balance')
  for (const account of balance.body.data.items[0].accounts) t.match(account, { held: '0' })
})

t.test(
  'a suspended tenant reads, deletes, and ends what it began; resumed it goes on',
  async (t) => {
    const tenant = await tenantOf('reader')
    const { tenantId, modelToken, queryToken, profileToken, ownAdmin } = tenant
    const tasks = tasksOf(url, modelToken)
    const id = await tasks.created()
    const stuck = await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
    await setStatus(tenantId, 'suspended', 'overdue')
    await becomes(modelToken, '403 tenant_suspended')
    t.match(await tasks.reaches(id, 'succeeded'), { status: 200 }, 'a task under way goes on')
    await stack.caughtUp()
    const lines = await queriesOf(url, queryToken).lines()
    t.ok(lines.body.data.items.length > 0, 'and is billed')
    t.match(await setStatus(tenantId, 'closed', 'ends'), {
      status: 409,
      body: { error: { code: 'tenant_busy' }, message: /Money is held for video_\w+: close/ },
    })
    t.equal((await tasks.del(stuck)).status, 200)
    t.equal((await tasks.list()).status, 200)
    t.match(await ask(modelToken, 'GET', '/v1/key'), {
      status: 200,
      body: { refused: { code: 'tenant_suspended', message: /overdue/ } },
    })
    const quoted = await ask(modelToken, 'POST', '/v1/quote', {
      path: '/v1/chat/completions',
      body: chat,
    })
    t.equal(quoted.status, 200, quoted.text)
    t.equal((await ask(modelToken, 'GET', '/v1/usage')).status, 200)
    t.equal((await ask(profileToken, 'GET', '/api/user/tokens')).status, 200)
    t.equal((await admin(ownAdmin, 'PUT', `${tenantId}/name`, { name: 'Reader' })).status, 200)
    t.match(await setStatus(tenantId, 'open'), { status: 200, body: { data: { changed: true } } })
    t.match(await setStatus(tenantId, 'open'), { status: 200, body: { data: { changed: false } } })
    await becomes(modelToken, undefined)
    t.match(await ask(modelToken, 'GET', '/v1/key'), { body: { refused: null } })
  },
)

t.test('a tenant is not closed while a call of it is under way', async (t) => {
  const { tenantId, modelToken } = await tenantOf('calling')
  const slow = {
    ...chat,
    messages: [{ role: 'user', content: 'x [[sandbox first-byte-ms=4000]]' }],
  }
  const under = ask(modelToken, 'POST', '/v1/chat/completions', slow)
  const database = new Pool({ connectionString: stack.databaseUrl, max: 1 })
  t.teardown(() => database.end())
  await eventually('the call is reported', async () => {
    const text = 'select from ops.text_spending where tenant_id = $1 and held > 0'
    return (await database.query(text, [tenantId])).rows.length > 0 || undefined
  })
  await setStatus(tenantId, 'suspended', 'ends')
  const close = () => setStatus(tenantId, 'closed', 'ends')
  t.match(await close(), {
    status: 409,
    body: { error: { code: 'tenant_busy' }, message: /^Calls are under way/ },
  })
  t.equal((await under).status, 200, 'it is answered')
  await eventually('then it can be closed', async () => (await close()).status === 200 || undefined)
})

await t.test('closing is final: its tokens read, and change nothing', async (t) => {
  const { tenantId, modelToken, queryToken, ownAdmin } = await tenantOf('ending')
  t.match(await setStatus(tenantId, 'closed', 'ends'), {
    status: 409,
    body: { error: { code: 'status_refused', param: 'status' }, message: /suspend it first/ },
  })
  await setStatus(tenantId, 'suspended', 'ends')
  t.match(await setStatus(tenantId, 'closed', 'contract ended'), {
    status: 200,
    body: { data: { status: 'closed', since: String, changed: true } },
  })
  t.match(await setStatus(tenantId, 'closed', 'contract ended'), {
    body: { data: { changed: false } },
  })
  t.match(await setStatus(tenantId, 'open'), {
    status: 409,
    body: { error: { code: 'status_refused' }, message: /closed, which is final/ },
  })
  await becomes(modelToken, '403 tenant_closed')
  t.equal((await ask(modelToken, 'GET', TASKS)).status, 200)
  t.equal((await queriesOf(url, queryToken).lines()).status, 200)
  t.equal((await admin(ownAdmin, 'GET', tenantId)).status, 200)
  t.match(await admin(ownAdmin, 'PUT', `${tenantId}/name`, { name: 'x' }), {
    status: 403,
    body: { error: { code: 'tenant_closed' }, message: /contract ended/ },
  })
  t.match(await admin(operator, 'PUT', `${tenantId}/name`, { name: 'Ended' }), { status: 200 })
})

t.test('seven days after the closing, only administrators read', async (t) => {
  const { tenantId, modelToken, queryToken, profileToken, ownAdmin } = await tenantOf('ended')
  const clock = { nowMs: () => Date.now() - 8 * 86_400_000 }
  for (const status of ['suspended', 'closed'] as const) {
    const tenant = { status, reason: 'contract ended' }
    await setSetting({ ...access, clock }, 'status', { tenantId, wanted: { tenant } })
  }
  await becomes(modelToken, '403 tenant_closed')
  for (const path of [
    '/v1/models',
    '/v1/key',
    '/v1/usage',
    '/v1/files',
    '/v1/videos/video_1',
    '/v1beta/models',
    TASKS,
    '/provB/v2/query/video_generation/1',
    '/provB/v1/query/t2a_async_query_v2?task_id=1',
    '/provC/ent/v2/tasks/1/creations',
  ]) {
    const { status, text } = await ask(modelToken, 'GET', path)
    t.equal(status, 403, `${path}: ${text}`)
    t.match(text, /This tenant is closed: contract ended\. Ask the operator/, path)
  }
  const closed = { status: 403, body: { error: { code: 'tenant_closed' } } }
  t.match(await queriesOf(url, queryToken).lines(), closed)
  t.match(await ask(profileToken, 'GET', '/api/user/tokens'), closed)
  t.equal((await admin(ownAdmin, 'GET', `${tenantId}/status`)).status, 200)
  t.equal((await admin(ownAdmin, 'GET', `${tenantId}/users`)).status, 200)
})

t.test('administrators suspend users of their tenant, and not the tenant', async (t) => {
  const tenant = await tenantOf('users')
  const { tenantId, userId, modelToken, ownAdmin } = tenant
  await addUser(access, { tenantId, userId: 'bob', name: 'Bob' })
  const bob = await issueToken(access, { tenantId, userId: 'bob', kind: 'model', name: 'b' })
  const path = `${tenantId}/users/${userId}/status`
  const suspended = await admin(ownAdmin, 'PUT', path, { status: 'suspended', reason: 'left' })
  t.match(suspended, {
    status: 200,
    body: { data: { id: userId, suspended: true, suspended_reason: 'left', changed: true } },
  })
  t.match(await admin(ownAdmin, 'PUT', path, { status: 'suspended', reason: 'left' }), {
    body: { data: { changed: false } },
  })
  await becomes(modelToken, '403 user_suspended')
  t.equal(await refusalOf(bob.secret), undefined, 'other users go on')
  t.match(await admin(ownAdmin, 'GET', `${tenantId}/users`), {
    body: {
      data: {
        items: [
          { id: 'bob', suspended: false },
          { id: userId, suspended: true },
        ],
      },
    },
  })
  t.match(await admin(ownAdmin, 'PUT', path, { status: 'suspended' }), {
    status: 400,
    body: { error: { code: 'invalid_request', param: 'reason' } },
  })
  t.match(await admin(ownAdmin, 'PUT', `${tenantId}/users/none/status`, { status: 'open' }), {
    status: 404,
    body: { error: { code: 'user_not_found' } },
  })
  const forbidden = { status: 403, body: { error: { code: 'scope_denied', param: 'status' } } }
  const whole = { status: 'suspended', reason: 'x' }
  t.match(await admin(ownAdmin, 'PUT', `${tenantId}/status`, whole), forbidden)
  t.match(
    await admin(ownAdmin, 'PUT', `${tenantId}/status`, { status: 'open', suspended_users: [] }),
    {
      status: 200,
      body: { data: { status: 'open', suspended_users: [], changed: true } },
    },
  )
  await becomes(modelToken, undefined)
})

t.test('names: lists, reports and the search follow, and ids stay', async (t) => {
  const { tenantId, userId, ownAdmin, queryToken } = await tenantOf('renamed')
  t.match(await admin(operator, 'GET', `${tenantId}/name`), {
    body: { data: { object: 'name', revision: 0, name: 'renamed' } },
  })
  t.match(await admin(ownAdmin, 'PUT', `${tenantId}/name`, { name: 'renamed' }), {
    body: { data: { revision: 0, changed: false } },
  })
  const named = await admin(ownAdmin, 'PUT', `${tenantId}/name`, { name: 'Papierboot' })
  t.match(named, { status: 200, body: { data: { revision: 1, changed: true } } })
  t.match(await admin(ownAdmin, 'PUT', `${tenantId}/users/${userId}/name`, { name: 'Ann Lee' }), {
    status: 200,
    body: { data: { name: 'Ann Lee', changed: true } },
  })
  t.match(await admin(ownAdmin, 'GET', tenantId), { body: { data: { name: 'Papierboot' } } })
  const listed = await ask(operator, 'GET', '/api/admin/tenants?limit=100')
  const row = listed.body.data.items.find((one: { id: string }) => one.id === tenantId)
  t.match(row, { name: 'Papierboot', status: 'open' })
  const queries = queriesOf(url, queryToken)
  for (const q of ['Papierboot', 'Ann Lee'])
    t.equal((await queries.get(`/search?q=${encodeURIComponent(q)}`)).body.data.items.length, 1, q)
  for (const name of ['', 'a\nb', 'x'.repeat(129), 'a\u202eb'])
    t.equal((await admin(ownAdmin, 'PUT', `${tenantId}/name`, { name })).status, 400)
})

t.test('two operators with one expected_revision: one wins, the other reads why', async (t) => {
  const { tenantId } = await tenantOf('contested')
  const answers = await Promise.all(
    ['overdue', 'abuse'].map((reason) =>
      setStatus(tenantId, 'suspended', reason, { expected_revision: 0 }),
    ),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.match(answers.find(({ status }) => status === 409)?.body, {
    message: /status settings .* were set in the meantime, to revision 1/,
    error: { code: 'status_changed', param: 'expected_revision' },
  })
})

t.test('two users suspended at once are both suspended', async (t) => {
  const { tenantId, userId, ownAdmin } = await tenantOf('together')
  await addUser(access, { tenantId, userId: 'bob', name: 'Bob' })
  const answers = await Promise.all(
    [userId, 'bob'].map((id) =>
      admin(ownAdmin, 'PUT', `${tenantId}/users/${id}/status`, {
        status: 'suspended',
        reason: 'left',
      }),
    ),
  )
  for (const { status, text } of answers) t.equal(status, 200, text)
  const { body } = await admin(operator, 'GET', `${tenantId}/status`)
  t.match(body.data, { revision: 2, suspended_users: [{ user_id: 'bob' }, { user_id: userId }] })
})

t.test("another tenant's ids answer byte for byte as missing ones", async (t) => {
  const { ownAdmin } = await tenantOf('curious')
  const there = await tenantOf('private')
  for (const [method, path, body] of [
    ['GET', 'status', undefined],
    ['PUT', 'status', { status: 'suspended', reason: 'x' }],
    ['GET', 'name', undefined],
    ['PUT', 'name', { name: 'x' }],
    ['PUT', `users/${there.userId}/name`, { name: 'x' }],
    ['PUT', `users/${there.userId}/status`, { status: 'open' }],
  ] as const) {
    const real = await admin(ownAdmin, method, `${there.tenantId}/${path}`, body)
    const missing = await admin(ownAdmin, method, `tenant_missing/${path}`, body)
    t.equal(real.status, 404, path)
    t.equal(real.text, missing.text, path)
  }
})

t.test('a suspension on one replica is refused on the other, and ends there too', async (t) => {
  const { tenantId, modelToken } = await tenantOf('replicated')
  const replica = await stack.replica()
  t.equal(await refusalOf(modelToken, replica.url), undefined)
  await setStatus(tenantId, 'suspended', 'overdue')
  await becomes(modelToken, '403 tenant_suspended', replica.url)
  for (let round = 0; round < 5; round += 1)
    t.equal(await refusalOf(modelToken, replica.url), '403 tenant_suspended', 'and it stays so')
  const late = await stack.replica()
  t.equal(await refusalOf(modelToken, late.url), '403 tenant_suspended', 'a new replica knows it')
  await setStatus(tenantId, 'open')
  for (const at of [replica.url, late.url]) await becomes(modelToken, undefined, at)
})

t.test('closing names the tasks that hold money, at most ten', async (t) => {
  const { tenantId, modelToken } = await tenantOf('busy')
  const tasks = tasksOf(url, modelToken)
  const ids = await Promise.all(
    Array.from({ length: 12 }, () => tasks.created({ prompt: 'x [[sandbox stall-queued]]' })),
  )
  await setStatus(tenantId, 'suspended', 'ends')
  const { status, body } = await setStatus(tenantId, 'closed', 'ends')
  t.equal(status, 409)
  t.equal(body.message.match(/video_\w+/g)?.length, 10)
  t.match(body.message, / and 2 more: /)
  for (const id of ids) await tasks.del(id)
  t.match(await setStatus(tenantId, 'closed', 'ends'), { status: 200 })
})
