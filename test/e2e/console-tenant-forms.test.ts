import t from 'tap'
import { newId } from '../../src/kernel/ids.ts'
import { sharedStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'
import { addController, administration, askConsole, signInToConsole } from './support/console.ts'

/** Forms that open a tenant, give it credit, bound and price what it spends, and close it. */

const stack = await sharedStack(t)
const { url, demo } = stack
const admin = administration(stack)
const operator = await signInToConsole(url, demo.adminToken)
const controller = await signInToConsole(url, await addController(stack, 'controller'))
const tenantId = newId('films', Date.now()).toLowerCase()
const path = `/console/tenants/${tenantId}`
const SKU = 'web-search-call'

const send = (
  name: string,
  fields: Readonly<Record<string, string>>,
  { cookie = operator, key = newId('form', Date.now()) } = {},
) => askConsole(url, `${path}/${name}`, { cookie, form: { key, ...fields } })
const placeAfter = async (...[name, fields, by]: Parameters<typeof send>) => {
  const { status, headers, text } = await send(name, fields, by)
  return status === 303 ? headers.get('location') : text
}
const settingOf = (name: string) => admin('GET', `/tenants/${tenantId}/${name}`)
const revisionOf = async (name: string) => String((await settingOf(name)).revision)

t.test('a tenant is opened once, and has a page', async (t) => {
  const list = await askConsole(url, '/console/tenants', { cookie: operator })
  t.match(list.text, 'action="/console/tenants/open"')
  const form = { key: 'form_open', tenant_name: 'Films', tenant_id: tenantId }
  const places = []
  for (let n = 0; n < 2; n += 1) {
    const { status, headers } = await askConsole(url, '/console/tenants/open', {
      cookie: operator,
      form,
    })
    places.push([status, headers.get('location')])
  }
  t.same(places, [
    [303, path],
    [303, path],
  ])
  const other = { ...form, tenant_name: 'Other', key: 'form_other' }
  const refused = await askConsole(url, '/console/tenants/open', { cookie: operator, form: other })
  t.match(refused, { status: 409, text: /role="alert"/ })
  for (const cookie of [operator, controller])
    await askConsole(url, '/console/view-reason', {
      cookie,
      form: { tenant_id: tenantId, reason: 'a test', next: '' },
    })
  const shown = await askConsole(url, path, { cookie: operator })
  t.match(shown, { status: 200, text: /Films/ })
  for (const name of ['name', 'user', 'grant', 'credit-limit', 'budget', 'price'])
    t.match(shown.text, `action="${path}/${name}"`)
})

t.test('it is renamed, and a user is added once', async (t) => {
  t.equal(await placeAfter('name', { tenant_name: 'Acme Films' }), path)
  const ann = { new_user: 'ann', user_name: 'Ann' }
  for (let n = 0; n < 2; n += 1) t.equal(await placeAfter('user', ann), `${path}?user=ann`)
  t.match(await placeAfter('user', { ...ann, user_name: 'Another' }), /role="alert"/)
  const { text } = await askConsole(url, `${path}?user=ann`, { cookie: operator })
  t.match(text, /<h1 class="title">Acme Films<\/h1>/)
  t.match(text, /User Ann/)
})

t.test('credit is granted once under the key of the form, also by finance', async (t) => {
  const grant = { currency: 'USD', amount: '12.5', credit: 'paid', reason: 'INV-77' }
  for (let n = 0; n < 2; n += 1) t.equal(await placeAfter('grant', grant, { key: 'form_g1' }), path)
  const given = { currency: 'USD', amount: '1', credit: 'promotional', reason: 'a gift' }
  t.equal(await placeAfter('grant', given, { cookie: controller }), path)
  t.equal(await placeAfter('credit-limit', { currency: 'USD', amount: '3', reason: 'C-1' }), path)
  t.match((await admin('GET', `/tenants/${tenantId}/credit`)).accounts, [
    { currency: 'USD', granted: '13.5', credit_limit: '3' },
  ])
  const { text } = await askConsole(url, path, { cookie: operator })
  t.match(text, /16\.5/, 'what is available')
  for (const [name, fields, word] of [
    ['grant', { ...grant, amount: '0' }, /more than zero|positive/i],
    ['grant', { ...grant, amount: '1e3' }, /amount/],
    ['grant', { ...grant, currency: 'EUR' }, /currency/],
    ['credit-limit', { currency: 'USD', amount: '-1' }, /amount/],
  ] as const)
    t.match(await placeAfter(name, fields), word)
  t.match(
    await send('credit-limit', { currency: 'USD', amount: '9' }, { cookie: controller }),
    { status: 403 },
    'a role grants, and changes nothing else',
  )
})

t.test('one budget is set, changed and removed, and the others stay', async (t) => {
  const set = async (fields: Readonly<Record<string, string>>) =>
    placeAfter('budget', { ...fields, expected_revision: await revisionOf('budgets') })
  const ofTenant = { currency: 'USD', period: 'month' }
  t.equal(await set({ ...ofTenant, hard: '10', soft: '8', reason: 'agreed' }), path)
  t.equal(await set({ owner: 'ann', currency: 'USD', period: 'day', hard: '2' }), path)
  t.equal(await set({ ...ofTenant, hard: '20' }), path)
  t.match((await settingOf('budgets')).budgets, [
    { subject: 'user', user_id: 'ann', hard: '2', period: 'day' },
    { subject: 'tenant', hard: '20', soft: null },
  ])
  t.match(await set({ owner: 'bob', currency: 'USD', period: 'day', hard: '2' }), /bob/)
  t.match(await set({ ...ofTenant, hard: '1', soft: '2' }), /role="alert"/)
  const stale = { ...ofTenant, hard: '30', expected_revision: '1' }
  t.match(await send('budget', stale), { status: 409, text: /role="alert"/ })
  t.equal(await set(ofTenant), path)
  t.match((await settingOf('budgets')).budgets, [{ subject: 'user', user_id: 'ann' }])
  const { text } = await askConsole(url, path, { cookie: operator })
  t.match(text, /day, USD/)
})

t.test('an own price has the units of the list, and is removed again', async (t) => {
  const price = { sku: SKU, currency: 'USD' }
  const pages = `/console/prices?tenant_id=${tenantId}`
  t.equal(await placeAfter('price', { ...price, price: '9' }), pages)
  const { prices } = await settingOf('prices')
  t.match(prices, [{ sku: SKU, own: true, tenant: { price: '9' } }])
  t.equal(prices[0].tenant.per, prices[0].list.per)
  t.match(await placeAfter('price', { ...price, sku: 'web-serch-call', price: '9' }), /no price/)
  t.match(await placeAfter('price', { ...price, price: '-9' }), /price/)
  t.equal(await placeAfter('price', price), pages)
  t.same((await settingOf('prices')).prices, [])
})

const billing = `${path}/billing`
const sendBilling = async (
  name: string,
  fields: Readonly<Record<string, string>>,
  cookie = operator,
) => {
  const form = { key: newId('form', Date.now()), ...fields }
  const { status, headers, text } = await askConsole(url, `${billing}/${name}`, { cookie, form })
  return status === 303 ? headers.get('location') : text
}

t.test('whom statements are for is set by finance, and the terms by an operator', async (t) => {
  const unset = await askConsole(url, billing, { cookie: controller })
  t.match(unset, { status: 200, text: /No billing profile is set/ })
  t.match(await askConsole(url, path, { cookie: operator }), { text: `href="${billing}"` })
  const profile = {
    legal_name: 'Acme Films GmbH',
    address: 'Torstr. 1\r\n\r\n 10119 Berlin ',
    country: 'DE',
    language: 'en',
    emails: 'bills@acme.example\nann@acme.example',
    reason: 'a new contract',
  }
  const first = { ...profile, expected_revision: '0', number_prefix: 'ACME', terms: 'postpaid' }
  const further = { time_zone: 'Europe/Berlin', grace_hours: '24', po_number: 'PO-7' }
  t.equal(await sendBilling('profile', { ...first, ...further }), billing)
  t.match(await settingOf('billing'), {
    revision: 1,
    legal_name: 'Acme Films GmbH',
    address: ['Torstr. 1', '10119 Berlin'],
    emails: ['bills@acme.example', 'ann@acme.example'],
    po_number: 'PO-7',
    tax_id: null,
    time_zone: 'Europe/Berlin',
    number_prefix: 'ACME',
    terms: 'postpaid',
    grace_hours: 24,
  })
  const shown = await askConsole(url, billing, { cookie: operator })
  t.match(shown.text, />Torstr. 1\n10119 Berlin<\/textarea>/)
  t.match(shown.text, 'Torstr. 1, 10119 Berlin, DE')
  const changed = { ...profile, tax_id: 'DE123', expected_revision: '1' }
  t.equal(await sendBilling('profile', changed, controller), billing)
  const found = await settingOf('billing')
  t.match(found, { revision: 2, tax_id: 'DE123', po_number: null, terms: 'postpaid' })
  for (const [fields, word] of [
    [{ ...changed, tax_id: 'DE9', expected_revision: '1' }, /changed|revision/],
    [{ ...changed, expected_revision: '2', country: 'Germany' }, /country/],
    [{ ...changed, expected_revision: '2', emails: 'nobody' }, /emails/],
    [{ ...changed, expected_revision: '2', language: 'de' }, /language/],
    [{ ...changed, expected_revision: '2', address: ' \n ' }, /address/],
  ] as const)
    t.match(await sendBilling('profile', fields), word)
  t.equal((await settingOf('billing')).revision, 2)
})

t.test('an operator sets above which amounts a second user approves', async (t) => {
  const limits = { above_usd: '1000', lapse_hours: '48', expected_revision: '0', reason: 'audit' }
  t.equal(await sendBilling('approvals', limits), billing)
  t.match(await settingOf('approvals'), {
    limits: [{ currency: 'USD', above: '1000' }],
    lapse_hours: 48,
  })
  const { text } = await askConsole(url, billing, { cookie: operator })
  t.match(text, /above [\s\S]*1[\s\S]*000[\s\S]*in 24 hours/)
  const negative = { ...limits, above_cny: '-1', expected_revision: '1' }
  t.match(await sendBilling('approvals', negative), /role="alert"/)
  const stale = { ...limits, lapse_hours: '1' }
  t.match(await sendBilling('approvals', stale), /role="alert"/)
  const seen = await askConsole(url, billing, { cookie: controller })
  t.notMatch(seen.text, `action="${billing}/approvals`)
  const form = { key: 'form_a', ...limits, expected_revision: '1' }
  const refused = await askConsole(url, `${billing}/approvals`, { cookie: controller, form })
  t.equal(refused.status, 403)
  t.equal((await settingOf('approvals')).revision, 1)
})

t.test('a token is issued once, and its secret is shown once', async (t) => {
  const token = { token_kind: 'model', token_name: 'batch jobs', user: 'ann' }
  const issued = await send('issue', token, { key: 'form_t1' })
  t.equal(issued.status, 200, issued.text)
  const [, secret = ''] = /value="(sk-[^"]+)"/.exec(issued.text) ?? []
  t.equal(issued.headers.get('cache-control'), 'no-store')
  const key = await call(`${url}/v1/key`, { token: secret })
  t.match(key, { status: 200, text: /batch jobs/ })
  const again = await send('issue', token, { key: 'form_t1' })
  t.match(again.headers.get('location'), /^\/console\/tokens\/token_/)
  t.notMatch(again.text, secret)
  const { items } = await admin('GET', `/tokens?tenant_id=${tenantId}`)
  t.equal(items.length, 1)
  const reader = { ...token, token_kind: 'query', token_name: 'reports', given_role: 'finance' }
  t.match(await send('issue', { ...reader, level: 'all_users' }), { status: 200, text: /qak-/ })
  for (const [fields, word] of [
    [{ ...token, user: 'bob' }, /bob/],
    [{ ...token, token_kind: 'root' }, /token_kind/],
    [{ ...token, level: 'all_users' }, /scope|level/],
  ] as const)
    t.match(await placeAfter('issue', fields), word)
  t.equal((await send('issue', token, { cookie: controller })).status, 403)
})

t.test('it is closed for good once it is suspended, by one who writes its id', async (t) => {
  const shown = await askConsole(url, path, { cookie: operator })
  t.notMatch(shown.text, `action="${path}/close`)
  const suspended = { subject: 'tenant', status: 'suspended', reason: 'contract ends' }
  const basis = { expected_revision: await revisionOf('status') }
  t.equal(await placeAfter('status', { ...suspended, ...basis }), path)
  const offered = await askConsole(url, path, { cookie: operator })
  t.match(offered.text, `action="${path}/close`)
  const form = { reason: 'contract ended', expected_revision: await revisionOf('status') }
  t.match(await send('close', { ...form, tenant_id: 'films' }), { status: 400, text: /tenant_id/ })
  t.equal((await settingOf('status')).status, 'suspended')
  t.equal(await placeAfter('close', { ...form, tenant_id: tenantId }), path)
  t.match(await settingOf('status'), { status: 'closed', reason: 'contract ended' })
  const { text } = await askConsole(url, path, { cookie: operator })
  t.match(text, /closed for good/)
  t.notMatch(text, `action="${path}/grant`)
})
