import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { postAdjustment } from '../../src/app/accounts/credit.ts'
import { openTestTenant, sharedStack } from '../helpers/stack.ts'
import { call, queriesOf, tasksOf } from './support/client.ts'

/** A caller sees its own usage and receipts with its model token, and those of no other token. */

const { url, access, caughtUp } = await sharedStack(t)
const tenant = await openTestTenant(access, 'self-help')
const foreign = await openTestTenant(access, 'self-other')
const { tenantId, userId, modelToken } = tenant
const second = await issueToken(access, { tenantId, userId, kind: 'model', name: 'second' })
const finance = queriesOf(url, tenant.queryToken)

const picture = async (token: string) => {
  const answer = await call(`${url}/v1/images/generations`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'image-2', prompt: 'a paper boat' }),
  })
  if (answer.status !== 200) throw new Error(answer.text)
  return {
    callId: answer.headers.get('x-call-id') ?? '',
    requestId: answer.headers.get('x-request-id') ?? '',
  }
}
const first = await picture(modelToken)
await picture(modelToken)
const ofSecond = await picture(second.secret)
const ofForeign = await picture(foreign.modelToken)
await caughtUp()
const own = (path: string, token = modelToken) => call(`${url}/v1${path}`, { token })

t.test('usage of the token is that of the reports, in every zone', async (t) => {
  const { items } = (await finance.lines(`source_id=${first.callId}`)).body.data
  const tokenId = String(items[0].token_id)
  for (const tz of ['UTC', 'Asia/Kolkata', 'America/St_Johns'])
    for (const group of ['day,model', 'sku', 'month', 'hour,surface']) {
      const range = `from=2026-10-01&to=2026-12-31&tz=${tz}&group_by=${group}`
      const { status, body, text } = await own(`/usage?${range}`)
      t.equal(status, 200, text)
      const { data } = (await finance.get(`/usage?${range}&token_id=${tokenId}`)).body
      t.same(body, { object: 'usage', ...data }, `${tz} ${group}`)
    }
  const { body } = await own('/usage')
  t.match(body, { object: 'usage', totals: [{ requests: 2, amount: '0.022', refunded: '0' }] })
  t.match((await own('/usage', second.secret)).body.totals, [{ requests: 1, amount: '0.011' }])
})

t.test('a receipt of each id of a request, and of no other token', async (t) => {
  for (const id of [first.callId, first.requestId, `${first.callId}:1`])
    t.match(
      await own(`/receipts/${id}`),
      { status: 200, body: { object: 'receipt', id: first.callId, amount: '0.011' } },
      id,
    )
  const missing = await own(`/receipts/${first.callId.slice(0, -4)}0000`)
  t.match(missing, { status: 404, body: { error: { code: 'receipt_not_found' } } })
  for (const { callId, requestId } of [ofSecond, ofForeign])
    for (const id of [callId, requestId, `${callId}:1`]) {
      const answer = await own(`/receipts/${id}`)
      t.equal(answer.status, 404, id)
      t.equal(answer.text, missing.text, id)
    }
})

t.test('a receipt of a task by each of its ids, and usage net of refunds', async (t) => {
  const tasks = tasksOf(url, modelToken)
  const nativeId = await tasks.created({ resolution: '480p' })
  await tasks.reaches(nativeId, 'succeeded')
  await caughtUp()
  const byNative = await own(`/receipts/${nativeId}`)
  t.match(byNative, {
    status: 200,
    body: { kind: 'task', native_id: nativeId, state: 'settled' },
  })
  const platformId = String(byNative.body.id)
  t.same((await own(`/receipts/${platformId}`)).body, byNative.body)
  const missing = await own(`/receipts/${platformId}`, second.secret)
  t.match(missing, { status: 404, body: { error: { code: 'receipt_not_found' } } })

  const line = {
    lineId: `${first.callId}:1`,
    tenantId,
    currency: 'USD',
    amount: '0.011',
  } as const
  await postAdjustment(access, {
    tenantId,
    adjustmentId: 'own-refund',
    currency: 'USD',
    amount: '0.004',
    correction: { kind: 'line', line },
    reason: 'broken',
  })
  await caughtUp()
  t.match((await own('/usage?group_by=model&model=image-2')).body.items, [
    { amount: '0.022', refunded: '0.004', net: '0.018' },
  ])
  t.match((await own(`/receipts/${first.callId}`)).body, { amount: '0.011', net: '0.007' })
})

t.test('a question that is not right is refused by its parameter', async (t) => {
  for (const [query, param] of [
    ['from=2026-01-01', 'from'],
    ['to=2026-01-01', 'from'],
    ['from=2026-01-01&to=2026-04-04', 'from'],
    ['group_by=colour', 'group_by'],
    ['model=image-3', 'model'],
    ['tz=Mars', 'tz'],
    [`token_id=${second.tokenId}`, 'token_id'],
    ['tenant_id=x', 'tenant_id'],
  ] as const)
    t.match(await own(`/usage?${query}`), { status: 400, body: { error: { param } } }, query)
  for (const path of ['/usage', `/receipts/${first.callId}`]) {
    t.match(await own(path, tenant.queryToken), { status: 403 }, path)
    t.match(await own(path, 'sk-none'), { status: 401 }, path)
  }
})
