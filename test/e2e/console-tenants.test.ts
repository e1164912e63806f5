import t, { type Test } from 'tap'
import { addUser, issueToken, openTenant } from '../../src/app/accounts/account-commands.ts'
import { setSetting } from '../../src/app/accounts/settings.ts'
import { standBefore } from '../helpers/pretended-cluster/front.ts'
import { pageText } from '../helpers/printed-calls.ts'
import { startStack } from '../helpers/stack.ts'
import { savedViewStream } from '../../src/domain/saved-view/events.ts'
import { parseAmount } from '../../src/kernel/money.ts'
import { call, tasksOf } from './support/client.ts'
import {
  askConsole,
  type ConsoleRequest,
  giveViewReason,
  signInToConsole,
} from './support/console.ts'

/** Pages of tenants and tokens, the forms that change them, and refunds of a life. */

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo, other, access } = stack
const ask = (path: string, request?: ConsoleRequest) => askConsole(url, path, request)
const operator = await signInToConsole(url, demo.adminToken)
const tenantId = 'acme'
await openTenant(access, { tenantId, name: 'Acme <Films>' })
await addUser(access, { tenantId, userId: 'ann', name: 'Ann' })
await addUser(access, { tenantId: demo.tenantId, userId: 'second', name: 'Second' })

interface Wanted {
  readonly tenantId?: string
  readonly userId?: string
  readonly role?: 'finance' | 'support'
  readonly level?: 'all_users' | 'all_tenants'
}

/** The session of a new admin token; of the tenant of the demo and all tenants, unless named. */
async function sessionOf({ role, level = 'all_tenants', ...owner }: Wanted): Promise<string> {
  const { secret } = await issueToken(access, {
    tenantId: demo.tenantId,
    userId: demo.userId,
    ...owner,
    kind: 'admin',
    name: 'a session',
    scope: { level },
    ...(role && { role }),
  })
  await stack.caughtUp()
  return signInToConsole(url, secret)
}

const administrator = await sessionOf({ tenantId, userId: 'ann', level: 'all_users' })
const finance = await sessionOf({ role: 'finance' })
const support = await sessionOf({ role: 'support' })
const { tokenId } = await issueToken(access, {
  tenantId,
  userId: 'ann',
  kind: 'model',
  name: 'jobs',
})
await stack.caughtUp()

for (const session of [operator, finance, support]) await giveViewReason(url, session, tenantId)

