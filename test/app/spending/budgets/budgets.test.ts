import { Registry } from 'prom-client'
import t from 'tap'
import { createAccountFacts } from '../../../../src/app/accounts/account-facts.ts'
import { createBudgets } from '../../../../src/app/spending/budgets/budgets.ts'
import { createReplicaGauges } from '../../../../src/app/spending/replica-gauges.ts'
import { closeSilentReplicas } from '../../../../src/app/spending/replica-reports.ts'
import type { Budget } from '../../../../src/domain/account/budgets.ts'
import { accountStream } from '../../../../src/domain/account/events.ts'
import type { RecordedEvent } from '../../../../src/eventlog/log/types.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { formatAmount } from '../../../../src/kernel/money.ts'
import { Recorder } from '../../../projections/support/history.ts'
import { startBook } from '../../calls/support/book.ts'

const NOW_MS = Date.parse('2026-03-04T18:00:00.000Z')
const SECOND_MS = 1_000
const PICO = 10n ** 12n
const UNIT_MS = { days: 86_400_000, hours: 3_600_000, quarters: 900_000 } as const
const reached = { code: 'budget_reached' }

const { pool } = await startBook(t)
let tenants = 0
let replicas = 0

const day: Omit<Budget, 'subject'> = { currency: 'USD', period: 'day', hard: '100' }
const ofTenant = (said: Partial<Budget> = {}): Budget => ({
  ...day,
  subject: { kind: 'tenant' },
  ...said,
})
const ofUser = (userId: string, hard: string): Budget => ({
  ...day,
  subject: { kind: 'user', userId },
  hard,
})
const ofToken = (tokenId: string, hard: string): Budget => ({
  ...day,
  subject: { kind: 'token', tokenId },
  hard,
})

/** A tenant with budgets, its ledger, and as many replicas as are asked for. */
function tenantOf(budgets: readonly Budget[], timeZone = 'UTC') {
  const tenantId = `tenant-${(tenants += 1)}`
  const recorder = new Recorder()
  const events: RecordedEvent[] = []
  const set = (next: readonly Budget[]): RecordedEvent => {
    const data = { tenantId, timeZone, budgets: [...next] as never, setAt: '2026-01-01T00:00:00Z' }
    const event = recorder.record(accountStream(tenantId), {
      type: 'BudgetsSet',
      data: { ...data, revision: events.length + 1 },
    })
    events.push(event)
    return event
  }
  set(budgets)
  let nowMs = NOW_MS
  const clock = { nowMs: () => nowMs }
  const warned: object[] = []
  const replica = (maxKnown?: number, db = pool) => {
    const log = {
      readStream: (_name: string, { from = 0n }: { readonly from?: bigint } = {}) =>
        Promise.resolve(events.slice(Number(from))),
    }
    const facts = createAccountFacts({ log }, clock)
    const name = `budgets-${(replicas += 1)}`
    const gauges = createReplicaGauges({ db, replica: name, clock })
    const made = createBudgets({
      db,
      facts,
      gauges,
      clock,
      logger: { ...silentLog, warn: (fields: object) => void warned.push(fields) },
      registry: new Registry(),
      ...(maxKnown === undefined ? {} : { maxKnown }),
    })
    const hold = (amount: bigint, who: { userId?: string; tokenId?: string } = {}) =>
      made.reserve({ tenantId, userId: 'user_1', tokenId: 'tok_1', ...who }, 'USD', amount * PICO)
    return { ...made, exchange: gauges.exchange, hold, noticed: facts.noticed }
  }
  /** What the ledger has from a position on. */
  const settled = async (amount: bigint, position = 1n, more: object = {}): Promise<void> => {
    const { userId, tokenId, atMs } = { userId: 'user_1', tokenId: 'tok_1', atMs: nowMs, ...more }
    for (const [table, unitMs] of Object.entries(UNIT_MS)) {
      const begins = new Date(Math.floor(atMs / unitMs) * unitMs)
      await pool.query(
        `insert into ledger.summed_${table} values ($1, $2, 'USD', 'sku', 'token', 'm', $3, $4, 's', 1, 1, 1, $5)
         on conflict do nothing`,
        [tenantId, begins, userId, tokenId, amount.toString()],
      )
    }
    await pool.query(
      `update engine.checkpoints set commit = $1, prepare = $1 where name = 'ledger'`,
      [position],
    )
  }
  return { tenantId, replica, settled, set, warned, pass: (ms: number) => void (nowMs += ms) }
}

t.test('a user without a budget has no budget hold', async (t) => {
  const { replica } = tenantOf([ofUser('user_2', '1'), ofTenant({ currency: 'CNY', hard: '1' })])
  t.equal(await replica().hold(1_000n), undefined)
})

