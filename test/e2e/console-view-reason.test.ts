import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { viewStream } from '../../src/domain/view/events.ts'
import { until } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { call, callOnce, tasksOf } from './support/client.ts'
import { askConsole, type ConsoleRequest, signInToConsole } from './support/console.ts'

/** An operator who is not of a tenant says why, before its first page is shown. */

const stack = await startStack({ storeProcess: true })
t.teardown(() => stack.stop())
const { url, demo, other, access } = stack
const ask = (path: string, request?: ConsoleRequest) => askConsole(url, path, request)
const task = String((await tasksOf(url, demo.modelToken).create()).body.id)
const settled = await callOnce(url, demo.modelToken)
const operatorOf = async (tenantId: string, userId: string): Promise<string> =>
  (await issueToken(access, { tenantId, userId, kind: 'admin', name: 'Operator' })).secret
const operator = await operatorOf(other.tenantId, other.userId)
// Refused requests are listed by their token too.
await call(`${url}/v1/chat/completions`, {
  token: demo.modelToken,
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'text-none', messages: [{ role: 'user', content: 'x' }] }),
})
await stack.caughtUp()
const views = async (tenantId = demo.tenantId) =>
  (await access.log.readStream(viewStream(tenantId))).map(({ data, metadata }) => ({
    data,
    metadata,
  }))

const life = `/console/life/${task}?tz=Asia%2FShanghai`
const tenantPages = [
  life,
  `/console?tenant_id=${demo.tenantId}`,
  `/console/ledger/lines?tenant_id=${demo.tenantId}`,
  `/console/failed?tenant_id=${demo.tenantId}`,
  `/console/speed?tenant_id=${demo.tenantId}`,
  `/console/charged-twice?tenant_id=${demo.tenantId}`,
]
const formOf = async (path: string, cookie: string): Promise<string> =>
  (await ask(path, { cookie })).headers.get('location') ?? ''
const given = { tenant_id: demo.tenantId, reason: 'case 4711: charged twice', next: life }

t.test('no page of a tenant is shown before a reason, and every one after it', async (t) => {
  const cookie = await signInToConsole(url, operator)
  for (const path of tenantPages) {
    const before = await ask(path, { cookie })
    t.equal(before.status, 303, path)
    t.notMatch(before.text, task)
    const form = await ask(before.headers.get('location') ?? '', { cookie })
    t.match(form, { status: 200, text: new RegExp(`Reason to view ${demo.tenantId}`) })
    t.notMatch(form.text, 'Settled')
  }
  t.same(await views(), [])
  const refused = await ask(`/console/life/${task}/note`, { cookie, form: { key: 'k', text: '' } })
  t.equal(
    refused.headers.get('location'),
    `/console/view-reason?${new URLSearchParams({ tenant_id: demo.tenantId, next: `/console/life/${task}` }).toString()}`,
    'a refused form leads back to its page',
  )
  const parts = await ask(tenantPages[2] ?? '', { cookie, headers: { 'hx-request': 'true' } })
  t.match(
    parts.headers.get('hx-redirect'),
    /^\/console\/view-reason\?/,
    'the script leads on to it',
  )
  t.equal(parts.text, '')

  for (const [reason, words] of [
    ['', /reason/],
    [' \u00a0 ', /reason/],
    ['a\nb', /reason/],
    ['x'.repeat(257), /256/],
  ] as const) {
    const refused = await ask('/console/view-reason', { cookie, form: { ...given, reason } })
    t.match(refused, { status: 400, text: words })
  }
  t.match(await ask(life, { cookie }), { status: 303 }, 'a refused reason opens nothing')
  t.same(await views(), [])

  const done = await ask('/console/view-reason', { cookie, form: given })
  t.equal(done.status, 303)
  t.equal(done.headers.get('location'), life)
  for (const path of tenantPages) t.match(await ask(path, { cookie }), { status: 200 }, path)
  const [viewed, ...more] = await views()
  t.same(more, [])
  t.match(viewed?.data, { reason: given.reason, by: { tenantId: other.tenantId } })
  t.match(await formOf('/console/view-reason?tenant_id=' + demo.tenantId, cookie), '/console')
})

