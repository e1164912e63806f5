import t from 'tap'
import { addUser, disableToken, issueToken } from '../../src/app/accounts/account-commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { middayZone } from '../helpers/midday-zone.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, tasksOf } from './support/client.ts'

/** Requests without a result, as the caller and as support see them. */

const stack = await sharedStack(t)
const { url, demo, other, access, caughtUp } = stack
const { tenantId, userId } = demo
const tokenOf = async (level: 'all_tenants' | 'current_user', user = userId) =>
  (
    await issueToken(access, {
      tenantId,
      userId: user,
      kind: 'query',
      name: level,
      scope: { level },
    })
  ).secret
const second = `${userId}_second`
await addUser(access, { tenantId, userId: second, name: 'Second' })
const support = queriesOf(url, demo.queryToken)
const operator = queriesOf(url, await tokenOf('all_tenants'))
const secondUser = queriesOf(url, await tokenOf('current_user', second))
const foreign = queriesOf(url, other.queryToken)

const chat = (content: string, token: string, more: object = {}): Promise<Answer> =>
  call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content }], ...more }),
  })
const idOf = (answer: Answer, header: string): string => String(answer.headers.get(header))

const failed = await chat('Hi [[sandbox http=400]]', demo.modelToken)
const whole = await chat('Hello', demo.modelToken)
const streamed = await chat('Hello', demo.modelToken, { stream: true })
const theirs = await chat('Hi [[sandbox http=400]]', other.modelToken)
const tasks = tasksOf(url, demo.modelToken)
const ended = await tasks.create({
  content: [{ type: 'text', text: 'x [[sandbox fail=OutputVideoSensitiveContentDetected]]' }],
})
await tasks.reaches(String(ended.body.id), 'failed')
const refused = await tasks.create({
  content: [{ type: 'text', text: 'x [[sandbox refuse=InvalidParameter]]' }],
})
await caughtUp()
await eventually('the call that failed is in the log', async () => {
  await caughtUp()
  const { body } = await foreign.get('/failures')
  return body.data.items.length > 0 ? body : undefined
})

t.test('a failure is listed with what its caller was answered', async (t) => {
  const { status, body } = await support.get(`/failures?tenant_id=${tenantId}`)
  t.equal(status, 200)
  t.same(
    [failed, refused, theirs].map((answer) => answer.status),
    [400, 400, 400],
  )
  t.match(body.data, { next_cursor: null, as_of: /^\d+$/ })
  t.same(
    body.data.items.map((item: Record<string, unknown>) => [
      item.kind,
      item.status,
      item.request_id,
    ]),
    [
      ['task', 'refused', idOf(refused, 'x-request-id')],
      ['task', 'failed', idOf(ended, 'x-request-id')],
      ['call', 'failed', idOf(failed, 'x-request-id')],
    ],
  )
  const [, task, one] = body.data.items
  t.match(one, {
    id: idOf(failed, 'x-call-id'),
    tenant_id: tenantId,
    user_id: userId,
    token_last_four: demo.modelToken.slice(-4),
    model: 'text-basic',
    surface: 'v1.chat',
    code: /\w/,
    message: /provider/,
    at: /^2\d{3}-.*Z$/,
    count: 1,
    channel_id: null,
  })
  t.ok(one.duration_ms >= 0)
  t.match(task, {
    id: idOf(ended, 'x-platform-id'),
    code: 'OutputVideoSensitiveContentDetected',
    not_charged: null,
    channel_id: null,
  })
  const all = await operator.get(`/failures?tenant_id=${tenantId}`)
  for (const item of all.body.data.items) t.type(item.channel_id, 'string')
})

