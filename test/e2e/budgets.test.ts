import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { middayZone } from '../helpers/midday-zone.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, tasksOf } from './support/client.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const replica = await stack.replica()
const { access, demo, other, url } = stack
const { tenantId, userId } = demo
const both = [url, replica.url]
/** What a replica is not told of by the log it reads again after 20 s; it is told in far less on any machine. */
const TOLD_MS = 15_000

const issue = async (kind: 'model' | 'admin' = 'model') => {
  const scope = kind === 'admin' ? { scope: { level: 'all_users' } as const } : {}
  return issueToken(access, { tenantId, userId, kind, name: 'budgeted', ...scope })
}
const json = { 'content-type': 'application/json' }
const post = (path: string, token: string, body: object, at = url): Promise<Answer> =>
  call(`${at}${path}`, { method: 'POST', token, headers: json, body: JSON.stringify(body) })
const chat = (token: string, at = url) => {
  const body = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }
  return post('/v1/chat/completions', token, { ...body, max_tokens: 100 }, at)
}
const path = (tenant = tenantId) => `/api/admin/tenants/${tenant}/budgets`
const budgets = (token = demo.adminToken, of = tenantId) => call(`${url}${path(of)}`, { token })
const put = (body: object, token = demo.adminToken, of = tenantId): Promise<Answer> =>
  call(`${url}${path(of)}`, { method: 'PUT', token, headers: json, body: JSON.stringify(body) })
const sent = () => stack.sandbox.calls().length + stack.sandbox.accepted().length

const day = { currency: 'USD', period: 'day' } as const
const ofToken = (tokenId: string, said: object) => ({
  subject: 'token',
  token_id: tokenId,
  ...day,
  ...said,
})

await t.test('each family answers 402 in its own shape, without an upstream request', async (t) => {
  const { secret, tokenId } = await issue()
  for (const at of both) t.equal((await chat(secret, at)).status, 200)
  const set = await put({
    budgets: [
      ofToken(tokenId, { hard: '0' }),
      { ...ofToken(tokenId, { hard: '0' }), currency: 'CNY' },
    ],
  })
  t.match(set.body.data, { revision: 1, time_zone: 'UTC', changed: true })
  for (const at of both)
    await eventually(
      'refused on every replica',
      async () => ((await chat(secret, at)).status === 402 ? true : undefined),
      TOLD_MS,
    )
  const before = sent()
  const chatted = await chat(secret)
  t.match(chatted.body.error, {
    code: 'budget_reached',
    type: 'insufficient_balance',
    message:
      /^the budget per day of this token is 0 USD: .* left, the request needs a hold of [\d.]+ USD/,
  })
  const streamed = await post('/v1/chat/completions', secret, {
    model: 'text-basic',
    stream: true,
    messages: [{ role: 'user', content: 'Hello' }],
  })
  t.equal(streamed.status, 402)
  const native = await post('/v1beta/models/text-reason:generateContent', secret, {
    contents: [{ parts: [{ text: 'Hello' }] }],
  })
  t.equal(native.status, 402)
  const spoken = await post('/provB/v1/t2a_v2', secret, {
    model: 'speech-2.8-hd',
    text: 'Good morning.',
    voice_id: 'male-qn-qingse',
  })
  t.match(spoken, {
    status: 200,
    body: { base_resp: { status_code: 2056, status_msg: /^budget_reached: the budget per day/ } },
  })
  const made = await tasksOf(url, secret).create()
  t.match(made, {
    status: 402,
    body: { error: { code: 'budget_reached', type: 'PaymentRequired' } },
  })
  const video = await post('/provC/ent/v2/text2video', secret, {
    model: 'viduq1',
    prompt: 'a boat',
  })
  t.notOk([200, 500].includes(video.status), video.text)
  t.equal(sent(), before)
  // No day ends during the tests below.
  await put({ budgets: [], time_zone: middayZone() })
  for (const at of both)
    await eventually('again', async () =>
      (await chat(secret, at)).status === 200 ? true : undefined,
    )
})

await t.test('calls and tasks are spent against a budget as the ledger settles them', async (t) => {
  const { secret, tokenId } = await issue()
  const cny = { ...ofToken(tokenId, { hard: '100', soft: '0.000001' }), currency: 'CNY' }
  t.equal((await put({ budgets: [cny, ofToken(tokenId, { hard: '5' })] })).status, 200)
  const tasks = tasksOf(url, secret)
  const stalled = await tasks.create({ prompt: 'x [[sandbox stall]]' })
  t.equal(stalled.status, 200)
  t.equal((await chat(secret)).status, 200)
  await stack.caughtUp()
  const [ofTasks, ofCalls] = (await budgets()).body.data.budgets
  t.match(ofTasks, { subject: 'token', token_id: tokenId, hard: '100', soft_reached: true })
  t.ok(Number(ofTasks.spent) > 0, 'what the task holds')
  t.equal(Number(ofTasks.left), 100 - Number(ofTasks.spent))
  const { rows } = await stack.gateway.pool.query<{ amount: string }>(
    `select trim_scale(sum(amount))::text as amount from ledger.lines where token_id = $1`,
    [tokenId],
  )
  t.equal(ofCalls.spent, rows[0]?.amount, 'to the last digit')
  const key = await call(`${url}/v1/key`, { token: secret })
  t.same(key.body.budgets, [ofTasks, ofCalls], 'a token sees its own')
  // Tasks one after the other: as many as fit, on whichever replica.
  const each = Number(ofTasks.spent)
  await put({ budgets: [{ ...cny, hard: String(each * 2.5) }] })
  const there = tasksOf(replica.url, secret)
  await eventually('one more', async () => {
    const { status } = await there.create({ prompt: 'x [[sandbox stall]]' })
    return status === 200 ? true : undefined
  })
  await stack.caughtUp()
  // What the other replica did is known here a little later: until then one that does not fit may pass.
  for (const at of both)
    await eventually('no more', async () => {
      const { status } = await tasksOf(at, secret).create({ prompt: 'x [[sandbox stall]]' })
      return status === 402 ? true : undefined
    })
  await put({ budgets: [] })
})

