import { Pool } from 'pg'
import t from 'tap'
import { eventually } from '../../../helpers/eventually.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { createWebhookDelivery } from '../../../../src/app/accounts/alerts/webhooks.ts'
import { FetchFault, type PostPublic } from '../../../../src/kernel/public-fetch.ts'
import { acquireGatewayDatabase } from '../../../helpers/postgres.ts'

const database = await acquireGatewayDatabase()
const pool = new Pool({ connectionString: database.url, max: 2 })
t.teardown(async () => {
  await pool.end()
  await database.drop()
})
await pool.query(`insert into access.tenants (tenant_id, name, search_name, opened_at, position, webhook_url)
                  values ('acme', 'Acme', 'acme', now(), 1, 'https://hooks.example.com/low')`)
t.beforeEach(async () => {
  await pool.query('delete from ops.low_balances')
  await pool.query(`insert into ops.low_balances
    (tenant_id, currency, alert_id, below, balance, position, seen_at, next_try_at)
    values ('acme', 'CNY', 'alert_1', 10, 9.5, 7, now(), now())`)
})

/** What was sent, by id; the answer is what a test says. */
function receiver(answer: () => Promise<number>) {
  const ids: (string | undefined)[] = []
  const post: PostPublic = (_url, { headers }) => {
    ids.push(headers['webhook-id'])
    return answer()
  }
  return { ids, post }
}
/** One round that waits for what it sends: the outcomes. */
async function sendDue(deps: { pool: Queryable; post: PostPublic }, signal: AbortSignal) {
  const outcomes: unknown[][] = []
  const delivery = createWebhookDelivery({
    markerSecret: 'x'.repeat(32),
    nowMs: () => Date.now(),
    onOutcome: (...outcome) => outcomes.push(outcome),
    ...deps,
  })
  await delivery.begin(signal)
  await delivery.settled()
  // What could not be recorded fails the next round.
  if (outcomes.length === 0) await delivery.begin(AbortSignal.abort())
  await delivery.settled()
  return outcomes
}
const leaving = () => new AbortController()

t.test('an alert that was sent but not recorded is sent again under its id', async (t) => {
  const { ids, post } = receiver(() => Promise.resolve(204))
  const forgetful: Queryable = {
    query: (async (text: { readonly name?: string }, ...rest: unknown[]) => {
      if (text.name === 'low-balances-note') throw new Error('the process died here')
      return pool.query(text as never, ...(rest as never[]))
    }) as never,
  }
  await t.rejects(sendDue({ pool: forgetful, post }, leaving().signal), /died here/)
  t.same(await sendDue({ pool, post }, leaving().signal), [['acme', 'delivered', undefined]])
  t.same(ids, ['alert_1', 'alert_1'])
  t.same(await sendDue({ pool, post }, leaving().signal), [], 'and then no more')
})

t.test('an alert that a leaving process broke off is free at once for another', async (t) => {
  const stopping = leaving()
  const { post } = receiver(() => {
    stopping.abort()
    return Promise.reject(new FetchFault('aborted', 'was not waited for'))
  })
  t.same(await sendDue({ pool, post }, stopping.signal), [])
  const { rows } = await pool.query('select tries, last_failure from ops.low_balances')
  t.same(rows, [{ tries: 0, last_failure: null }])
})

t.test('an alert whose row is deleted while it is sent is not reported', async (t) => {
  const { post } = receiver(async () => {
    await pool.query('delete from ops.low_balances')
    return 500
  })
  t.same(await sendDue({ pool, post }, leaving().signal), [])
})

const tenants = Array.from({ length: 70 }, (_, index) => `tenant_${index}`)

t.test('the slow receiver of one tenant delays no alert of another', async (t) => {
  await pool.query(
    `insert into access.tenants (tenant_id, name, search_name, opened_at, position, webhook_url)
     select id, id, id, now(), 1, 'https://hooks.example.com/' || id from unnest($1::text[]) id
     on conflict do nothing`,
    [tenants],
  )
  const alert = (tenantIds: readonly string[], currency: string) =>
    pool.query(
      `insert into ops.low_balances
         (tenant_id, currency, alert_id, below, balance, position, seen_at, next_try_at)
       select id, $2, id || $2, 10, 9.5, 7, now(), now() from unnest($1::text[]) id`,
      [tenantIds, currency],
    )
  await alert(['acme'], 'USD')
  const held: (() => void)[] = []
  let mostOfTenant = 0
  let most = 0
  const underWay = new Map<string, number>()
  const post: PostPublic = async (url, { tenantId }) => {
    const count = (underWay.get(tenantId) ?? 0) + 1
    underWay.set(tenantId, count)
    mostOfTenant = Math.max(mostOfTenant, count)
    most = Math.max(most, [...underWay.values()].filter((one) => one > 0).length)
    if (url.endsWith('/low')) await new Promise<void>((resolve) => held.push(resolve))
    underWay.set(tenantId, count - 1)
    return 204
  }
  const told: string[] = []
  const delivery = createWebhookDelivery({
    markerSecret: 'x'.repeat(32),
    nowMs: () => Date.now(),
    onOutcome: (tenantId) => told.push(tenantId),
    pool,
    post,
  })
  const { signal } = leaving()
  t.equal(await delivery.begin(signal), false, 'one of the tenant’s two')
  await alert(tenants, 'CNY')
  await eventually('all others are notified', async () => {
    await delivery.begin(signal)
    return told.length >= tenants.length
  })
  t.equal(told.length, tenants.length, 'each once')
  t.equal(held.length, 1)
  t.equal(mostOfTenant, 1)
  t.ok(most <= 64, `${most} at once`)
  held.pop()?.()
  await delivery.settled()
  await delivery.begin(signal)
  held.pop()?.()
  await delivery.settled()
  t.equal(told.filter((tenantId) => tenantId === 'acme').length, 2)
})
