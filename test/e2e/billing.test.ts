import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { readTable } from '../helpers/csv.ts'
import { parseAmount } from '../../src/kernel/money.ts'
import { sharedStack } from '../helpers/stack.ts'
import { call, queriesOf, tasksOf } from './support/client.ts'

const { url, access, demo, other, caughtUp } = await sharedStack(t)
const { tenantId, userId, adminToken: operator } = demo
const { secret: administrator } = await issueToken(access, {
  tenantId,
  userId,
  kind: 'admin',
  name: 'of the tenant',
  scope: { level: 'all_users' },
})

const path = `${url}/api/admin/tenants/${tenantId}/billing`
const profile = {
  legal_name: '晶石影业（上海）有限公司',
  address: ['南京西路 1 号', '上海 200040'],
  country: 'CN',
}
const ofOperator = {
  time_zone: 'Asia/Shanghai',
  number_prefix: 'LUMEN',
  terms: 'postpaid',
  grace_hours: 24,
}
const show = async (token: string) => (await call(path, { token })).body.data
const put = (token: string, body: object, at = path) =>
  call(at, {
    method: 'PUT',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

t.test('a tenant without a profile is prepaid, by the months of UTC', async (t) => {
  t.same(await show(administrator), {
    object: 'billing',
    tenant_id: tenantId,
    revision: 0,
    legal_name: null,
    address: [],
    country: null,
    tax_id: null,
    po_number: null,
    emails: [],
    language: 'en',
    time_zone: 'UTC',
    number_prefix: null,
    terms: 'prepaid',
    grace_hours: 72,
  })
  t.match(
    await put(administrator, profile),
    { status: 400, body: { error: { param: 'number_prefix' } } },
    'an operator makes the first one',
  )
  t.match(await put(administrator, { ...profile, number_prefix: 'LUMEN' }), {
    status: 403,
    body: { message: /Only an operator/, error: { code: 'scope_denied', param: 'number_prefix' } },
  })
  t.equal((await show(operator)).revision, 0)
})

t.test('an administrator sets all but the four members of operators', async (t) => {
  t.match(await put(operator, { ...profile, ...ofOperator }), {
    status: 200,
    body: { data: { revision: 1, ...profile, ...ofOperator, changed: true } },
  })
  const ours = { ...profile, tax_id: '91310000MA1K', emails: ['pay@lumen.example'], language: 'zh' }
  t.match(await put(administrator, ours), {
    status: 200,
    body: { data: { revision: 2, ...ours, ...ofOperator } },
  })
  t.match(
    await put(administrator, { ...ours, ...ofOperator }),
    { status: 200, body: { data: { revision: 2, changed: false } } },
    'repeated unchanged',
  )
  for (const [param, value] of Object.entries({
    time_zone: 'UTC',
    number_prefix: 'OTHER',
    terms: 'prepaid',
    grace_hours: 0,
  }))
    t.match(
      await put(administrator, { ...ours, [param]: value }),
      { status: 403, body: { error: { code: 'scope_denied', param } } },
      param,
    )
  t.match(await show(operator), { revision: 2, ...ours, ...ofOperator })
})

t.test('409 billing_changed when the profile was set since it was read', async (t) => {
  const changed = { ...profile, po_number: 'PO-7' }
  t.match(await put(administrator, { ...changed, expected_revision: 1 }), {
    status: 409,
    body: { error: { code: 'billing_changed', param: 'expected_revision' } },
  })
  t.match(await put(administrator, { ...changed, expected_revision: 2 }), { status: 200 })
  t.match(
    await put(administrator, { ...changed, expected_revision: 2 }),
    { status: 200, body: { data: { revision: 3, changed: false } } },
    'sent again after a lost answer',
  )
})

t.test('another tenant reads as missing, and other tokens are refused', async (t) => {
  const foreign = `${url}/api/admin/tenants/${other.tenantId}/billing`
  t.match(await put(administrator, profile, foreign), { status: 404 })
  t.match(await call(foreign, { token: administrator }), { status: 404 })
  t.match(await call(path, { token: demo.queryToken }), { status: 403 })
})

t.test('400 names the member of a bad value', async (t) => {
  for (const [body, param] of [
    [{ legal_name: '' }, 'legal_name'],
    [{ legal_name: 7 }, 'legal_name'],
    [{ legal_name: 'x'.repeat(201) }, 'legal_name'],
    [{ legal_name: 'a\u202eb' }, 'legal_name'],
    [{ address: ['a', ''] }, 'address[1]'],
    [{ address: 'abcdefg'.split('') }, 'address'],
    [{ country: 'XX' }, 'country'],
    [{ country: 'DEU' }, 'country'],
    [{ tax_id: '' }, 'tax_id'],
    [{ po_number: 7 }, 'po_number'],
    [{ emails: ['nobody'] }, 'emails[0]'],
    [{ language: 'de' }, 'language'],
    [{ time_zone: 'CST' }, 'time_zone'],
    [{ number_prefix: 'lower' }, 'number_prefix'],
    [{ terms: 'later' }, 'terms'],
    [{ grace_hours: 721 }, 'grace_hours'],
    [{ grace_hours: 1.5 }, 'grace_hours'],
    [{ due_days: 30 }, 'due_days'],
  ] as const)
    t.match(
      await put(operator, { ...profile, ...body }),
      { status: 400, body: { message: param, error: { param } } },
      `${param}: ${JSON.stringify(body).slice(0, 60)}`,
    )
  t.match(await put(operator, { legal_name: 'x' }), { status: 400, body: { error: {} } })
})

t.test('the terms at which something was billed decide what a FOCUS file says of it', async (t) => {
  const tasks = tasksOf(url, demo.modelToken)
  const use = async () => tasks.reaches(await tasks.created(), 'succeeded')
  const finance = queriesOf(url, demo.queryToken)
  const billed = async () => {
    await caughtUp()
    const rows = readTable((await finance.lines('format=focus')).text)
    const sum = (column: string) =>
      rows
        .filter((row) => row['BillingCurrency'] === 'CNY')
        .reduce((total, row) => total + parseAmount(row[column] ?? ''), 0n)
    return {
      usage: rows
        .filter((row) => row['ChargeCategory'] === 'Usage')
        .map((row) => row['BilledCost'] === row['EffectiveCost']),
      /** What was billed and is not used yet. */
      prepaid: sum('BilledCost') - sum('EffectiveCost'),
    }
  }
  const balance = async () => {
    const found = await call(`${url}/api/query/v1/balance?currency=CNY`, { token: demo.queryToken })
    return parseAmount(found.body.data.items[0].accounts[0].balance)
  }
  await use()
  t.same(await billed(), { usage: [true], prepaid: 0n }, 'billed as it was used')
  t.match(await put(operator, { ...profile, terms: 'prepaid' }), { status: 200 })
  t.same(
    await billed(),
    { usage: [true], prepaid: await balance() },
    'the change bills no usage again',
  )
  await use()
  t.same(
    await billed(),
    { usage: [false, true], prepaid: await balance() },
    'paid from the balance',
  )
  const granted = {
    grant_id: 'welcome',
    currency: 'CNY',
    amount: '5',
    reason: 'welcome',
    credit: 'promotional',
  }
  const gift = await call(`${url}/api/admin/tenants/${tenantId}/credit/grants`, {
    method: 'POST',
    token: operator,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(granted),
  })
  t.equal(gift.status, 200, JSON.stringify(gift.body))
  t.same((await billed()).prepaid, await balance(), 'a gift is in the balance, and not billed')
})