t.test('filters, pages and files', async (t) => {
  const ids = async (query: string): Promise<readonly string[]> => {
    const { status, body, text } = await support.get(`/failures?${query}`)
    if (status !== 200) throw new Error(text)
    return body.data.items.map((item: { readonly id: string }) => item.id)
  }
  const call1 = idOf(failed, 'x-call-id')
  const task = idOf(ended, 'x-platform-id')
  t.same(await ids('surface=v1.chat'), [call1])
  t.same(await ids(`model=text-basic&time_preset=today&tz=${encodeURIComponent(middayZone())}`), [
    call1,
  ])
  t.same(await ids(`request_id=${idOf(ended, 'x-request-id')}`), [task])
  t.same(await ids('code=OutputVideoSensitiveContentDetected'), [task])
  t.same(await ids('status=failed'), [task, call1])
  t.same(await ids('status=expired'), [])
  t.same(await ids('to=2026-01-01'), [])
  t.same(await ids(`user_id=${second}`), [])
  const first = await support.get('/failures?limit=2')
  const rest = await support.get(`/failures?limit=2&cursor=${first.body.data.next_cursor}`)
  t.same(
    [first, rest].flatMap(({ body }) => body.data.items.length),
    [2, 1],
  )
  t.equal(rest.body.data.as_of, first.body.data.as_of)
  const csv = await support.get('/failures?format=csv')
  t.match(csv.text, /^id,kind,status,at,tenant_id/)
  t.equal(csv.text.trim().split('\r\n').length, 4)
  const wrong = await support.get('/failures?cursor=bm9uZQ')
  t.match([wrong.status, wrong.body.error], [400, { code: 'invalid_request', param: 'cursor' }])
})

t.test('a token sees failures of its scope alone', async (t) => {
  t.same((await secondUser.get('/failures')).body.data.items, [])
  const own = await foreign.get('/failures')
  t.same(
    own.body.data.items.map((item: { readonly id: string }) => item.id),
    [idOf(theirs, 'x-call-id')],
  )
  for (const query of [`tenant_id=${other.tenantId}`, `user_id=${userId}`]) {
    const denied = await secondUser.get(`/failures?${query}`)
    t.match([denied.status, denied.body.error], [403, { code: 'scope_denied' }], query)
  }
  const steady = ({ body }: Answer) => ({ ...body.data, as_of: undefined })
  const foreignRequest = await support.get(`/failures?request_id=${idOf(theirs, 'x-request-id')}`)
  const noRequest = await support.get('/failures?request_id=req_00000000000000000000000000')
  t.same(steady(foreignRequest), steady(noRequest), 'another tenant’s request is as a missing one')
})