t.test('a budget is reduced by holds and spending until its period ends', async (t) => {
  const { replica, settled, pass } = tenantOf([ofTenant()])
  await settled(30n)
  const { hold } = replica()
  const first = await hold(60n)
  await t.rejects(hold(11n), {
    ...reached,
    message:
      'the budget per day of the tenant is 100 USD: 10 USD of it is left, the request needs a hold of 11 USD; the next day begins at 2026-03-05T00:00:00.000Z',
    details: { available: '10', hold: '11', limitedBy: 'tenant_day', limit: '100' },
  })
  first?.release('failed')
  const second = await hold(70n)
  second?.commit({ amountPico: 20n * PICO, tokens: 0, position: 5n })
  await t.rejects(hold(51n), reached, 'settled, and not in the ledger yet')
  await pool.query(`update engine.checkpoints set commit = 5, prepare = 5 where name = 'ledger'`)
  await pool.query(`update ledger.summed_days set amount = 50 where amount = 30`)
  pass(3 * SECOND_MS)
  await t.rejects(hold(51n), reached, 'and once it is, not twice')
  ;(await hold(50n))?.release('failed')
})

t.test('of concurrent holds that do not fit together, as many as fit are admitted', async (t) => {
  const { hold } = tenantOf([ofTenant()]).replica()
  const ends = await Promise.allSettled(Array.from({ length: 20 }, () => hold(30n)))
  t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 3)
})

t.test('the budgets of the spending user, token and tenant apply, and no other', async (t) => {
  const { replica, settled } = tenantOf([
    ofTenant(),
    ofUser('user_1', '50'),
    ofToken('tok_1', '20'),
    ofToken('tok_9', '0'),
  ])
  await settled(5n)
  await settled(7n, 1n, { tokenId: 'tok_2' })
  await settled(30n, 1n, { userId: 'user_2', tokenId: 'tok_3' })
  const { hold } = replica()
  await t.rejects(hold(16n), { ...reached, details: { limitedBy: 'token_day', available: '15' } })
  await hold(15n)
  await t.rejects(hold(24n, { tokenId: 'tok_2' }), {
    ...reached,
    details: { limitedBy: 'user_day', available: '23' },
  })
  await hold(23n, { tokenId: 'tok_2' })
  await t.rejects(hold(21n, { userId: 'user_2', tokenId: 'tok_3' }), {
    ...reached,
    details: { limitedBy: 'tenant_day', available: '20' },
  })
  await t.rejects(hold(0n, { userId: 'user_2', tokenId: 'tok_9' }), reached, 'nothing at all')
})

t.test('holds of tasks count against budgets, also before their token is known', async (t) => {
  const { replica, tenantId } = tenantOf([ofToken('tok_1', '20')])
  const hold = `insert into ledger.holds values ($1, $2, 'USD', 15, $3, now(), null, 1)`
  await pool.query(hold, [`task-${tenantId}`, tenantId, 'placed'])
  await pool.query(hold, [`ended-${tenantId}`, tenantId, 'captured'])
  const { hold: ask } = replica()
  await t.rejects(ask(6n), { ...reached, details: { available: '5' } })
  await ask(5n)
})

t.test('a budget starts again with its day and its month', async (t) => {
  const month = ofTenant({ period: 'month', hard: '120' })
  const { replica, settled, pass } = tenantOf([ofTenant(), month], 'Asia/Kolkata')
  await settled(90n)
  const { hold } = replica()
  await t.rejects(hold(11n), { ...reached, details: { resetsAt: '2026-03-04T18:30:00.000Z' } })
  // Half past six in the evening of UTC a day begins there.
  pass(31 * 60 * SECOND_MS)
  await t.rejects(hold(31n), {
    ...reached,
    details: { limitedBy: 'tenant_month', available: '30', resetsAt: '2026-03-31T18:30:00.000Z' },
  })
  ;(await hold(30n))?.commit({ amountPico: 30n * PICO, tokens: 0, position: undefined })
  pass(28 * UNIT_MS.days)
  ;(await hold(100n))?.release('failed')
})

t.test('a changed budget applies at once', async (t) => {
  const { replica, set } = tenantOf([ofTenant()])
  const { hold, noticed } = replica()
  ;(await hold(90n))?.commit({ amountPico: 90n * PICO, tokens: 0, position: undefined })
  noticed(set([ofTenant({ hard: '95' })]))
  await t.rejects(hold(6n), { ...reached, details: { limit: '95', available: '5' } })
  noticed(set([ofTenant({ hard: '1000' })]))
  ;(await hold(900n))?.release('failed')
  noticed(set([]))
  t.equal(await hold(5_000n), undefined)
})