const lineOf = async () => {
  const { body } = await call(`${url}/api/query/v1/ledger/lines?source_id=${settled}`, {
    token: demo.queryToken,
  })
  return body.data.items[0] as Record<'line_id' | 'token_id' | 'request_id', string>
}

t.test('a list by anything that belongs to a tenant asks for its reason', async (t) => {
  const line = await lineOf()
  const cookie = await signInToConsole(url, operator)
  await until(async () => {
    const path = `/console/failed?token_id=${line.token_id}`
    return (await ask(path, { cookie })).status === 303
  })
  const lists = [
    `/console/ledger/lines?user_id=${demo.userId}`,
    `/console/ledger/lines?token_id=${line.token_id}`,
    `/console/ledger/lines?source_id=${settled}`,
    `/console/ledger/lines?request_id=${line.request_id}`,
    `/console/ledger/summary?user_id=${demo.userId}`,
    `/console/ledger/summary?token_id=${line.token_id}&by=model`,
    `/console/failed?token_id=${line.token_id}`,
    `/console/find?q=${settled}x&tenant_id=${demo.tenantId}`,
    ...['csv', 'ndjson', 'focus', 'parquet'].map(
      (format) => `/console/ledger/lines/file?user_id=${demo.userId}&format=${format}`,
    ),
    `/console/ledger/summary/file?token_id=${line.token_id}&format=csv`,
    `/console/ledger/movements/file?tenant_id=${demo.tenantId}&currency=USD&format=csv`,
    `/console/failed/refused/file?token_id=${line.token_id}&format=csv`,
    `/console/tenants/${demo.tenantId}/activity/file?format=csv`,
  ]
  for (const path of lists) {
    const before = await ask(path, { cookie })
    t.equal(before.status, 303, path)
    const next = new URLSearchParams({ tenant_id: demo.tenantId, next: path }).toString()
    t.equal(before.headers.get('location'), `/console/view-reason?${next}`)
    t.notMatch(before.text, settled)
  }
  t.match(await ask('/console/ledger/lines', { cookie }), { status: 200 }, 'of all tenants')
  t.match(await ask('/console/ledger/summary?by=tenant', { cookie }), { status: 200 })
  await ask('/console/view-reason', { cookie, form: given })
  for (const path of lists) t.match(await ask(path, { cookie }), { status: 200 }, path)
})

t.test('find shows ids alone of a tenant before its reason', async (t) => {
  const cookie = await signInToConsole(url, operator)
  const path = `/console/find?q=${encodeURIComponent(`${task} ${settled}`)}`
  const before = await ask(path, { cookie })
  t.equal(before.status, 200)
  for (const word of [task, settled, demo.tenantId, 'give a reason to view it'])
    t.match(before.text, word)
  for (const word of [demo.userId, 'domestic-video-2-0', 'settled']) t.notMatch(before.text, word)
  await ask('/console/view-reason', { cookie, form: given })
  const after = await ask(path, { cookie })
  for (const word of [demo.userId, 'domestic-video-2-0', 'settled']) t.match(after.text, word)
  t.notMatch(after.text, 'give a reason to view it')
})

t.test('no form changes anything of a tenant before its reason', async (t) => {
  const cookie = await signInToConsole(url, operator)
  const { token_id: tokenId, line_id: line } = await lineOf()
  const forms = [
    [
      `/console/tenants/${demo.tenantId}`,
      'status',
      { subject: 'tenant', status: 'suspended', reason: 'x', expected_revision: '0' },
    ],
    [
      `/console/tenants/${demo.tenantId}`,
      'limits',
      { subject: 'tenant', requests_per_minute: '1', expected_revision: '0' },
    ],
    [`/console/tokens/${tokenId}`, 'disable', {}],
    [`/console/life/${settled}`, 'note', { text: 'x' }],
    [
      `/console/life/${settled}`,
      'refund',
      { line_id: line, amount: '0.000001', code: 'goodwill', reason: 'x' },
    ],
  ] as const
  for (const [page, name, fields] of forms) {
    const form = { key: `note_${name}`, ...fields }
    const sent = await ask(`${page}/${name}`, { cookie, form })
    const next = new URLSearchParams({ tenant_id: demo.tenantId, next: page }).toString()
    t.match(sent, { status: 303 }, name)
    t.equal(sent.headers.get('location'), `/console/view-reason?${next}`, name)
  }
  await stack.caughtUp()
  t.match(await call(`${url}/v1/key`, { token: demo.modelToken }), { status: 200 })
  const history = `${url}/api/query/v1/tasks/${settled}/history`
  t.notMatch((await call(history, { token: demo.queryToken })).text, /NotePosted|Adjust/)
  await ask('/console/view-reason', { cookie, form: given })
  const note = { key: 'note_after', text: 'seen' }
  const done = await ask(`/console/life/${settled}/note`, { cookie, form: note })
  t.equal(done.headers.get('location'), `/console/life/${settled}`)
})