t.test('a refusal that is no event is counted, and found by its request', async (t) => {
  const wanted = { tenantId, userId, kind: 'model', name: 'short' } as const
  const token = await issueToken(access, wanted)
  const body = { model: 'text-basik', messages: [{ role: 'user', content: 'a secret' }] }
  const ask = (secret: string): Promise<Answer> =>
    call(`${url}/v1/chat/completions`, {
      method: 'POST',
      token: secret,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const unknown = await ask(token.secret)
  await ask(token.secret)
  await disableToken(access, { tokenId: token.tokenId, reason: 'leaked' })
  const disabled = await eventually('the token is refused', async () => {
    const answer = await ask(token.secret)
    return answer.status === 401 ? answer : undefined
  })
  await caughtUp()
  await eventually('the counts are written', async () => {
    const { rowCount } = await stack.gateway.pool.query(
      `select from ops.refusals where token_id = $1 and code = 'unauthenticated'`,
      [token.tokenId],
    )
    return rowCount === 1
  })
  const ofRequest = `/refusals?request_id=${idOf(disabled, 'x-request-id')}`
  const found = (await support.get(ofRequest)).body.data
  t.match(found, {
    sampled: true,
    next_cursor: null,
    items: [{ token_id: token.tokenId, code: 'unauthenticated' }],
  })
  for (const list of ['failures', 'refusals'])
    t.match(await support.get(`/${list}?code=unknown_modle`), {
      status: 400,
      body: { message: /did you mean `unknown_model`/, error: { param: 'code' } },
    })
  t.match(await support.get('/refusals?code=of_a_provider'), { status: 200 })
  const all = (await support.get(`/refusals?token_id=${token.tokenId}&code=unknown_model`)).body
    .data
  t.match(all.items, [
    {
      tenant_id: tenantId,
      user_id: userId,
      token_last_four: token.secret.slice(-4),
      route: 'POST /v1/chat/completions',
      count: 2,
    },
  ])
  t.ok(
    all.items[0].samples.some(
      (sample: { readonly request_id: string }) =>
        sample.request_id === idOf(unknown, 'x-request-id'),
    ),
  )
  t.notMatch(JSON.stringify(all), /basik|secret/)
  for (const item of (await secondUser.get('/refusals')).body.data.items)
    t.equal(item.user_id, second, 'a token of one user sees its own alone')
  const theirRefusals = await foreign.get(`/refusals?request_id=${idOf(unknown, 'x-request-id')}`)
  const none = await foreign.get('/refusals?request_id=req_00000000000000000000000000')
  t.same(theirRefusals.body.data, none.body.data, 'another tenant’s request is as a missing one')
  const csv = await support.get('/refusals?format=csv')
  t.match(csv.text, /^hour,tenant_id,user_id,token_id/)
})

t.test(
  'lives that failed are found by their state, code and model, and say how long they took',
  async (t) => {
    const lives = async (query: string) =>
      (await support.get(`/lives?time_preset=1h&${query}`)).body.data.items
    const [item] = (await support.get('/failures?model=text-basic')).body.data.items
    const found = await lives(`state=not_billed&code=${item.code}&model=text-basic`)
    t.equal(found[0].id, item.id)
    t.equal(found[0].duration_ms, item.duration_ms)
    for (const { state, duration_ms: ms } of await lives('state=not_billed')) {
      t.equal(state, 'not_billed')
      t.ok(ms >= 0)
    }
    t.ok(
      (await lives('state=settled')).every((life: { state: string }) => life.state === 'settled'),
    )
    for (const state of ['running', 'awaiting_usage', 'unknown'])
      t.same(await lives(`state=${state}&model=text-basic`), [], state)
    t.match(await support.get('/lives?state=over'), { status: 400 })
  },
)

t.test(
  'speed counts what was answered and what failed, within the scope of the token',
  async (t) => {
    const speed = async (query = '', by = support) => (await by.get(`/speed?${query}`)).body.data
    const ofModels = await speed()
    const chats = ofModels.items.find(({ key }: { key: string }) => key === 'text-basic')
    const failures = (await support.get('/failures?model=text-basic&time_preset=24h')).body.data
      .items
    const answered = (await support.get('/lives?model=text-basic&state=settled&time_preset=24h'))
      .body.data.items
    t.match(chats, {
      requests: failures.length + answered.length,
      failed: failures.length,
      answered: answered.length,
    })
    const took = answered.map((life: { duration_ms: number }) => life.duration_ms)
    t.ok(took.includes(chats.p95_ms) && took.includes(chats.median_ms))
    t.equal(ofModels.one_of, 1)
    const lifeOf = async (answer: Answer) =>
      (await support.get(`/lives/${idOf(answer, 'x-call-id')}`)).body.data
    const stream = await lifeOf(streamed)
    t.ok(stream.first_byte_ms >= 0 && stream.first_byte_ms <= stream.duration_ms)
    t.equal((await lifeOf(whole)).first_byte_ms, null, 'a whole answer has none')
    t.match(chats, {
      first_byte_median_ms: stream.first_byte_ms,
      first_byte_p95_ms: stream.first_byte_ms,
    })
    for (const query of ['group_by=surface', 'group_by=hour&tz=Asia/Kolkata', 'group_by=day']) {
      const { items, total } = await speed(query)
      const sum = (name: string) =>
        items.reduce((all: number, item: Record<string, number>) => all + (item[name] ?? 0), 0)
      t.same([sum('requests'), sum('failed')], [total.requests, total.failed], query)
      t.same(total, ofModels.total, query)
    }
    const ofTenant = await speed(`tenant_id=${tenantId}&group_by=channel`, operator)
    t.same(ofTenant.total, ofModels.total, 'operators see the channels')
    const [{ key }] = ofTenant.items
    t.match(await speed(`channel_id=${key}&group_by=model&tenant_id=${tenantId}`, operator), {
      total: { requests: ofTenant.items[0].requests },
    })
    t.equal((await speed('group_by=hour&model=text-basic')).total.requests, chats.requests)
    t.equal((await speed('', secondUser)).total.requests, 0)
    for (const query of ['group_by=channel', `channel_id=${key}`])
      t.match(await support.get(`/speed?${query}`), { status: 403 }, query)
    t.match(await support.get('/speed?from=2020-01-01'), { status: 422 })
    t.match(await support.get('/speed?group_by=sku'), { status: 400 })
    t.match(await support.get('/speed?tz=Mars'), { status: 400 })
  },
)
