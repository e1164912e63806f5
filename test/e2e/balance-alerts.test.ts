import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

/** What a tenant's own server was sent, and what it answers. */
const received: { readonly headers: Record<string, string>; readonly body: string }[] = []
let status = 204
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    received.push({
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks).toString(),
    })
    response.writeHead(status, { location: '/elsewhere' }).end('x'.repeat(100_000))
  })
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
t.teardown(() => {
  receiver.closeAllConnections()
  receiver.close()
})
const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
const hook = `${origin}/low?of=tollgate`

const stack = await startStack({
  env: { WEBHOOK_TRUSTED_ORIGINS: `${origin}/low` },
  hosts: { 'inside.example.com': ['10.0.0.5'], 'hooks.example.com': ['93.184.216.34'] },
})
t.teardown(() => stack.stop())
const { access, demo, other, url } = stack
const { tenantId, userId } = demo

const json = { 'content-type': 'application/json' }
const path = (tenant = tenantId) => `${url}/api/admin/tenants/${tenant}/balance-alerts`
const put = (body: object, token = demo.adminToken, of = tenantId): Promise<Answer> =>
  call(path(of), { method: 'PUT', token, headers: json, body: JSON.stringify(body) })
const shown = async () => (await call(path(), { token: demo.adminToken })).body.data
const chat = () =>
  call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: demo.modelToken,
    headers: json,
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }),
  })
const left = async (): Promise<string> => {
  await stack.caughtUp()
  const { rows } = await stack.gateway.pool.query<{ left: string }>(
    `select trim_scale(granted + adjusted + credit_limit - settled)::text as left
     from ledger.balances where tenant_id = $1 and currency = 'USD'`,
    [tenantId],
  )
  return rows[0]?.left ?? ''
}
const grant = (amount: string) =>
  grantCredit(access, { tenantId, currency: 'USD', amount, reason: 'topped up' })
const metric = async (name: string) =>
  (await call(`${url}/metrics`)).text.split('\n').filter((line) => line.startsWith(name))
const sent = (count: number) =>
  eventually(`${count} webhooks`, () => Promise.resolve(received[count - 1]))

await t.test('a balance that becomes low is reported once, signed', async (t) => {
  const below = await left()
  const set = await put({ thresholds: [{ currency: 'USD', below }], webhook_url: hook })
  t.match(set.body.data, {
    revision: 1,
    changed: true,
    thresholds: [{ currency: 'USD', below }],
    webhook_url: hook,
    webhook_secret: /^whsec_/,
    low: [],
  })
  t.equal((await chat()).status, 200)
  const { headers, body } = await sent(1)
  const secret = String(set.body.data.webhook_secret)
  const told = new Webhook(secret).verify(body, headers)
  t.match(told, {
    type: 'balance.low',
    timestamp: /Z$/,
    data: { tenant_id: tenantId, currency: 'USD', balance: await left(), threshold: below },
  })
  t.match(headers, { 'content-type': 'application/json', 'user-agent': 'tollgate' })
  t.match(
    await eventually('told', async () => (await shown()).low[0]?.told_at && (await shown())),
    {
      low: [{ currency: 'USD', tries: 1, given_up_at: null, last_failure: null }],
    },
  )
  t.same(await metric('tollgate_low_balances{currency="USD"}'), [
    'tollgate_low_balances{currency="USD"} 1',
  ])
  t.match(stack.logged(), /"msg":"a balance is low"/)
  t.notOk(stack.logged().includes(secret), 'the secret is logged nowhere')
  t.equal((await chat()).status, 200)
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  t.equal(received.length, 1, 'and not again while it is low')
})

await t.test('a balance that was not low in between is reported again', async (t) => {
  await grant('100')
  await eventually('not low', async () => ((await shown()).low.length === 0 ? true : undefined))
  await eventually('the metric says so', async () => {
    const [line] = await metric('tollgate_low_balances{currency="USD"}')
    return line === 'tollgate_low_balances{currency="USD"} 0' ? true : undefined
  })
  await put({ thresholds: [{ currency: 'USD', below: await left() }], webhook_url: hook })
  await chat()
  const { headers } = await sent(2)
  t.not(headers['webhook-id'], received[0]?.headers['webhook-id'])
})