const tenantPath = `/console/tenants/${tenantId}`
const tokenPath = `/console/tokens/${tokenId}`
const hiddenOf = (text: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? ''
const revisionOf = async (path: 'status' | 'limits'): Promise<string> => {
  const { body } = await call(`${url}/api/admin/tenants/${tenantId}/${path}`, {
    token: demo.adminToken,
  })
  return String(body.data.revision)
}
const settingOf = async (path: string) =>
  (await call(`${url}/api/admin/tenants/${tenantId}/${path}`, { token: demo.adminToken })).body.data

t.test('tenants are listed for operators, and an administrator is led to its own', async (t) => {
  const list = await ask('/console/tenants', { cookie: operator })
  t.match(list, { status: 200, text: /Acme &lt;Films>/ })
  t.match(list.text, `href="${tenantPath}"`)
  t.match(list.text, other.tenantId)
  const led = await ask('/console/tenants', { cookie: administrator })
  t.equal(led.status, 303)
  t.equal(led.headers.get('location'), tenantPath)
  const own = await ask(tenantPath, { cookie: administrator })
  t.match(own, { status: 200, text: /Change the user/ })
  t.notMatch(own.text, /Suspend tenant|Change tenant limits/)
  t.match(own.text, `href="${tokenPath}"`)
  const reader = await signInToConsole(url, demo.queryToken)
  for (const path of ['/console/tenants', tenantPath, tokenPath])
    t.match(await ask(path, { cookie: reader }), {
      status: 403,
      text: /sessions of an admin token/,
    })
})

t.test('an administrator invites a person once, and for the own tenant alone', async (t) => {
  const page = await ask(tenantPath, { cookie: administrator })
  const form = {
    key: hiddenOf(page.text, 'key'),
    subject: 'Mia@example.com',
    user: 'ann',
    given_role: 'support',
  }
  const invite = (more: object) =>
    ask(`${tenantPath}/invite`, { cookie: administrator, form: { ...form, ...more } })
  t.match(await invite({ user: 'nobody' }), { status: 404, text: /has no user nobody/ })
  t.match(await invite({ level: 'all_tenants' }), { status: 403, text: /Only an operator/ })
  const sent = [await invite({}), await invite({})]
  const [first, second] = sent.map(({ status, headers: of }) => [status, of.get('location')])
  t.same(first, second, 'twice the same token')
  const token = await ask(String(first?.[1]), { cookie: administrator })
  t.match(token, { status: 200, text: /mia@example\.com/ })
  t.notMatch(token.text, /Rotate secret/)
  t.match(
    (await ask(tenantPath, { cookie: administrator })).text,
    /mia@example\.com signs in by name/,
  )
})

t.test('people who see the same tenants share saved views', async (t) => {
  const views = '/console/views'
  const save = (cookie: string, name: string, address: string) =>
    ask(views, { cookie, form: { view: name, address } })
  const list = async (cookie: string) => (await ask(views, { cookie })).text
  const page = await ask('/console/failed?time_preset=7d', { cookie: administrator })
  const address = hiddenOf(page.text, 'address')
  t.equal(address, '/console/failed?time_preset=7d', 'the form below the page has its address')
  for (let times = 0; times < 2; times += 1)
    t.match(await save(administrator, '<b>Ours</b>', address), { status: 303 })
  t.match(await list(administrator), /href="\/console\/failed\?time_preset=7d">&lt;b>Ours/)
  t.match(await save(administrator, '<b>Ours</b>', '/console'), {
    status: 400,
    text: /another view/,
  })
  t.match(await save(administrator, 'evil', '//evil.example'), { status: 400, text: /address/ })
  t.match(await save(administrator, 'x'.repeat(81), '/console'), { status: 400, text: /name must/ })
  t.match(await save(administrator, '', '/console'), { status: 400 })
  t.match(await save(support, 'Theirs', '/console/failed?code=x'), { status: 303 })
  t.match(await list(finance), />Theirs</, 'of all who see all tenants')
  for (const cookie of [operator, finance]) t.notMatch(await list(cookie), 'Ours')
  t.notMatch(await list(administrator), 'Theirs')
  const own = { tenantId, userId: 'ann', kind: 'query' as const, name: 'own' }
  const { secret } = await issueToken(access, { ...own, scope: { level: 'current_user' } })
  await stack.caughtUp()
  const reader = await signInToConsole(url, secret)
  t.match(await ask(views, { cookie: reader }), { status: 403, text: /see a whole tenant/ })
  t.match(await save(reader, 'mine', '/console'), { status: 403 })
  t.notMatch((await ask('/console/failed', { cookie: reader })).text, 'Save this view')
  const remove = (cookie: string, name: string) =>
    ask(`${views}/remove`, { cookie, form: { view: name } })
  t.match(await remove(operator, '<b>Ours</b>'), { status: 303 })
  t.match(await list(administrator), 'Ours', 'no one else removes it')
  t.match(await remove(finance, 'Theirs'), { status: 303 })
  t.notMatch(await list(support), 'Theirs')
  const events = await access.log.readStream(savedViewStream(tenantId))
  t.match(events, [{ type: 'ViewSaved', data: { name: '<b>Ours</b>', address } }])
  t.equal(events.length, 1, 'sent twice, saved once')
})

t.test('a role sees names, and support tokens by their last four', async (t) => {
  const money = await ask(tenantPath, { cookie: finance })
  t.match(money, {
    status: 200,
    text: /Shown to the role support; your token has the role finance/,
  })
  t.notMatch(money.text, '>jobs<')
  const helper = await ask(tenantPath, { cookie: support })
  t.match(helper, { status: 200, text: />jobs</ })
  t.match(helper.text, /Balances: Shown to the role finance/)
  t.notMatch(
    helper.text + money.text,
    /<form method="post" action="\/console\/t[^"]*\/(?!grant")[^"/]*"/,
  )
  t.match(await ask(tokenPath, { cookie: support }), { status: 200 })
  t.match(await ask(tokenPath, { cookie: finance }), { status: 403, text: /role support/ })
  for (const cookie of [finance, support])
    for (const path of [
      `${tenantPath}/status`,
      `${tenantPath}/limits`,
      `${tokenPath}/disable`,
      `${tokenPath}/rotate`,
    ])
      t.match(await ask(path, { cookie, form: { key: 'k' } }), { status: 403 }, path)
})