await t.test('concurrent calls on two replicas exceed a budget within its bound', async (t) => {
  const { secret, tokenId } = await issue()
  const before = await chat(secret)
  const spent = Number(before.headers.get('x-cost'))
  await stack.caughtUp()
  await put({ budgets: [ofToken(tokenId, { hard: String(spent * 6) })] })
  await eventually('it is known', async () =>
    (await call(`${replica.url}/v1/key`, { token: secret })).body.budgets.length === 1
      ? true
      : undefined,
  )
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_none, n) => chat(secret, both[n % 2])),
  )
  const served = answers.filter(({ status }) => status === 200).length
  t.same(
    new Set(answers.map(({ status }) => status)),
    new Set(served === 60 ? [200] : served === 0 ? [402] : [200, 402]),
  )
  t.ok(served < 60, `${served} of 60 were served`)
  await stack.caughtUp()
  const [{ spent: now, left }] = (await budgets()).body.data.budgets
  // A hold is more than what is settled in the end: each replica stays within the budget by what it knows.
  t.ok(Number(now) <= spent * 6 * 2, `${now} of ${spent * 6}`)
  t.equal(Number(left) <= 0 || served >= 1, true)
  await put({ budgets: [] })
})

await t.test(
  'an administrator of the tenant bounds users and tokens, an operator all',
  async (t) => {
    const { secret: admin } = await issue('admin')
    const { tokenId } = await issue()
    const month = { subject: 'tenant', currency: 'CNY', period: 'month', hard: '1000' }
    t.equal((await put({ time_zone: 'Asia/Kolkata', budgets: [month] })).status, 200)
    const own = [month, ofToken(tokenId, { hard: '3' })]
    const set = await put({ budgets: own }, admin)
    t.match(set.body.data, { time_zone: 'Asia/Kolkata', changed: true })
    t.match(set.body.data.budgets[0].ends_at, /T18:30:00\.000Z$/)
    t.match((await put({ budgets: own }, admin)).body.data, { changed: false })
    for (const [body, param] of [
      [{ budgets: [] }, 'budgets'],
      [{ budgets: [{ ...month, hard: '2000' }] }, 'budgets'],
      [{ budgets: own, time_zone: 'UTC' }, 'time_zone'],
    ] as const)
      t.match(await put(body, admin), {
        status: 403,
        body: { error: { code: 'scope_denied', param } },
      })
    const foreign = await put({ budgets: [] }, admin, other.tenantId)
    t.match(foreign, { status: 404, body: { error: { code: 'tenant_not_found' } } })
    const none = await put({ budgets: [] }, admin, 'tenant_none')
    t.same(foreign.body, none.body, 'like one that does not exist')
    t.same((await budgets(admin, other.tenantId)).body, none.body)
    const { revision } = (await budgets()).body.data
    const stale = await put({ budgets: [], expected_revision: revision - 1 })
    t.match(stale, {
      status: 409,
      body: { error: { code: 'budgets_changed', param: 'expected_revision' } },
    })
    t.equal((await put({ budgets: [], expected_revision: revision })).status, 200)
    await stack.caughtUp()
    const { rows } = await stack.gateway.pool.query<{ actor: string | null }>(
      `select metadata->>'actor' as actor from timeline.events
     where type = 'BudgetsSet' and tenant_id = $1`,
      [tenantId],
    )
    t.ok(rows.length >= 3 && rows.every(({ actor }) => actor !== null), 'who did it is kept')
  },
)

await t.test('400 names the faulty member, and no event is written', async (t) => {
  const before = await stack.gateway.log.endPosition()
  const good = { subject: 'tenant', ...day, hard: '1' }
  for (const [body, param, status = 400] of [
    [{}, 'budgets'],
    [{ budgets: [{ ...good, hard: 1 }] }, 'budgets[0].hard'],
    [{ budgets: [{ ...good, hard: '1e3' }] }, undefined],
    [{ budgets: [{ ...good, hard: '-1' }] }, 'budgets[0].hard'],
    [{ budgets: [{ ...good, hard: null }] }, 'budgets[0]'],
    [{ budgets: [{ ...good, soft: '2' }] }, 'budgets[0].soft'],
    [{ budgets: [good, good] }, 'budgets'],
    [{ budgets: [{ ...good, period: 'week' }] }, 'budgets[0].period'],
    [{ budgets: [{ ...good, currency: 'EUR' }] }, 'budgets[0].currency'],
    [{ budgets: [{ ...good, subject: 'user' }] }, 'budgets[0].user_id'],
    [{ budgets: [{ ...good, user_id: userId }] }, 'budgets[0].user_id'],
    [{ budgets: [{ ...good, subject: 'token', token_id: 'tok' }] }, undefined, 404],
    [{ budgets: [{ ...good, subject: 'user', user_id: other.userId }] }, undefined, 404],
    [{ budgets: [{ ...good, limit: '1' }] }, 'budgets[0].limit'],
    [{ budgets: [good], time_zone: 'Mars' }, 'time_zone'],
    [{ budgets: [good], timezone: 'UTC' }, 'timezone'],
  ] as const) {
    const answer = await put(body)
    t.equal(answer.status, status, `${JSON.stringify(body)} ${answer.text}`)
    if (param !== undefined) t.equal(answer.body.error.param, param, JSON.stringify(body))
  }
  t.equal(await stack.gateway.log.endPosition(), before)
})