await t.test('a failed alert is sent again under one id, also with another secret', async (t) => {
  await grant('100')
  await eventually('not low', async () => ((await shown()).low.length === 0 ? true : undefined))
  for (const code of [500, 302]) {
    status = code
    const before = received.length
    const { body } = await put({
      thresholds: [{ currency: 'USD', below: await left() }],
      webhook_url: hook,
      rotate_secret: code === 500,
    })
    await chat()
    const first = await sent(before + 1)
    const failed = await eventually(`failed with ${code}`, async () =>
      (await shown()).low[0]?.last_failure === null ? undefined : (await shown()).low[0],
    )
    t.match(failed, {
      last_failure: `it answers with the status ${code}`,
      told_at: null,
      tries: 1,
    })
    status = 200
    await stack.gateway.pool.query('update ops.low_balances set next_try_at = clock_timestamp()')
    const again = await sent(before + 2)
    t.equal(again.headers['webhook-id'], first.headers['webhook-id'])
    t.equal(again.body, first.body)
    t.ok(new Webhook(String(body.data.webhook_secret)).verify(again.body, again.headers))
    await eventually('told', async () => ((await shown()).low[0]?.told_at ? true : undefined))
    await grant('100')
    await eventually('not low', async () => ((await shown()).low.length === 0 ? true : undefined))
  }
  t.match((await metric('tollgate_balance_webhooks_total')).join('\n'), /outcome="failed"\} 2/)
  t.ok((await metric('tollgate_balance_webhooks_total{outcome="delivered"}'))[0]?.endsWith(' 4'))
})

await t.test('an alert is given up after a day', async (t) => {
  status = 503
  await put({ thresholds: [{ currency: 'USD', below: await left() }], webhook_url: hook })
  await chat()
  await eventually('failed', async () => ((await shown()).low[0]?.tries === 1 ? true : undefined))
  await stack.gateway.pool.query(
    `update ops.low_balances set next_try_at = clock_timestamp(),
       seen_at = seen_at - interval '25 hours'`,
  )
  await eventually('given up', async () => ((await shown()).low[0]?.given_up_at ? true : undefined))
  const before = received.length
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  t.equal(received.length, before)
  status = 204
})

await t.test('webhook targets and who may set them are checked', async (t) => {
  const thresholds = [{ currency: 'USD', below: '1' }]
  for (const [webhook_url, message] of [
    ['http://hooks.example.com/', /must use https/],
    ['https://inside.example.com/', /publicly routable/],
    ['https://127.0.0.1/', /publicly routable/],
    [`${origin.replace('127.0.0.1', 'localhost')}/`, /must use https/],
    [`${origin}/other`, /must use https/],
    [`${origin}/low/../other`, /must use https/],
    ['https://user:pass@hooks.example.com/', /credentials/],
    ['no URL', /./],
  ] as const) {
    const answer = await put({ thresholds, webhook_url })
    t.match(answer, { status: 400, body: { error: { param: 'webhook_url' } } }, answer.text)
    t.match(answer.body.message, message)
  }
  t.equal((await put({ thresholds, webhook_url: 'https://hooks.example.com/low' })).status, 200)
  t.match((await put({ thresholds })).body.data, { webhook_url: null, webhook_secret: null })
  const { revision } = await shown()
  for (const [body, param] of [
    [{ thresholds: [{ currency: 'USD', below: '0' }] }, 'thresholds[0].below'],
    [{ thresholds: [...thresholds, ...thresholds] }, 'thresholds'],
    [{ thresholds: [{ currency: 'EUR', below: '1' }] }, 'thresholds[0].currency'],
    [{}, 'thresholds'],
  ] as const)
    t.match(await put(body), { status: 400, body: { error: { param } } })
  t.match(await put({ thresholds: [], expected_revision: 0 }), {
    status: 409,
    body: { error: { code: 'balance_alerts_changed', param: 'expected_revision' } },
  })
  t.equal((await shown()).revision, revision)
  const ofTenant = await issueToken(access, {
    tenantId,
    userId,
    kind: 'admin',
    name: 'of the tenant',
    scope: { level: 'all_users' },
  })
  t.equal((await put({ thresholds }, ofTenant.secret)).status, 200, 'its own administrator')
  t.equal((await put({ thresholds }, ofTenant.secret, other.tenantId)).status, 404)
  t.equal((await put({ thresholds }, demo.modelToken)).status, 403)
})
