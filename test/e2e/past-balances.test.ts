import t from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { openTestTenant, sharedStack } from '../helpers/stack.ts'
import { call, queriesOf } from './support/client.ts'

/** An account over time: what it had at any moment, and every movement between two of these. */

const { url, access, caughtUp } = await sharedStack(t)
const tenant = await openTestTenant(access, 'over-time')
const foreign = await openTestTenant(access, 'other-account')
const { tenantId, userId } = tenant
const tokenOf = async (
  kind: 'query' | 'admin',
  scope: { readonly level: 'all_tenants' | 'all_users' | 'current_user' },
) => (await issueToken(access, { tenantId, userId, kind, name: scope.level, scope })).secret
const operator = await tokenOf('admin', { level: 'all_tenants' })
const finance = queriesOf(url, await tokenOf('query', { level: 'all_users' }))
const everything = queriesOf(url, await tokenOf('query', { level: 'all_tenants' }))
const ownUser = queriesOf(url, await tokenOf('query', { level: 'current_user' }))

const post = async (path: string, body: object) => {
  const answer = await call(`${url}/api/admin/tenants/${tenantId}/${path}`, {
    method: 'POST',
    token: operator,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.data
}
const picture = async (modelToken: string): Promise<string> => {
  const answer = await call(`${url}/v1/images/generations`, {
    method: 'POST',
    token: modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'image-2', prompt: 'a paper boat' }),
  })
  if (answer.status !== 200) throw new Error(answer.text)
  return `${answer.headers.get('x-call-id')}:1`
}
const accountOf = async (query: string) => {
  await caughtUp()
  const { status, body, text } = await finance.get(`/balance?currency=USD${query}`)
  if (status !== 200) throw new Error(text)
  const { items, as_of: asOf } = body.data
  return { account: items[0].accounts[0], asOf: String(asOf) }
}

const before = await accountOf('')
await post('credit/grants', {
  grant_id: 'bought',
  currency: 'USD',
  amount: '100',
  reason: 'bank transfer of 26 November',
  reference: 'INV-77',
})
await post('credit/grants', {
  grant_id: 'gift',
  currency: 'USD',
  amount: '5',
  credit: 'promotional',
  reason: 'welcome',
})
const granted = await accountOf('')
const lineId = await picture(tenant.modelToken)
await picture(foreign.modelToken)
await post('adjustments', {
  adjustment_id: 'refund-1',
  line_id: lineId,
  amount: '0.004',
  code: 'quality',
  reason: 'broken, ticket 4711',
})
const now = await accountOf('')

t.test(
  'a balance says what of its corrections is of usage, now and as of a position',
  async (t) => {
    const opening = Number(before.account?.granted ?? 0)
    t.equal(Number(now.account.granted), opening + 105)
    t.match(now.account, { adjusted_usage: '0.004000000000', adjusted_grants: '0.000000000000' })
    const { account, asOf } = await accountOf(`&as_of=${granted.asOf}`)
    t.equal(asOf, granted.asOf)
    t.match(account, {
      granted: granted.account.granted,
      settled: '0.000000000000',
      adjusted_usage: '0.000000000000',
      held: null,
      reserved: null,
      credit_limit: null,
      available: null,
      held_tasks: null,
      held_since: null,
    })
    const { account: whole } = await accountOf(`&as_of=${now.asOf}`)
    t.equal(whole.balance, now.account.balance)
  },
)

t.test('a balance at a time has what was booked before it', async (t) => {
  t.equal((await accountOf('&at=2020-01-01T00:00:00%2B08:00')).account, undefined)
  t.equal((await accountOf('&at=9999-01-01')).account.balance, now.account.balance)
  t.equal((await accountOf('&at=9999-01-01&tz=Asia/Shanghai')).account.held, null)
  const file = await finance.get(`/balance?at=9999-01-01&format=csv`)
  t.match(
    file.text,
    /^tenant_id,currency,.*adjusted_usage,adjusted_grants,held_tasks,held_since\r?\n/,
  )
  const pages = new Map<string, string>()
  let cursor: string | null = ''
  while (cursor !== null) {
    const from: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { body } = await everything.get(`/balance?as_of=${now.asOf}&limit=1${from}`)
    for (const { tenant_id: id } of body.data.items) pages.set(id, body.data.as_of)
    cursor = body.data.next_cursor
  }
  t.ok(pages.size > 1, `${pages.size} tenants`)
  t.same([...new Set(pages.values())], [now.asOf])
})

t.test('movements open, run and close at balances', async (t) => {
  const { status, body, text } = await finance.get(
    `/movements?currency=USD&as_of=${now.asOf}&tz=Asia/Shanghai`,
  )
  t.equal(status, 200, text)
  const { opening, closing, items } = body.data
  t.equal(opening, '0')
  t.equal(Number(closing), Number(now.account.balance))
  t.match(items.at(-1), { kind: 'usage', amount: '-0.011', lines: 1, description: '1 request' })
  t.equal(items.at(-1).balance, closing)
  const [bought, gift, refund] = ['bought', 'gift', 'refund-1'].map((id) =>
    items.find((item: { id: string }) => item.id === id),
  )
  t.match(bought, {
    kind: 'grant',
    amount: '100',
    description: 'credit bought',
    reference: 'INV-77',
    reason: 'bank transfer of 26 November',
  })
  t.match(gift, { kind: 'grant', amount: '5', description: 'promotional credit' })
  t.match(refund, { kind: 'refund', amount: '0.004', code: 'quality', line_id: lineId })
  const earlier = await finance.get(`/movements?currency=USD&as_of=${granted.asOf}`)
  t.equal(Number(earlier.body.data.closing), Number(granted.account.balance))
  const csv = await finance.get('/movements?currency=USD&format=csv')
  t.match(csv.headers.get('content-disposition'), /movements-USD_tenant_over-time/)
  t.match(csv.text.split('\n')[0], /^date,kind,amount,balance,id,/)
  const none = await finance.get('/movements?currency=USD&from=2020-01-01&to=2020-02-01')
  t.match(none.body.data, { opening: '0', closing: '0', items: [] })
})

