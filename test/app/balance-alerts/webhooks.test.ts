import { Pool } from 'pg'
import t from 'tap'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { sendDueWebhooks } from '../../../src/app/accounts/alerts/webhooks.ts'
import { FetchFault, type PostPublic } from '../../../src/kernel/public-fetch.ts'
import { acquireGatewayDatabase } from '../../helpers/postgres.ts'

const database = await acquireGatewayDatabase()
const pool = new Pool({ connectionString: database.url, max: 2 })
t.teardown(async () => {
  await pool.end()
  await database.drop()
})
await pool.query(`insert into access.tenants (tenant_id, name, opened_at, position, webhook_url)
                  values ('acme', 'Acme', now(), 1, 'https://hooks.example.com/low')`)
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
const terms = { markerSecret: 'x'.repeat(32), nowMs: () => Date.now() }
const leaving = () => new AbortController()

t.test('what was sent and could not be written down is sent again under its id', async (t) => {
  const { ids, post } = receiver(() => Promise.resolve(204))
  const forgetful: Queryable = {
    query: (async (text: { readonly name?: string }, ...rest: unknown[]) => {
      if (text.name === 'low-balances-note') throw new Error('the process died here')
      return pool.query(text as never, ...(rest as never[]))
    }) as never,
  }
  await t.rejects(
    sendDueWebhooks({ ...terms, pool: forgetful, post }, leaving().signal),
    /died here/,
  )
  t.same(await sendDueWebhooks({ ...terms, pool, post }, leaving().signal), [
    ['acme', 'told', undefined],
  ])
  t.same(ids, ['alert_1', 'alert_1'])
  t.same(await sendDueWebhooks({ ...terms, pool, post }, leaving().signal), [], 'and then no more')
})

t.test('what was broken off because the process leaves is another’s to try, at once', async (t) => {
  const stopping = leaving()
  const { post } = receiver(() => {
    stopping.abort()
    return Promise.reject(new FetchFault('aborted', 'was not waited for'))
  })
  t.same(await sendDueWebhooks({ ...terms, pool, post }, stopping.signal), [])
  const { rows } = await pool.query('select tries, last_failure from ops.low_balances')
  t.same(rows, [{ tries: 0, last_failure: null }])
})

t.test('an alert that was over while it was sent is nothing', async (t) => {
  const { post } = receiver(async () => {
    await pool.query('delete from ops.low_balances')
    return 500
  })
  t.same(await sendDueWebhooks({ ...terms, pool, post }, leaving().signal), [])
})
