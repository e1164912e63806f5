import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { addUser, issueToken, openTenant } from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { setSetting } from '../../src/app/accounts/settings.ts'
import { eventually } from '../helpers/eventually.ts'
import { standBefore } from '../helpers/pretended-cluster/front.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

/**
 * A replica whose stores stop without a word, as at a slow disk or a lost packet, and whose clock for durations the
 * test moves: a call that waits for a store waits as long as the store is stopped.
 */

/** Far more than a call takes, and less than the time after which the gateway gives up a statement. */
const ANSWERED_MS = 6_000
const WAITS = 'waits for the stopped store'

const stack = await startStack()
t.teardown(() => stack.stop())
const { access } = stack
const postgres = await standBefore(t, stack.databaseUrl)
const log = await standBefore(t, stack.eventStoreUrl)
let nowMs = 1_000_000
const pass = (ms: number): void => void (nowMs += ms)
const replica = await stack.replica(['api'], {
  databaseUrl: postgres.url,
  eventStoreUrl: log.url,
  monotonic: { nowMs: () => nowMs },
})

/** A tenant with a model token; without an amount it has no credit. */
async function tenantOf(tenantId: string, amount?: string) {
  const userId = `user_${tenantId}`
  await openTenant(access, { tenantId, name: tenantId })
  await addUser(access, { tenantId, userId, name: tenantId })
  if (amount !== undefined)
    await grantCredit(access, { tenantId, currency: 'USD', amount, reason: 'test' })
  const { secret } = await issueToken(access, { tenantId, userId, kind: 'model', name: 'calls' })
  return { tenantId, token: secret }
}

const chat = (token: string, content = 'Hello'): Promise<Answer> =>
  call(`${replica.url}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'text-basic',
      messages: [{ role: 'user', content }],
      max_tokens: 100,
    }),
  })

const paying = await tenantOf('paying', '10000')
const poor = await tenantOf('poor')
const limited = await tenantOf('limited', '10000')
const budgeted = await tenantOf('budgeted', '10000')
const spent = await tenantOf('spent', '10000')
await setSetting(access, 'limits', {
  tenantId: limited.tenantId,
  wanted: { limits: [{ subject: { kind: 'tenant' }, requestsPerMinute: 1 }] },
})
for (const [{ tenantId }, hard] of [
  [budgeted, '1000'],
  [spent, '0'],
] as const)
  await setSetting(access, 'budgets', {
    tenantId,
    wanted: { budgets: [{ subject: { kind: 'tenant' }, currency: 'USD', period: 'day', hard }] },
  })
await stack.caughtUp()

/** The status of a call of each tenant. */
const expected = { paying: 200, budgeted: 200, poor: 402, limited: 429, spent: 402 }
const tokens = { paying, budgeted, poor, limited, spent }
const statuses = async () => {
  const answers = Object.entries(tokens).map(async ([name, { token }]) => {
    const late = sleep(ANSWERED_MS, { status: WAITS }, { ref: false })
    return [name, (await Promise.race([chat(token), late])).status] as const
  })
  return Object.fromEntries(await Promise.all(answers))
}
/** Lets calls wait for all that is valid for seconds: it is as old as the clock then. */
const readAll = async () => {
  // Reads that were under way when the store stopped end first.
  await statuses()
  pass(5_000)
  // A read that an exchange began before joins these calls, and is as old as the clock was then: the next calls read.
  await statuses()
  return statuses()
}
t.match(await statuses(), { paying: 200, limited: 200 }, 'the one request a minute')

for (const ageMs of [0, 1_499, 1_500, 1_999])
  await t.test(`calls by values of ${ageMs} ms wait for no stopped Postgres`, async (t) => {
    t.same(await readAll(), expected)
    await postgres.front.fallSilent('freeze')
    pass(ageMs)
    t.same(await statuses(), expected)
    t.same(await statuses(), expected, 'also while a renewal is under way')
    t.equal(postgres.front.silence, 'freeze')
    await postgres.front.recover()
  })

await t.test('the first calls after some quiet seconds wait for no stopped Postgres', async (t) => {
  t.same(await readAll(), expected)
  const { pool } = replica.gateway
  const query = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>
  let balances = 0
  pass(3_000)
  Object.assign(pool, {
    query: async (...given: unknown[]) => {
      const answer = await query(...given)
      if ((given[0] as { readonly name?: string }).name === 'spendable') balances += 1
      return answer
    },
  })
  // The first exchange may have begun before, and the third begins only once the second has ended.
  await eventually('a whole exchange has passed', () => Promise.resolve(balances >= 3 || undefined))
  await postgres.front.fallSilent('freeze')
  t.same(await statuses(), expected)
  await postgres.front.recover()
})

for (const ageMs of [0, 20_000, 29_999])
  await t.test(`a call by settings of ${ageMs} ms is sent while the log is stopped`, async (t) => {
    pass(30_000)
    t.equal((await chat(paying.token)).status, 200)
    await log.front.fallSilent('freeze')
    pass(ageMs)
    const marker = `sent-after-${ageMs}`
    const answer = chat(paying.token, `[[client=${marker}]]`)
    await eventually('the provider has the call', () => {
      const isSent = stack.sandbox.calls().some((one) => one.client_marker === marker)
      return Promise.resolve(isSent || undefined)
    })
    t.equal(log.front.silence, 'freeze')
    await log.front.recover()
    t.equal((await answer).status, 200)
  })