t.test('pages of admin tokens open for the roles that their documentation names', async (t) => {
  const books = await call(`${url}/api/admin/price-books`, { token: demo.adminToken })
  const { version } = books.body.data.items[0]
  const rows = pageText('docs/console.md').matchAll(
    /^\| `(\/console[^`]*)` *\|[^|]*\| *admin tokens;?([^|]*)\|/gm,
  )
  const pages = [...rows].map(([, path = '', roles = '']) => ({
    path: path
      .replace('{tenant}', tenantId)
      .replace('{token}', tokenId)
      .replace('{version}', version),
    roles,
  }))
  t.ok(pages.length >= 4)
  for (const { path, roles } of pages)
    for (const [role, cookie] of [
      ['finance', finance],
      ['support', support],
    ] as const)
      t.equal(
        (await ask(path, { cookie })).status,
        roles.includes(role) ? 200 : 403,
        `${path} with the role ${role}`,
      )
})

t.test('ids of another tenant answer byte for byte as missing ones', async (t) => {
  const shape = (text: string, id: string) =>
    text.replaceAll(id, 'ID').replaceAll(/req_\w+/g, 'REQUEST')
  const { body } = await call(`${url}/api/admin/tokens?tenant_id=${other.tenantId}`, {
    token: demo.adminToken,
  })
  const foreign = String(body.data.items[0].id)
  const missing = `${foreign.slice(0, -1)}${foreign.endsWith('0') ? '1' : '0'}`
  const form = { key: 'k1', expected_last_four: 'abcd' }
  const status = { key: 'k1', subject: 'tenant', status: 'open', expected_revision: '0' }
  const pairs = [
    ['/console/tenants/ID', other.tenantId, 'tenant_none', undefined],
    ['/console/tenants/ID/status', other.tenantId, 'tenant_none', status],
    ['/console/tokens/ID', foreign, missing, undefined],
    ['/console/tokens/ID/rotate', foreign, missing, form],
    ['/console/tokens/ID/disable', foreign, missing, { key: 'k1' }],
  ] as const
  for (const [path, theirs, none, sent] of pairs) {
    const [found, absent] = await Promise.all(
      [theirs, none].map((id) =>
        ask(path.replace('ID', id), { cookie: administrator, ...(sent && { form: sent }) }),
      ),
    )
    t.equal(found?.status, 404, path)
    t.equal(shape(found?.text ?? '', theirs), shape(absent?.text ?? '', none), path)
  }
})

t.test('an operator suspends and resumes a tenant, by the revision that it saw', async (t) => {
  const shown = await ask(tenantPath, { cookie: operator })
  t.match(shown.text, /nothing is held for them now/)
  const form = {
    key: hiddenOf(shown.text, 'key'),
    subject: 'tenant',
    status: 'suspended',
    reason: 'invoice <77> is overdue',
    expected_revision: await revisionOf('status'),
  }
  for (const send of ['once', 'again']) {
    const done = await ask(`${tenantPath}/status`, { cookie: operator, form })
    t.equal(done.status, 303, send)
    t.equal(done.headers.get('location'), tenantPath)
  }
  t.match(await ask(tenantPath, { cookie: operator }), { text: /Status: suspended/ })
  t.match(await settingOf('status'), { status: 'suspended', reason: form.reason, revision: 1 })
  const old = { ...form, status: 'open', key: 'k2' }
  const refused = await ask(`${tenantPath}/status`, { cookie: operator, form: old })
  t.match(refused, { status: 409, text: /role="alert">[^<]*in the meantime/ })
  const resumed = { ...old, reason: '', expected_revision: '1' }
  t.match(await ask(`${tenantPath}/status`, { cookie: operator, form: resumed }), { status: 303 })
  t.match(await settingOf('status'), { status: 'open', revision: 2 })
  const unreasoned = { ...form, reason: ' ', key: 'k3', expected_revision: '2' }
  const bare = await ask(`${tenantPath}/status`, { cookie: operator, form: unreasoned })
  t.match(bare, { status: 400, text: /aria-describedby="status-fault"/ })
  const byTenant = await ask(`${tenantPath}/status`, { cookie: administrator, form })
  t.match(byTenant, { status: 403, text: /role="alert"/ }, 'an administrator does not')
  t.match(await settingOf('status'), { status: 'open', revision: 2 })
})

t.test('an administrator suspends a user of its own', async (t) => {
  const form = {
    key: 'k1',
    subject: 'user',
    user_id: 'ann',
    status: 'suspended',
    reason: 'left',
    expected_revision: await revisionOf('status'),
  }
  const send = (more: Readonly<Record<string, string>>) =>
    ask(`${tenantPath}/status`, { cookie: administrator, form: { ...form, ...more } })
  const unknown = await send({ user_id: 'bob' })
  t.match(unknown, { status: 404, text: /role="alert"/ })
  t.match(unknown.text, 'value="bob"', 'what was written is kept')
  t.match(await send({ user_id: '' }), { status: 400, text: /user_id is required/ })
  t.match(await send({}), { status: 303 })
  t.match(await ask(tenantPath, { cookie: administrator }), { text: /suspended: left/ })
  const chosen = await ask(`${tenantPath}?user=ann`, { cookie: administrator })
  t.match(chosen.text, /Resume ann/)
  t.notMatch(chosen.text, /Suspend ann/)
  const missing = await ask(`${tenantPath}?user=bob`, { cookie: administrator })
  t.match(missing, { status: 200, text: /no such user|no user bob|user does not exist/i })
  const revision = await revisionOf('status')
  t.match(await send({ status: 'open', expected_revision: revision }), { status: 303 })
  t.same((await settingOf('status')).suspended_users, [])
})

t.test('limits of one subject are replaced, and those of others stay', async (t) => {
  const form = { key: 'k1', subject: 'tenant', requests_per_minute: '600', expected_revision: '0' }
  const send = (more: Readonly<Record<string, string>>, cookie = operator) =>
    ask(`${tenantPath}/limits`, { cookie, form: { ...form, ...more } })
  const why = { reason: 'a <launch> on Friday' }
  for (const sent of ['once', 'again']) t.match(await send(why), { status: 303 }, sent)
  t.match(await send({ requests_per_minute: '5' }), {
    status: 409,
    text: /role="alert">[^<]*in the meantime/,
  })
  const ofAnn = { subject: 'user', user_id: 'ann', expected_revision: '1' }
  t.match(await send({ ...ofAnn, requests_per_minute: '6' }, administrator), { status: 303 })
  t.match((await settingOf('limits')).limits, [
    { subject: 'tenant', requests_per_minute: 600 },
    { subject: 'user', user_id: 'ann', requests_per_minute: 6 },
  ])
  const chosen = await ask(`${tenantPath}?user=ann`, { cookie: administrator })
  t.match(
    chosen.text,
    /name="requests_per_minute"[^>]*value="6"/,
    'the form of a user begins with its limits, so that none is dropped unseen',
  )
  for (const text of ['0', '-1', '1.5', 'many', '1e3']) {
    const refused = await send({ requests_per_minute: text, expected_revision: '2' })
    t.match(refused, { status: 400, text: /aria-describedby="limits-fault"/ }, text)
    t.match(refused.text, `value="${text}"`)
  }
  t.match(await send({ requests_per_minute: '601', expected_revision: '2' }, administrator), {
    status: 403,
    text: /role="alert"/,
  })
  t.match(await send({ requests_per_minute: '', expected_revision: '2' }), { status: 303 })
  t.equal((await settingOf('limits')).limits.length, 1, 'no figure is no limit')
})

t.test('a secret is shown once, by the answer to its form alone', async (t) => {
  const shown = await ask(tokenPath, { cookie: administrator })
  const lastFour = hiddenOf(shown.text, 'expected_last_four')
  t.match(lastFour, /^.{4}$/)
  const reason = 'seen in a <log>'
  const form = { key: 'k1', overlap_seconds: '60', expected_last_four: lastFour, reason }
  const done = await ask(`${tokenPath}/rotate`, { cookie: administrator, form })
  t.equal(done.status, 200)
  t.equal(done.headers.get('cache-control'), 'no-store')
  t.equal(done.headers.get('location'), null)
  const secret = /value="(sk-[^"]+)"/.exec(done.text)?.[1] ?? ''
  t.match(secret, /^sk-/)
  t.match(await call(`${url}/v1/models`, { token: secret }), { status: 200 })
  const again = await ask(`${tokenPath}/rotate`, { cookie: administrator, form })
  t.match(again, { status: 409, text: /rotated in the meantime/ })
  const later = await ask(tokenPath, { cookie: administrator })
  t.notMatch(again.text + later.text, secret)
  t.match(later.text, secret.slice(-4))
  const long = { ...form, expected_last_four: secret.slice(-4), overlap_seconds: '99999999' }
  const refused = await ask(`${tokenPath}/rotate`, { cookie: administrator, form: long })
  t.match(refused, { status: 400, text: /aria-describedby="rotate-fault"/ })
  for (const send of ['once', 'again'])
    t.match(
      await ask(`${tokenPath}/disable`, {
        cookie: administrator,
        form: { key: 'k2', reason: 'Ann <left>' },
      }),
      { status: 303 },
      send,
    )
  const unreasoned = await ask(`${tokenPath}/disable`, {
    cookie: administrator,
    form: { key: 'k3' },
  })
  t.match(unreasoned, { status: 400, text: /reason is required/ })
  const ofToken = await ask(tokenPath, { cookie: administrator })
  t.match(ofToken, { text: /This token is disabled for good/ })
  t.match(
    ofToken.text,
    />Ann<\/a>.*token disabled.*active.*disabled.*Ann &lt;left>/s,
    'its page says who disabled it, and why',
  )
  t.match(await call(`${url}/v1/models`, { token: secret }), { status: 401 })
  const ended = { ...form, expected_last_four: secret.slice(-4) }
  t.match(await ask(`${tokenPath}/rotate`, { cookie: administrator, form: ended }), {
    status: 409,
    text: /role="alert"/,
  })
})

t.test('two rotations of one page at once make one new secret', async (t) => {
  const issued = await issueToken(access, { tenantId, userId: 'ann', kind: 'model', name: 'two' })
  await stack.caughtUp()
  const form = { key: 'k1', expected_last_four: issued.secret.slice(-4) }
  const answers = await Promise.all(
    [1, 2].map(() => ask(`/console/tokens/${issued.tokenId}/rotate`, { cookie: operator, form })),
  )
  t.same(new Set(answers.map(({ status }) => status)), new Set([200, 409]))
})

/** Sends what no page of the console has. */
async function sendOddly(t: Test, path: string, form: Readonly<Record<string, string>>) {
  const send = (sent: ConsoleRequest) => ask(path, { cookie: operator, ...sent })
  t.match(await send({ form: { ...form, more: 'x' } }), { status: 400, text: /has no field more/ })
  const twice = new URLSearchParams([...Object.entries(form), ['key', 'k9']])
  t.match(await send({ form: twice }), { status: 400, text: /has it twice/ })
  t.match(await send({ form: { ...form, key: '' } }), { status: 400, text: /key is required/ })
  t.match(await send({ form: { ...form, key: 'a'.repeat(9 * 1024) } }), { status: 413 })
  const json = await fetch(`${url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      cookie: operator,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
    },
    body: JSON.stringify(form),
  })
  t.equal(json.status, 415, path)
  t.match(await json.text(), /^<!doctype html>/)
  t.match(await send({ form, headers: { 'sec-fetch-site': 'cross-site' } }), { status: 403 })
}