t.test('each session is asked, and one hour of a token is one event', async (t) => {
  const cookie = await signInToConsole(url, operator)
  t.match(await formOf(life, cookie), /^\/console\/view-reason/)
  await ask('/console/view-reason', { cookie, form: { ...given, reason: 'another reason' } })
  t.match(await ask(life, { cookie }), { status: 200 })
  const times = (await views()).map(({ data }) => ('viewedAt' in data ? data.viewedAt : ''))
  t.equal(new Set(times.map((at) => at.slice(0, 13))).size, times.length, 'one an hour')
})

t.test('people of the tenant are not asked', async (t) => {
  for (const token of [demo.queryToken, demo.adminToken]) {
    const cookie = await signInToConsole(url, token)
    for (const path of tenantPages) t.match(await ask(path, { cookie }), { status: 200 }, path)
  }
  const cookie = await signInToConsole(url, demo.queryToken)
  t.match(await ask('/console/view-reason', { cookie, form: given }), { status: 403 })
})

t.test('the address that the form had before leads on to it, with its query', async (t) => {
  const cookie = await signInToConsole(url, operator)
  const query = `?${new URLSearchParams({ tenant_id: demo.tenantId, next: life }).toString()}`
  const moved = await ask(`/console/look${query}`, { cookie })
  t.equal(moved.status, 301)
  t.equal(moved.headers.get('location'), `/console/view-reason${query}`)
})

t.test('the tenant sees when it was viewed and why, and not by whom', async (t) => {
  await stack.caughtUp()
  const path = `${url}/api/query/v1/tasks/${demo.tenantId}/history`
  const own = await call(path, { token: demo.queryToken })
  t.match(own.body.data.items ?? own.body.data, [
    { type: 'TenantViewed', data: { reason: given.reason } },
  ])
  for (const word of [other.tenantId, other.userId, '"by"', 'token_'])
    t.notMatch(own.text, word, word)
  t.match((await call(path, { token: operator })).text, /wrong_token|token/)
  t.equal((await call(path, { token: other.queryToken })).status, 404)
  const everyone = await issueToken(access, {
    tenantId: other.tenantId,
    userId: other.userId,
    kind: 'query',
    name: 'all',
    scope: { level: 'all_tenants' },
  })
  t.match((await call(path, { token: everyone.secret })).text, other.userId, 'operators see who')
})

t.test('odd forms are refused in words, and lead nowhere else', async (t) => {
  const cookie = await signInToConsole(url, operator)
  for (const tenant_id of ['tenant_none', '', 'a\u0000b', 'x'.repeat(300), '../..'])
    t.match(
      await ask('/console/view-reason', { cookie, form: { ...given, tenant_id } }),
      { status: /^(?:400|404)$/ },
      tenant_id.slice(0, 20),
    )
  const away = await ask('/console/view-reason', {
    cookie,
    form: { ...given, next: '//evil.example' },
  })
  t.equal(away.headers.get('location'), '/console')
  const twice = new URLSearchParams(given)
  twice.append('reason', 'again')
  t.match(await ask('/console/view-reason', { cookie, form: twice }), { status: 400 })
  t.match(await ask('/console/view-reason', { form: given }), { status: 303 }, 'signed out')
})

t.test('without the log nothing is shown', async (t) => {
  const cookie = await signInToConsole(url, operator)
  await stack.eventStore.stop()
  const refused = await ask('/console/view-reason', { cookie, form: given })
  t.match(refused, { status: 503 })
  t.notMatch(refused.text, /at .*\.ts/)
  t.match(await ask(life, { cookie }), { status: /^(?:303|503)$/ })
})
