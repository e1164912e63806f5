import t from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, tasksOf } from './support/client.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const replica = await stack.replica()
const { access, demo, other, url } = stack
const { tenantId, userId } = demo
const both = [url, replica.url]
await addUser(access, { tenantId, userId: 'user_second', name: 'Second' })

const issue = async (user = userId, limits = {}) =>
  (await issueToken(access, { tenantId, userId: user, kind: 'model', name: 'shared', limits }))
    .secret
const admin = async (level: 'all_tenants' | 'all_users') =>
  (await issueToken(access, { tenantId, userId, kind: 'admin', name: level, scope: { level } }))
    .secret
const operator = await admin('all_tenants')
const ofItsTenant = await admin('all_users')

const json = { 'content-type': 'application/json' }
const path = (tenant = tenantId) => `${url}/api/admin/tenants/${tenant}/limits`
const put = (limits: readonly object[], token = operator, more: object = {}): Promise<Answer> =>
  call(path(), {
    method: 'PUT',
    token,
    headers: json,
    body: JSON.stringify({ limits, ...more }),
  })
const chat = (token: string, at = url, content = 'Hello') =>
  call(`${at}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: json,
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content }] }),
  })
const key = async (token: string, at = url) => (await call(`${at}/v1/key`, { token })).body
const ofUser = { subject: 'user', user_id: userId }
const sent = () => stack.sandbox.calls().length + stack.sandbox.accepted().length

/** Until every replica has what was set. */
async function known(token: string, of: string, measure: string, limit: number | null) {
  for (const at of both)
    await eventually(`${of} ${measure} ${limit} at ${at}`, async () => {
      const shown = (await key(token, at))[of][measure]
      return (shown?.limit ?? null) === limit ? true : undefined
    })
}

await t.test('all tokens of a user share its limit, other users have their own', async (t) => {
  const [first, second] = [await issue(), await issue()]
  const [free] = [await issue('user_second')]
  t.match((await put([{ ...ofUser, requests_per_minute: 4 }])).body.data, {
    revision: 1,
    changed: true,
    limits: [{ subject: 'user', user_id: userId, requests_per_minute: 4, tokens_per_minute: null }],
  })
  await known(first, 'user_limits', 'requests_per_minute', 4)
  for (const token of [first, second, first, second]) t.equal((await chat(token)).status, 200)
  const before = sent()
  const refused = await chat(first)
  t.equal(refused.status, 429)
  t.match(refused.body.error.message, 'This user is at its limit of requests a minute (4)')
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  t.equal(refused.headers.get('x-ratelimit-limit-requests'), '4', 'the tightest is told')
  t.equal(sent(), before, 'nothing was sent')
  t.equal((await chat(free)).status, 200, 'another user of the tenant')
  t.equal((await chat(other.modelToken)).status, 200, 'another tenant, whose user has the same id')
  t.equal((await chat(free)).headers.get('x-ratelimit-limit-requests'), null)
  await eventually('the other replica learns of it', async () =>
    (await chat(second, replica.url)).status === 429 ? true : undefined,
  )
})

await t.test('a tenant’s limit is shared by all its users', async (t) => {
  const [one, two] = [await issue(), await issue('user_second')]
  await put([{ subject: 'tenant', tokens_per_minute: 3_000 }])
  await known(one, 'tenant_limits', 'tokens_per_minute', 3_000)
  t.equal((await chat(one)).status, 200)
  const big = await call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: two,
    headers: json,
    body: JSON.stringify({
      model: 'text-basic',
      max_tokens: 50_000,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  })
  t.equal(big.status, 429)
  t.match(big.body.error.message, 'The tenant is at its limit of tokens a minute (3000)')
  const shown = await key(two)
  t.equal(shown.user_limits.tokens_per_minute, null)
  t.ok(shown.tenant_limits.tokens_per_minute.used > 0)
  t.equal((await chat(other.modelToken)).status, 200)
})

await t.test('limits of concurrent calls: per user, tenant and token', async (t) => {
  const [mine, theirs] = [await issue(), await issue('user_second')]
  const own = await issue(userId, { concurrentCalls: 1 })
  await put([
    { ...ofUser, concurrent_calls: 2 },
    { subject: 'tenant', concurrent_calls: 3 },
  ])
  await known(mine, 'tenant_limits', 'concurrent_calls', 3)
  const slow = (token: string) => chat(token, url, 'x [[sandbox first-byte-ms=1500]]')
  const running = [slow(own)]
  const used = async (of: string) => (await key(mine))[of].concurrent_calls.used
  await eventually('one', async () => ((await used('user_limits')) === 1 ? true : undefined))
  const twice = await chat(own)
  t.equal(twice.status, 429)
  t.match(twice.body.error.message, 'This token is at its limit of calls at a time (1)')
  running.push(slow(mine))
  await eventually('two', async () => ((await used('user_limits')) === 2 ? true : undefined))
  t.match((await chat(mine)).body.error.message, 'This user is at its limit of calls at a time (2)')
  running.push(slow(theirs))
  await eventually('three', async () => ((await used('tenant_limits')) === 3 ? true : undefined))
  const full = await chat(theirs)
  t.match(full.body.error.message, 'The tenant is at its limit of calls at a time (3)')
  t.equal(full.headers.get('retry-after'), '1')
  t.same(
    (await Promise.all(running)).map(({ status }) => status),
    [200, 200, 200],
  )
  t.equal((await chat(own)).status, 200, 'and then again')
  t.equal(await used('tenant_limits'), 0)
})

await t.test('the limit of concurrent tasks is exact on any replica and token', async (t) => {
  const [mine, again, theirs] = [await issue(), await issue(), await issue('user_second')]
  await put([
    { ...ofUser, concurrent_tasks: 2 },
    { subject: 'tenant', concurrent_tasks: 3 },
  ])
  await known(mine, 'tenant_limits', 'concurrent_tasks', 3)
  const stalled = { prompt: 'x [[sandbox stall-queued]]' }
  const made = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      tasksOf(both[n % 2]!, n % 4 < 2 ? mine : again).create(stalled),
    ),
  )
  t.equal(made.filter(({ status }) => status === 200).length, 2)
  const refused = made.find(({ status }) => status === 429)
  t.equal(refused?.body.error.message, 'This user is at its limit of tasks at a time (2)')
  t.equal((await tasksOf(url, theirs).create(stalled)).status, 200)
  const full = await tasksOf(replica.url, theirs).create(stalled)
  t.equal(full.body.error.message, 'The tenant is at its limit of tasks at a time (3)')
  await stack.caughtUp()
  t.match(await key(mine), {
    limits: { concurrent_tasks: null },
    user_limits: { concurrent_tasks: { limit: 2, used: 2, remaining: 0 } },
    tenant_limits: { concurrent_tasks: { limit: 3, used: 3, remaining: 0 } },
  })
  const id = made.find(({ status }) => status === 200)?.body.id
  t.equal((await tasksOf(url, mine).del(id)).status, 200)
  t.equal((await tasksOf(replica.url, again).create(stalled)).status, 200)
})

await t.test('permissions to set limits, and invalid limits', async (t) => {
  const before = (await put([{ subject: 'tenant', requests_per_minute: 1_000 }])).body.data
  const denied = await put([{ subject: 'tenant', requests_per_minute: 2_000 }], ofItsTenant)
  t.match(denied, { status: 403, body: { error: { code: 'scope_denied', param: 'limits' } } })
  const tenantOwn = { subject: 'tenant', requests_per_minute: 1_000 }
  const allowed = await put([tenantOwn, { ...ofUser, requests_per_minute: 900 }], ofItsTenant)
  t.match(allowed.body.data, { revision: before.revision + 1, changed: true })
  t.match((await put([tenantOwn, { ...ofUser, requests_per_minute: 900 }])).body.data, {
    changed: false,
  })
  for (const token of [ofItsTenant, operator])
    t.match((await call(path(), { token })).body.data, { revision: before.revision + 1 })
  t.match(await call(path(other.tenantId), { token: ofItsTenant }), {
    status: 404,
    body: { error: { code: 'tenant_not_found' } },
  })
  const stale = await put([], operator, { expected_revision: before.revision })
  t.match(stale, { status: 409, body: { error: { code: 'limits_changed' } } })
  for (const [limits, param] of [
    [[{ subject: 'user', requests_per_minute: 1 }], 'limits[0].user_id'],
    [[{ subject: 'tenant', user_id: userId, requests_per_minute: 1 }], 'limits[0].user_id'],
    [[{ subject: 'tenant' }], 'limits[0]'],
    [[{ subject: 'tenant', requests_per_minute: 0 }], 'limits[0].requests_per_minute'],
    [[{ subject: 'tenant', requests_per_minut: 5 }], 'limits[0].requests_per_minut'],
    [[{ subject: 'token', requests_per_minute: 5 }], 'limits[0].subject'],
  ] as const) {
    const answer = await put(limits)
    t.match(answer, { status: 400, body: { error: { param } } }, answer.text)
  }
  t.match(await put([{ subject: 'user', user_id: 'user_none', concurrent_tasks: 1 }]), {
    status: 404,
    body: { error: { code: 'user_not_found' } },
  })
  await put([])
})
