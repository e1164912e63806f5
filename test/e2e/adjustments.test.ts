import t from 'tap'
import { middayZone } from '../helpers/midday-zone.ts'
import { openTestTenant, sharedStack } from '../helpers/stack.ts'
import { call, queriesOf } from './support/client.ts'
import { issueToken } from '../../src/app/accounts/account-commands.ts'

/** Refunds over HTTP: of a line of the tenant, within what it cost, once. */

const { url, access, caughtUp } = await sharedStack(t)
const tenant = await openTestTenant(access, 'refunded')
const foreign = await openTestTenant(access, 'foreign')
const { tenantId, userId, queryToken } = tenant
const scoped = (level: 'all_tenants' | 'all_users') =>
  issueToken(access, { tenantId, userId, kind: 'admin', name: level, scope: { level } })
const operator = await scoped('all_tenants')
const administrator = (await scoped('all_users')).secret
const reports = queriesOf(url, queryToken)

const post = (body: object, headers: Readonly<Record<string, string>> = {}, token?: string) =>
  call(`${url}/api/admin/tenants/${tenantId}/adjustments`, {
    method: 'POST',
    token: token ?? operator.secret,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

async function settledLine({ modelToken }: { readonly modelToken: string }): Promise<string> {
  const answer = await call(`${url}/v1/images/generations`, {
    method: 'POST',
    token: modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'image-2', prompt: 'a paper boat' }),
  })
  return `${answer.headers.get('x-call-id')}:1`
}
const lineId = await settledLine(tenant)
const foreignLine = await settledLine(foreign)

const body = { line_id: lineId, amount: '0.004', code: 'quality', reason: 'broken, ticket 4711' }

const used = async () => {
  await caughtUp()
  const { data } = (await reports.get('/usage?group_by=sku')).body
  return data.totals[0]
}

t.test('a part of a line is refunded once, and every report is net of it', async (t) => {
  t.match(await used(), { amount: '0.011', refunded: '0', net: '0.011' })
  const key = { 'idempotency-key': 'refund 1' }
  const answers = await Promise.all([post(body, key), post(body, key), post(body, key)])
  for (const { status, text, body: got } of answers) {
    t.equal(status, 200, text)
    t.match(got.data, { object: 'adjustment', line_id: lineId, currency: 'USD', net: '0.007' })
  }
  t.equal(answers.filter(({ body: got }) => got.data.changed === true).length, 1)
  const again = await post(body, key)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.match(await used(), { amount: '0.011', refunded: '0.004', net: '0.007', requests: 1 })
  t.match((await reports.lines()).body.data.items[0], { adjusted: '0.004', net: '0.007' })
  t.match((await reports.get(`/receipts/${lineId}`)).body.data, { net: '0.007' })
  const month = await reports.get(
    `/ledger/summary?time_preset=this_month&tz=${encodeURIComponent(middayZone())}`,
  )
  t.match(month.body.data.items[0], { refunded: '0.004', net: '0.007', requests: null })
})

t.test('a refund can be taken back, and no more', async (t) => {
  const named = (amount: string, adjustment_id: string) => post({ ...body, amount, adjustment_id })
  t.match(await named('0.0071', 'a'), {
    status: 409,
    body: {
      error: { code: 'adjustment_out_of_bounds', param: 'amount' },
      message: /from -0.004 to 0.007$/,
    },
  })
  t.match((await named('-0.004', 'b')).body.data, { id: 'b', net: '0.011', changed: true })
  t.match((await named('-0.004', 'b')).body.data, { id: 'b', net: '0.011', changed: false })
  t.match(await named('0.001', 'b'), {
    status: 409,
    body: { error: { code: 'adjustment_exists' } },
  })
  t.match(await named('-0.001', 'c'), { status: 409 })
  t.match(await used(), { amount: '0.011', refunded: '0', net: '0.011' })
})

t.test('what is not right moves nothing', async (t) => {
  const id = { adjustment_id: 'wrong' }
  for (const [wrong, param] of [
    [{ amount: '0' }, 'amount'],
    [{ amount: '1e3' }, 'amount'],
    [{ amount: '0.0000000000001' }, 'amount'],
    [{ amount: 0.1 }, 'amount'],
    [{ code: 'because' }, 'code'],
    [{ code: undefined }, 'code'],
    [{ reason: '' }, 'reason'],
    [{ line_id: undefined }, 'line_id'],
    [{ adjustment_id: undefined }, 'adjustment_id'],
    [{ currency: 'USD' }, 'currency'],
  ] as const)
    t.match(
      await post({ ...body, ...id, ...wrong }),
      { status: 400, body: { error: { param } } },
      JSON.stringify(wrong),
    )
  const missing = await post({ ...body, ...id, line_id: `${lineId}1` })
  const theirs = await post({ ...body, ...id, line_id: foreignLine })
  for (const answer of [missing, theirs])
    t.match(answer, { status: 404, body: { error: { code: 'line_not_found', param: 'line_id' } } })
  t.equal(missing.body.message, theirs.body.message, 'a line of another tenant reads as none')
  t.match(await post({ ...body, ...id }, {}, administrator), { status: 403 })
  const key = { 'idempotency-key': 'refund 1' }
  t.match(await post({ ...body, amount: '0.003' }, key), {
    status: 409,
    body: { error: { code: 'idempotency_key_reused' } },
  })
  t.match(await used(), { refunded: '0' })
})

t.test('the log has the person, the code and what a grant stands for', async (t) => {
  const grant = { currency: 'USD', amount: '1', reason: 'welcome', credit: 'promotional' }
  const granted = await call(`${url}/api/admin/tenants/${tenantId}/credit/grants`, {
    method: 'POST',
    token: operator.secret,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...grant, reference: 'INV-77', grant_id: 'welcome' }),
  })
  t.equal(granted.status, 200, granted.text)
  const events = await access.log.readStream(`account-${tenantId}`, { limit: 100 })
  const by = { tenantId, userId, tokenId: operator.tokenId }
  t.match(
    events.find(({ type }) => type === 'AdjustmentPosted'),
    { data: { amount: '0.004', code: 'quality', by, keyHash: /^[0-9a-f]{64}$/ } },
  )
  t.match(events.at(-1), {
    type: 'CreditGranted',
    data: { grantId: 'welcome', credit: 'promotional', reference: 'INV-77', by },
  })
})