interface Grant {
  readonly grant_id: string
}

t.test('grants are listed with kind, reference and reason, newest first', async (t) => {
  const { body } = await finance.get('/grants?currency=USD')
  const ids = body.data.items.map(({ grant_id: id }: Grant) => id)
  t.same(ids.slice(0, 2), ['gift', 'bought'])
  t.match(body.data.items[1], {
    credit: 'paid',
    reference: 'INV-77',
    reason: 'bank transfer of 26 November',
    actor: null,
    actor_user_id: null,
  })
  const all = await everything.get(`/grants?tenant_id=${tenantId}&currency=USD`)
  t.match(all.body.data.items[1], { grant_id: 'bought', actor: /^token_/, actor_user_id: userId })
  const first = await finance.get('/grants?currency=USD&limit=1')
  const rest = await finance.get(`/grants?currency=USD&cursor=${first.body.data.next_cursor}`)
  t.same(
    [...first.body.data.items, ...rest.body.data.items].map(({ grant_id: id }: Grant) => id),
    ids,
  )
  t.equal(first.body.data.as_of, rest.body.data.as_of)
  const since = await finance.get(`/grants?since=${granted.asOf}`)
  t.same(since.body.data.items, [])
  t.match((await finance.get('/grants?format=csv')).text, /INV-77/)
})

t.test('adjustments are listed with their line, by any facts of it', async (t) => {
  const own = await finance.get('/adjustments?model=image-2')
  t.match(own.body.data.items, [
    { adjustment_id: 'refund-1', amount: '0.004', line_id: lineId, code: 'quality' },
  ])
  t.match((await ownUser.get('/adjustments')).body.data.items, [{ user_id: userId, actor: null }])
  t.same((await finance.get('/adjustments?sku=image-2-high-image')).body.data.items, [])
  const [log] = (await finance.get('/logs?type=refund')).body.data.items
  t.match(log, { reason: 'broken, ticket 4711', code: 'quality', credit: null })
  const gifts = (await finance.get('/logs?type=topup&currency=USD')).body.data.items
  t.match(gifts[0], { credit: 'promotional', code: null, reason: 'welcome' })
})

t.test('reports have the names of their ids', async (t) => {
  const { body } = await finance.get('/usage?group_by=user,token&currency=USD')
  t.match(body.data.items, [
    { user_id: userId, user_name: 'over-time', token_name: 'over-time model' },
  ])
  const { text } = await everything.get('/usage?group_by=tenant,user&currency=USD&format=csv')
  t.match(
    text,
    /,net,tenant_name,user_name\r?\n[^]*,over-time,over-time\r?\n/,
    'users of several tenants',
  )
  const [line] = (await finance.lines('limit=1')).body.data.items
  t.match(line, {
    tenant_name: 'over-time',
    user_name: 'over-time',
    token_name: 'over-time model',
  })
  const own = (await everything.lines(`limit=1&tenant_id=${tenantId}`)).body.data.items
  t.same(own, [line], 'operators see the same')
})

t.test('what means nothing is refused by name, and no account is shown to others', async (t) => {
  await addUser(access, { tenantId, userId: 'second', name: 'Second' })
  for (const [path, param] of [
    ['/balance?tz=Asia/Shanghai', 'tz'],
    ['/balance?at=yesterday', 'at'],
    ['/balance?as_of=999999999', 'as_of'],
    ['/movements', 'currency'],
    ['/movements?currency=EUR', 'currency'],
    ['/movements?currency=USD&since=1', 'since'],
    ['/movements?currency=USD&user_id=second', 'user_id'],
    ['/grants?model=image-2', 'model'],
    ['/grants?cursor=YWJj', 'cursor'],
    ['/adjustments?tag=nothing:x', 'tag'],
  ] as const) {
    const answer = await finance.get(path)
    t.match(answer, { status: 400, body: { error: { code: 'invalid_request', param } } }, path)
  }
  const unnamed = await everything.get('/movements?currency=USD')
  t.match(unnamed, { status: 400, body: { error: { param: 'tenant_id' } } })
  for (const path of ['/movements?currency=USD', '/grants'])
    t.match(await ownUser.get(path), { status: 403, body: { error: { code: 'scope_denied' } } })
  for (const path of ['/movements?currency=USD&', '/grants?', '/adjustments?', '/balance?'])
    t.match(
      await finance.get(`${path}tenant_id=${foreign.tenantId}`),
      { status: 403, body: { error: { code: 'scope_denied', param: 'tenant_id' } } },
      path,
    )
})
