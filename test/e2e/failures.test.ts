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

const chat = (content: string, token: string): Promise<Answer> =>
  call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content }] }),
  })
const idOf = (answer: Answer, header: string): string => String(answer.headers.get(header))

const failed = await chat('Hi [[sandbox http=400]]', demo.modelToken)
await chat('Hello', demo.modelToken)
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