t.test('odd forms are refused in words', async (t) => {
  const revision = await revisionOf('status')
  const status = { key: 'k1', subject: 'tenant', status: 'open', expected_revision: revision }
  await sendOddly(t, `${tenantPath}/status`, status)
  await sendOddly(t, `${tokenPath}/disable`, { key: 'k1', reason: 'left' })
  t.match(
    await ask(`${tenantPath}/status`, { cookie: operator, form: { ...status, status: 'closed' } }),
    { status: 400, text: /role="alert"/ },
  )
})

/** A settled call of the demo, and its line. */
async function settledCall(): Promise<{ readonly path: string; readonly lineId: string }> {
  const { headers } = await call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await stack.caughtUp()
  const id = headers.get('x-call-id') ?? ''
  const { body } = await call(`${url}/api/query/v1/lives/${id}`, { token: demo.queryToken })
  return { path: `/console/life/${id}`, lineId: String(body.data.receipt.lines[0].line_id) }
}

const netOf = async (path: string): Promise<string> => {
  await stack.caughtUp()
  const id = path.slice('/console/life/'.length)
  const { body } = await call(`${url}/api/query/v1/lives/${id}`, { token: demo.queryToken })
  return String(body.data.receipt.adjusted)
}

t.test('a refund is posted once, within what was charged', async (t) => {
  const { path, lineId } = await settledCall()
  const shown = await ask(path, { cookie: operator })
  t.match(shown.text, '<summary>Refund<')
  const form = {
    key: hiddenOf(shown.text, 'key'),
    line_id: lineId,
    amount: '0.000001',
    code: 'goodwill',
    reason: 'ticket <4711>',
  }
  const send = (more: Readonly<Record<string, string>>, cookie = operator) =>
    ask(`${path}/refund`, { cookie, form: { ...form, ...more } })
  const sent = await Promise.all([send({}), send({})])
  t.same(
    sent.map(({ status }) => status),
    [303, 303],
    'a double click',
  )
  t.match(await send({}), { status: 303 }, 'a reload')
  t.equal(await netOf(path), '0.000001')
  const more = await send({ key: 'k2', amount: '1000' })
  t.match(more, { status: 409, text: /aria-describedby="refund-fault"/ })
  t.match(more.text, 'value="1000"')
  t.match(await send({ amount: '0.000002' }), { status: 409, text: /role="alert"/ }, 'one key')
  for (const amount of ['-0.1', '0', '', 'x', '1e-6'])
    t.match(await send({ key: 'k3', amount }), { status: 400, text: /refund-fault/ }, amount)
  t.match(await send({ key: 'k4', line_id: 'call_none:1' }), { status: 404, text: /no such line/ })
  t.match(await send({ key: 'k5', code: 'no_code' }), { status: 400 })
  t.match(await send({ key: 'k6', reason: '' }), { status: 400, text: /reason is required/ })
  t.match(await send({ key: 'k7' }, administrator), { status: 404 })
  const own = await sessionOf({ level: 'all_users' })
  t.match(await send({ key: 'k8' }, own), { status: 403, text: /operator/ })
  t.equal(await netOf(path), '0.000001')
  await sendOddly(t, `${path}/refund`, form)
})