t.test('replicas share one budget, but for the holds admitted within a second', async (t) => {
  const { replica, pass } = tenantOf([ofTenant()])
  const [here, there] = [replica(), replica()]
  const holdsHere = await Promise.all([here.hold(60n), here.hold(40n)])
  // Unseen by the other: at most the budget once more for each further replica.
  ;(await there.hold(70n))?.release('failed')
  await here.exchange()
  pass(3 * SECOND_MS)
  await t.rejects(there.hold(1n), { ...reached, details: { available: '0' } })
  for (const hold of holdsHere)
    hold?.commit({ amountPico: 10n * PICO, tokens: 0, position: undefined })
  await here.exchange()
  pass(3 * SECOND_MS)
  await t.rejects(there.hold(81n), reached, 'what it settled counts there too')
  ;(await there.hold(80n))?.release('failed')
  // Three at once, nothing known of each other.
  pass(UNIT_MS.days)
  const three = [replica(), replica(), replica()]
  const asked = three.flatMap(({ hold }) => Array.from({ length: 5 }, () => hold(30n)))
  const admitted = (await Promise.allSettled(asked)).filter(({ status }) => status === 'fulfilled')
  t.ok(admitted.length <= 3 * 3, `${admitted.length} of 15`)
  for (const each of three) await each.exchange()
  pass(3 * SECOND_MS)
  for (const { hold } of three) await t.rejects(hold(30n), reached)
})

t.test('holds of a dead replica end after a while', async (t) => {
  const { replica, pass, tenantId } = tenantOf([ofTenant()])
  const dead = replica()
  await dead.hold(90n)
  await dead.exchange()
  const { hold } = replica()
  await t.rejects(hold(20n), reached)
  await pool.query(
    `update ops.text_spending set told_at = told_at - interval '31 s' where tenant_id like $1`,
    [`${tenantId}%`],
  )
  pass(3 * SECOND_MS)
  await t.rejects(hold(20n), reached, 'it may have settled what it did not come to tell')
  await closeSilentReplicas(pool, 0n, () => Promise.resolve(1n))
  await pool.query(`update engine.checkpoints set commit = 0, prepare = 0 where name = 'ledger'`)
  pass(3 * SECOND_MS)
  await t.rejects(hold(20n), reached, 'and the ledger lacks it')
  await pool.query(`update engine.checkpoints set commit = 1, prepare = 1 where name = 'ledger'`)
  pass(3 * SECOND_MS)
  ;(await hold(20n))?.release('failed')
})

t.test('a budget that a request waits for is not evicted', async (t) => {
  const { replica, pass } = tenantOf([ofUser('user_1', '100'), ofUser('user_2', '100')])
  const { hold } = replica(1)
  ;(await hold(1n))?.release('failed')
  pass(31 * SECOND_MS)
  const waiting = hold(60n)
  await t.rejects(hold(1n, { userId: 'user_2' }), { code: 'database_unavailable' })
  await waiting
  await t.rejects(hold(60n), reached)
})

t.test('503 while budgets cannot be read', async (t) => {
  const { replica, pass } = tenantOf([ofTenant()])
  const { hold } = replica()
  await hold(1n)
  await pool.query('alter table ledger.summed_days rename to days_away')
  pass(10 * SECOND_MS)
  await hold(1n)
  pass(25 * SECOND_MS)
  await t.rejects(hold(1n), { code: 'database_unavailable' })
  await pool.query('alter table ledger.days_away rename to summed_days')
  pass(100)
  ;(await hold(1n))?.release('failed')
})

t.test('a soft budget refuses no call, and is reported once a day', async (t) => {
  const { hard: _hard, ...softAlone } = ofTenant({ soft: '50' })
  const { replica, settled, warned, pass } = tenantOf([softAlone])
  const { hold } = replica()
  await hold(49n)
  t.same(warned, [])
  await settled(10n)
  pass(3 * SECOND_MS)
  await hold(1_000n)
  await hold(1_000n)
  t.match(warned, [{ subject: { kind: 'tenant' }, period: 'day', soft: '50', spent: '59' }])
  t.equal(warned.length, 1)
  pass(UNIT_MS.days)
  ;(await hold(60n))?.commit({ amountPico: 60n * PICO, tokens: 0, position: undefined })
  await hold(1n)
  t.equal(warned.length, 2, formatAmount(60n * PICO))
})

t.test('a settlement that reaches the ledger while budgets are read is counted once', async (t) => {
  const { replica, settled, pass } = tenantOf([ofTenant()])
  await settled(0n)
  const there = replica()
  ;(await there.hold(60n))?.commit({ amountPico: 60n * PICO, tokens: 0, position: 9n })
  await there.exchange()
  /** The ledger takes the settlement, and the other replica reports it no more. */
  const project = async (): Promise<void> => {
    await pool.query('update ledger.summed_days set amount = 60 where amount = 0')
    await pool.query(`update engine.checkpoints set commit = 9, prepare = 9 where name = 'ledger'`)
    pass(3 * SECOND_MS)
    await there.exchange()
    await there.exchange()
  }
  let reads = 0
  const between = new Proxy(pool, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const work = value.bind(target) as (...given: readonly unknown[]) => unknown
      if (name !== 'query') return work
      return async (...query: readonly unknown[]) => {
        const answer = await work(...query)
        // What the ledger has of the period.
        if (/ledger\.summed_/.test(JSON.stringify(query[0])) && (reads += 1) === 1) await project()
        return answer
      }
    },
  })
  const here = replica(undefined, between)
  await t.rejects(here.hold(41n), reached)
  t.ok(reads > 1, `${reads} reads`)
  ;(await here.hold(40n))?.release('failed')
})
