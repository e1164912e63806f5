import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  addUser,
  disableToken,
  issueToken,
  openTenant,
} from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { allProjections } from '../../projections/registry.ts'
import { audit } from '../../src/app/audit/audit.ts'
import { formatFullAmount, parseAmount } from '../../src/kernel/money.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

/** What is decided about an account while it is used, on two replicas. */

const stack = await startStack()
t.teardown(() => stack.stop())
const { access } = stack
const gateways = [stack.url, (await stack.replica()).url] as const

const CALLERS = 6
/** Credit for a few calls at a time: it runs out again and again. */
const GRANT = '0.0005'
const GRANTS = 12
/** How long what was decided is looked at, once every replica knows of it. */
const LOOK_MS = 1_000

interface Seen {
  readonly at: string
  readonly startedMs: number
  readonly endedMs: number
  readonly answer: Answer
}

/** A tenant without credit, and what issues its tokens. */
async function open(tenantId: string) {
  await openTenant(access, { tenantId, name: tenantId })
  await addUser(access, { tenantId, userId: 'user_busy', name: 'Busy' })
  const issue = (kind: 'model' | 'profile') =>
    issueToken(access, { tenantId, userId: 'user_busy', kind, name: kind })
  const grant = (amount: string) =>
    grantCredit(access, { tenantId, currency: 'USD', amount, reason: 'in traffic' })
  const profile = await issue('profile')
  /** Once nothing is held: the other replica says a moment later what it holds no more. */
  const balance = async (): Promise<Balance> => {
    await stack.caughtUp()
    return eventually('nothing is held', async () => {
      const path = `${stack.url}/api/user/balance?currency=USD`
      const answer = await call(path, { token: profile.secret })
      const [account] = answer.body.data.accounts
      return parseAmount(account.held) === 0n ? account : undefined
    })
  }
  return { tenantId, issue, grant, balance }
}

interface Balance {
  readonly available: string
  readonly settled: string
}

const json = { 'content-type': 'application/json' }
const chat = (token: string, at: string): Promise<Answer> => {
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = JSON.stringify({ model: 'text-basic', max_tokens: 20, messages })
  return call(`${at}/v1/chat/completions`, { method: 'POST', token, headers: json, body })
}
const setBudgets = async (tenantId: string, budgets: readonly object[]): Promise<void> => {
  const answer = await call(`${stack.url}/api/admin/tenants/${tenantId}/budgets`, {
    method: 'PUT',
    token: stack.demo.adminToken,
    headers: json,
    body: JSON.stringify({ budgets }),
  })
  if (answer.status !== 200) throw new Error(answer.text)
}

interface Traffic {
  readonly seen: readonly Seen[]
  /** Ends it, once what is under way is answered. */
  readonly stop: () => Promise<void>
}

/** Calls by a few callers of each replica in turn. */
function traffic(token: string): Traffic {
  const seen: Seen[] = []
  const end = new AbortController()
  const caller = async (n: number): Promise<void> => {
    for (let index = n; !end.signal.aborted; index += 1) {
      const at = gateways[index % 2 === 0 ? 0 : 1]
      const startedMs = performance.now()
      const answer = await chat(token, at)
      seen.push({ at, startedMs, endedMs: performance.now(), answer })
      await sleep(10)
    }
  }
  const callers = Array.from({ length: CALLERS }, (_, n) => caller(n))
  return {
    seen,
    stop: async () => {
      end.abort()
      await Promise.all(callers)
    },
  }
}

/** Until a call begun since then was answered so by every replica; when that was. */
async function answered({ seen }: Traffic, status: number, sinceMs: number): Promise<number> {
  for (const gateway of gateways)
    await eventually(`${status} at ${gateway}`, () =>
      seen.some(
        ({ at, startedMs, answer }) =>
          at === gateway && startedMs >= sinceMs && answer.status === status,
      ),
    )
  return performance.now()
}

/** Looks on for a while, and on a busy machine until each had a call in that time. */
async function look(at: readonly Traffic[], sinceMs: number): Promise<void> {
  await sleep(LOOK_MS)
  for (const one of at)
    await eventually('a call was answered meanwhile', () =>
      one.seen.some(({ startedMs }) => startedMs >= sinceMs),
    )
}