/** Choices of the refund form of a life: their words and values, the empty one included. */
async function refundChoices(path: string) {
  const { text } = await ask(path, { cookie: operator })
  const [, options = ''] = /<select[^>]* name="line_id"[^>]*>([^]*?)<\/select>/.exec(text) ?? []
  const found = options.matchAll(/<option[^>]* value(?:="([^"]*)")?[^>]*>([^<]*)</g)
  return [...found].map(([, value = '', words = '']) => ({ words, value }))
}

t.test('a refund is of the whole life or of what is left of one line, once', async (t) => {
  const { path } = await settledCall()
  const shown = (await ask(path, { cookie: operator })).text
  t.match(shown, /<select[^>]* name="code"[^>]*><option value[^"]*>Choose</, 'no code is preset')
  t.notMatch(shown, /name="amount"[^>]* value="[^"]/, 'and no amount')
  const [none, whole, one, ...others] = await refundChoices(path)
  t.same(none, { words: 'Choose', value: '' })
  t.equal(others.length, 1, 'input and output')
  const [, total] = /^All of it \(([0-9.]+) [A-Z]{3}\)$/.exec(whole?.words ?? '') ?? []
  const [, left] =
    /^text-basic-[a-z]+-token \(([0-9.]+) [A-Z]{3}\), call_/.exec(one?.words ?? '') ?? []
  const form = { line_id: whole?.value ?? '', amount: '', code: 'quality', reason: 'slow' }
  const send = (more: Readonly<Record<string, string>>) =>
    ask(`${path}/refund`, { cookie: operator, form: { ...form, ...more } })
  const ofTwo = await send({ key: 'w1', amount: '0.000001' })
  t.match(ofTwo, { status: 400, text: /choose the line, or leave the amount empty/ })
  for (const wrong of [{ line_id: '' }, { line_id: 'call_1:1 1..2' }, { code: '' }])
    t.match(await send({ key: 'w2', ...wrong }), { status: 400, text: /refund-fault/ })
  t.equal(await netOf(path), '0', 'nothing was refunded')
  const ofOne = { key: 'w3', line_id: one?.value ?? '' }
  for (const sent of [ofOne, ofOne]) t.match(await send(sent), { status: 303 })
  t.equal(await netOf(path), left)
  t.match(await send({ key: 'w4' }), { status: 409 }, 'more than what is left by now')
  const [rest, nothingElse] = await refundChoices(path)
  t.equal(nothingElse, undefined)
  const ofRest = { key: 'w5', line_id: rest?.value ?? '' }
  const twice = await Promise.all([send(ofRest), send(ofRest)])
  t.same(
    twice.map(({ status }) => status),
    [303, 303],
    'a double click',
  )
  t.equal(await netOf(path), total)
})

t.test('a refund of a whole life that ended half-way goes on where it is sent again', async (t) => {
  const { path } = await settledCall()
  const [, whole] = await refundChoices(path)
  const all = whole?.value ?? ''
  const send = (choice: string) => {
    const form = { key: 'whole', line_id: choice, amount: '', code: 'quality', reason: 'slow' }
    return ask(`${path}/refund`, { cookie: operator, form })
  }
  // As if the process had died after the first line.
  t.match(await send(all.split(',')[0] ?? ''), { status: 303 })
  t.match(await send(all), { status: 303 })
  t.match(whole?.words, `(${await netOf(path)} `)
  t.notMatch((await ask(path, { cookie: operator })).text, '<summary>Refund<', 'nothing is left')
})

t.test('support proposes a refund, and finance above its limit', async (t) => {
  const approver = await sessionOf({ userId: 'second', role: 'finance' })
  const { path, lineId } = await settledCall()
  const form = { line_id: lineId, amount: '0.000001', code: 'quality', reason: 'ticket 1' }
  t.match((await ask(path, { cookie: support })).text, /moves no money until a user of finance/)
  const locations: (string | null)[] = []
  for (const key of ['k1', 'k1']) {
    const done = await ask(`${path}/refund`, { cookie: support, form: { ...form, key } })
    t.equal(done.status, 303)
    locations.push(done.headers.get('location'))
  }
  const [first = '', second] = locations.map(String)
  t.match(first, /^\/console\/proposals\//)
  t.equal(first, second)
  t.equal(await netOf(path), '0', 'no money moved')
  const waiting = async (cookie: string) => {
    const { text } = await ask('/console', { cookie })
    return /<span class="waiting">(\d+)/.exec(text)?.[1]
  }
  const before = Number(await waiting(approver))
  t.ok(before >= 1, 'the head counts what its reader may decide')
  t.equal(await waiting(support), undefined, 'support decides nothing')
  const open = await ask(first, { cookie: approver })
  for (const shown of [`${path}"`, `/console/ledger/lines/${encodeURIComponent(lineId)}"`])
    t.match(open.text, shown, 'it leads to the life and the line')
  t.match(open.text, /it cost<.*given back<.*remains<.*remains after approval</s)
  t.notMatch((await ask(first, { cookie: support })).text, 'href="/console/ledger/lines')
  t.match(await ask(`${first}/approve`, { cookie: approver, form: { key: 'k2' } }), { status: 303 })
  t.equal(await netOf(path), '0.000001')
  t.equal(Number((await waiting(approver)) ?? 0), before - 1)
  const posted = await ask(first, { cookie: approver })
  t.match(posted.text, /approved by<\/dt><dd>Second \(second of /, 'by the name of the person')
  t.match(posted.text, `href="/console/ledger/lines/${encodeURIComponent(lineId)}#refunds"`)
  const limits = { limits: [{ currency: 'CNY', above: '0' }], lapseHours: 1 } as const
  const { body } = await call(`${url}/api/query/v1/lives/${path.split('/').at(-1)}`, {
    token: demo.queryToken,
  })
  const currency = String(body.data.receipt.currency) as 'CNY' | 'USD'
  await setSetting(access, 'approvals', {
    tenantId: demo.tenantId,
    wanted: { ...limits, limits: [{ currency, above: '0.000000000001' }] },
  })
  const done = await ask(`${path}/refund`, { cookie: finance, form: { ...form, key: 'k3' } })
  t.match(done.headers.get('location'), /^\/console\/proposals\//)
})

t.test(
  'refunds of all tenants have their code, reason and persons, and add up by code',
  async (t) => {
    await stack.caughtUp()
    const { secret } = await issueToken(access, {
      tenantId: demo.tenantId,
      userId: demo.userId,
      kind: 'query',
      name: 'all',
      scope: { level: 'all_tenants' },
    })
    await stack.caughtUp()
    const read = async (path: string) =>
      (await call(`${url}/api/query/v1${path}`, { token: secret })).body.data
    const { items } = await read('/adjustments?limit=1000')
    const approved = items.find(({ reason }: { readonly reason: string }) => reason === 'ticket 1')
    t.match(approved, {
      code: 'quality',
      proposed_by_user_id: demo.userId,
      actor_user_id: 'second',
      proposal_id: /^proposal_/,
    })
    t.match(
      items.find(({ reason }: { readonly reason: string }) => reason === 'ticket <4711>'),
      { code: 'goodwill', proposal_id: null, proposed_by_user_id: null },
      'it was posted at once',
    )
    const own = await call(`${url}/api/query/v1/adjustments?limit=1000`, { token: demo.queryToken })
    t.ok(
      own.body.data.items.every(
        (one: { readonly proposed_by_user_id: unknown }) => one.proposed_by_user_id === null,
      ),
      'a tenant sees no persons of the operator',
    )
    const pico = (list: readonly { readonly amount: string }[]) =>
      list.reduce((sum, { amount }) => sum + parseAmount(amount), 0n)
    const { items: sums } = await read('/credits')
    for (const { kind, code, currency, amount, postings } of sums) {
      if (kind !== 'adjustment') continue
      const those = items.filter(
        (one: { readonly code: unknown; readonly currency: unknown }) =>
          one.code === code && one.currency === currency,
      )
      t.equal(parseAmount(amount), pico(those), `${code} ${currency}`)
      t.equal(postings, those.length)
    }
    t.ok(sums.some((one: { readonly kind: string }) => one.kind === 'grant'))
    const page = await ask('/console/ledger/credits', { cookie: finance })
    t.match(page, { status: 200, text: /ticket 1.*href="\/console\/proposals\/[^"]+">second</s })
    t.match(page.text, /ticket &lt;4711>/)
    t.match(page.text, `data-from="/api/query/v1/credits?`)
    const credit = await ask('/console/ledger/credits?kind=credit', { cookie: finance })
    t.match(credit, { status: 200, text: /Credit that was given/ })
    t.match(await ask('/console/ledger/credits', { cookie: support }), { status: 403 })
  },
)

t.test('what is held is listed by task, oldest first, for finance', async (t) => {
  const { headers } = await tasksOf(url, demo.modelToken).create({
    prompt: 'x [[sandbox running-ms=3600000]]',
  })
  const id = String(headers.get('x-platform-id'))
  await stack.caughtUp()
  const { body } = await call(`${url}/api/query/v1/holds`, { token: demo.queryToken })
  t.match(body.data.items, [{ source_id: id, tenant_id: demo.tenantId, amount: /[1-9]/ }])
  t.equal(body.data.total, body.data.items.length)
  const page = await ask(`/console/ledger/held?tenant_id=${demo.tenantId}`, { cookie: finance })
  t.match(page, { status: 200, text: `href="/console/life/${id}"` })
  const { items: foreign } = (await call(`${url}/api/query/v1/holds`, { token: other.queryToken }))
    .body.data
  t.same(foreign, [], 'another tenant does not see it')
})

t.test('changes are listed by person, with the reason and what was before', async (t) => {
  await stack.caughtUp()
  const all = await ask(`/console/changes?tenant_id=${tenantId}`, { cookie: operator })
  t.match(all, { status: 200, text: /tenant suspended/ })
  t.match(all.text, /invoice &lt;77> is overdue/)
  t.match(all.text, /tenant requests per minute 600/)
  t.match(all.text, /a &lt;launch> on Friday/)
  t.match(all.text, /secret rotated[^]*seen in a &lt;log>/)
  t.match(all.text, `href="${tokenPath}"`)
  const bySecond = await ask('/console/changes?by=second', { cookie: operator })
  t.match(bySecond.text, /proposal approved/)
  t.notMatch(bySecond.text, /tenant suspended/)
  const typo = await ask('/console/changes?by=secund', { cookie: operator })
  t.match(typo, { status: 400, text: /no person or token/ })
  const own = await ask('/console/changes', { cookie: administrator })
  t.match(own.text, /the operator/, 'a tenant sees no name of an operator')
  t.notMatch(own.text, demo.tenantId)
  const money = await ask(`/console/changes?tenant_id=${tenantId}`, { cookie: finance })
  t.notMatch(money.text, /token disabled/, 'a role sees the changes of what it may see')
  t.match(money.text, /tenant suspended/)
  t.match(
    (await ask(tenantPath, { cookie: operator })).text,
    /Last changes.*token disabled.*All changes/s,
  )
})

t.test('while the log is away forms say so and change nothing', async (t) => {
  const log = await standBefore(t, stack.eventStoreUrl)
  const replica = await stack.replica(['api'], { eventStoreUrl: log.url })
  const cookie = await signInToConsole(replica.url, demo.adminToken)
  await giveViewReason(url, cookie, tenantId)
  await log.front.fallSilent('refuse')
  const revision = await revisionOf('status')
  const form = {
    key: 'k1',
    subject: 'tenant',
    status: 'suspended',
    reason: 'x',
    expected_revision: revision,
  }
  const answer = await askConsole(replica.url, `${tenantPath}/status`, { cookie, form })
  t.equal(answer.status, 503)
  t.match(answer.text, /^<!doctype html>/)
  t.equal(await revisionOf('status'), revision)
  await log.front.recover()
})