const statuses = (seen: readonly Seen[]): Readonly<Record<number, number>> => {
  const counts: Record<number, number> = {}
  for (const { answer } of seen) counts[answer.status] = (counts[answer.status] ?? 0) + 1
  return counts
}
/** The statuses of calls that began and ended between those times. */
const statusesIn = ({ seen }: Traffic, fromMs: number, toMs: number): readonly string[] =>
  Object.keys(
    statuses(seen.filter(({ startedMs, endedMs }) => startedMs >= fromMs && endedMs <= toMs)),
  )

await t.test('grants, a disabled token and budgets in the middle of traffic', async (t) => {
  const busy = await open('tenant_busy')
  await busy.grant('1')
  const [disabled, budgeted, kept] = [
    await busy.issue('model'),
    await busy.issue('model'),
    await busy.issue('model'),
  ]
  const [ofDisabled, ofBudgeted, ofKept] = [disabled, budgeted, kept].map(({ secret }) =>
    traffic(secret),
  ) as [Traffic, Traffic, Traffic]
  for (const one of [ofDisabled, ofBudgeted, ofKept]) await answered(one, 200, 0)

  const decidingMs = performance.now()
  await disableToken(access, { tokenId: disabled.tokenId, reason: 'in traffic' })
  const none = { subject: 'token', token_id: budgeted.tokenId, currency: 'USD', period: 'day' }
  await setBudgets(busy.tenantId, [{ ...none, hard: '0' }])
  const disabledMs = await answered(ofDisabled, 401, decidingMs)
  const budgetedMs = await answered(ofBudgeted, 402, decidingMs)
  await look([ofDisabled, ofBudgeted], Math.max(disabledMs, budgetedMs))
  const liftingMs = performance.now()
  await setBudgets(busy.tenantId, [])
  const liftedMs = await answered(ofBudgeted, 200, liftingMs)
  await look([ofBudgeted], liftedMs)
  const overMs = performance.now()
  for (const one of [ofDisabled, ofBudgeted, ofKept]) await one.stop()

  t.same(statusesIn(ofDisabled, 0, decidingMs), ['200'])
  t.same(statusesIn(ofDisabled, disabledMs, overMs), ['401'], 'nothing begins any more')
  t.same(statusesIn(ofDisabled, 0, overMs), ['200', '401'], 'what had begun went on')
  t.same(statusesIn(ofBudgeted, 0, decidingMs), ['200'])
  t.same(statusesIn(ofBudgeted, budgetedMs, liftingMs), ['402'])
  t.same(statusesIn(ofBudgeted, liftedMs, overMs), ['200'])
  t.same(statusesIn(ofKept, 0, overMs), ['200'], 'who is not meant notices nothing')
  const all = [ofDisabled, ofBudgeted, ofKept].flatMap(({ seen }) => seen)
  const { settled, available } = await busy.balance()
  t.equal(settled, formatFullAmount(costOf(all)), 'what callers were told is what the ledger has')
  t.equal(parseAmount(available), parseAmount('1') - costOf(all))
  t.equal(stack.sandbox.calls().length, statuses(all)[200], 'and what upstream was sent')
})

await t.test('credit granted in small amounts is spent, and not exceeded', async (t) => {
  const poor = await open('tenant_poor')
  const { secret } = await poor.issue('model')
  const running = traffic(secret)
  for (let n = 0; n < GRANTS; n += 1) {
    const grantedMs = performance.now()
    await poor.grant(GRANT)
    // One replica may be first to all of it.
    await eventually('it is there', () =>
      running.seen.some(({ startedMs, answer }) => startedMs >= grantedMs && answer.status === 200),
    )
    await answered(running, 402, performance.now())
  }
  await running.stop()
  const { seen } = running
  const { settled, available } = await poor.balance()
  t.equal(settled, formatFullAmount(costOf(seen)))
  const left = parseAmount(GRANT) * BigInt(GRANTS) - costOf(seen)
  t.equal(parseAmount(available), left)
  t.comment(`${statuses(seen)[200]} calls, ${statuses(seen)[402]} refused, ${left} pico left`)
  t.ok(left >= 0n)
  t.ok(left < parseAmount(GRANT), 'what was granted was there, each time')
})

await t.test('the audit has no finding', async (t) => {
  const { log, pool } = stack.gateway
  const { findings } = await audit({ log, pool, models: allProjections })
  t.same(findings, [])
})

function costOf(seen: readonly Seen[]): bigint {
  return seen.reduce(
    (sum, { answer }) => sum + parseAmount(answer.headers.get('x-cost') ?? '0'),
    0n,
  )
}
