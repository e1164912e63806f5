import { Pool } from 'pg'
import t from 'tap'
import { createFunds } from '../../../src/app/spending/funds.ts'
import { createReplicaGauges } from '../../../src/app/spending/replica-gauges.ts'
import { startBook } from '../calls/support/book.ts'
import { until } from '../../helpers/eventually.ts'

const book = await startBook(t)
const { pool, project } = book
const broke = { code: 'insufficient_balance' }
let tenants = 0

/** A tenant with credit, and one replica to spend it with. */
async function tenantOf(creditPico: bigint, limitPico = 0n) {
  const tenantId = `tenant-${(tenants += 1)}`
  await project({ tenantId, creditPico, limitPico })
  const replica = book.replica()
  const hold = (pico: bigint) => replica.funds.reserve(tenantId, 'USD', pico)
  return { tenantId, ...replica, hold }
}

t.test('holds in flight count against the balance until they end', async (t) => {
  const { hold, pass } = await tenantOf(100n)
  const first = await hold(60n)
  await t.rejects(hold(60n), broke)
  const second = await hold(40n)
  first.release('failed')
  first.release('failed')
  await hold(60n)
  pass(150)
  await t.rejects(hold(1n), broke)
  second.release('failed')
})

t.test('of concurrent holds that do not fit together, as many as fit are admitted', async (t) => {
  const { hold } = await tenantOf(100n)
  const ends = await Promise.allSettled(Array.from({ length: 10 }, () => hold(30n)))
  t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 3)
})

t.test('a settlement counts until the ledger has it, and only once', async (t) => {
  const { tenantId, hold, pass } = await tenantOf(100n)
  const first = await hold(60n)
  first.commit({ amountPico: 30n, tokens: 0, position: 7n })
  first.release('failed')
  await t.rejects(hold(71n), broke)
  ;(await hold(70n)).release('failed')
  await project({ tenantId, creditPico: 70n, position: 7n })
  pass(3_000)
  await t.rejects(hold(71n), broke)
  ;(await hold(70n)).release('failed')
})

t.test('a settlement without a position counts for a minute', async (t) => {
  const { hold, pass } = await tenantOf(100n)
  ;(await hold(50n)).commit({ amountPico: 50n, tokens: 0, position: undefined })
  pass(30_000)
  await t.rejects(hold(51n), broke)
  pass(31_000)
  ;(await hold(51n)).release('failed')
})

t.test('a settlement that may be spooled counts until the spool is empty', async (t) => {
  const { hold, pass, exchange } = await tenantOf(100n)
  ;(await hold(50n)).commit({ amountPico: 50n, tokens: 0, position: undefined })
  pass(59_000)
  await exchange('spool')
  pass(59_000)
  await t.rejects(hold(51n), broke)
  pass(2_000)
  ;(await hold(51n)).release('failed')
})

t.test(
  'an answer dearer than its hold leaves a debt, and further calls are refused that are not free',
  async (t) => {
    const { hold, exchange } = await tenantOf(100n)
    ;(await hold(50n)).commit({ amountPico: 180n, tokens: 0, position: 9n })
    await t.rejects(hold(1n), { ...broke, details: { available: '-0.00000000008' } })
    await exchange()
    await t.rejects(hold(1n), broke)
    ;(await hold(0n)).release('failed')
  },
)

t.test('new credit is seen before a call is refused', async (t) => {
  const { tenantId, hold, pass } = await tenantOf(10n)
  await t.rejects(hold(50n), { ...broke, details: { currency: 'USD', available: '0.00000000001' } })
  await project({ tenantId, creditPico: 100n, position: 1n })
  pass(150)
  ;(await hold(50n)).release('failed')
})

t.test(
  'calls without balance, in debt or in another currency are refused unless they are free',
  async (t) => {
    for (const creditPico of [0n, -5n]) {
      const { hold } = await tenantOf(creditPico)
      await t.rejects(hold(1n), broke)
      ;(await hold(0n)).release('failed')
    }
    const { tenantId, funds } = await tenantOf(100n)
    await t.rejects(funds.reserve(tenantId, 'CNY', 1n), broke)
    await t.rejects(funds.reserve('tenant-nobody', 'USD', 1n), broke)
  },
)

t.test('a credit limit can be spent to its end and not beyond', async (t) => {
  const { hold } = await tenantOf(-20n, 100n)
  await hold(80n)
  await t.rejects(hold(1n), broke)
})

t.test('a call that is small against the balance needs no query', async (t) => {
  const { hold, pass } = await tenantOf(10_000n)
  ;(await hold(1n)).release('failed')
  let asked = 0
  const count = () => (asked += 1)
  pool.on('acquire', count)
  await Promise.all(Array.from({ length: 50 }, () => hold(1n)))
  t.equal(asked, 0)
  pass(1_500)
  await hold(1n)
  await until(() => asked > 0)
  pool.off('acquire', count)
})

t.test('one exchange renews the balances of all tenants with calls since the last', async (t) => {
  const { funds, exchange, pass } = book.replica()
  const ids = Array.from({ length: 20 }, (_, n) => `exchanged-${n}`)
  for (const tenantId of ids) await project({ tenantId, creditPico: 10_000n })
  const call = async (tenantId: string) =>
    (await funds.reserve(tenantId, 'USD', 1n)).release('failed')
  for (const tenantId of ids) await call(tenantId)
  let asked = 0
  const count = () => (asked += 1)
  pool.on('acquire', count)
  for (const _second of [1, 2, 3]) {
    pass(1_000)
    await exchange()
    for (const tenantId of ids) await call(tenantId)
  }
  t.equal(
    asked,
    4,
    'all balances once, then one look a second at what moved, and nothing of a call',
  )
  for (let second = 0; second < 20; second += 1) {
    pass(1_000)
    await exchange()
  }
  t.equal(asked, 14, 'for ten seconds after the last call, and then none')
  pool.off('acquire', count)
})

t.test('a tenant with a waiting call or a hold is not evicted', async (t) => {
  const [waiting, ...others] = [0, 1, 2].map(() => `tenant-${(tenants += 1)}`)
  for (const tenantId of [waiting!, ...others]) await project({ tenantId, creditPico: 100n })
  const { funds } = book.replica({ maxTenants: 2 })
  const locked = await pool.connect()
  t.teardown(() => locked.release())
  await locked.query(`begin; select pg_advisory_xact_lock(7207002, hashtext($$${waiting}\nUSD$$))`)
  const held = funds.reserve(waiting!, 'USD', 60n)
  for (const tenantId of others) (await funds.reserve(tenantId, 'USD', 1n)).release('failed')
  await locked.query('commit')
  await held
  for (const tenantId of others) (await funds.reserve(tenantId, 'USD', 1n)).release('failed')
  await t.rejects(funds.reserve(waiting!, 'USD', 60n), broke)
})

t.test('a tenant with an unpriced call in flight is not evicted', async (t) => {
  const [free, ...others] = [0, 1, 2].map(() => `tenant-${(tenants += 1)}`)
  for (const tenantId of [free!, ...others]) await project({ tenantId, creditPico: 100n })
  const { funds } = book.replica({ maxTenants: 2 })
  const held = await funds.reserve(free!, 'USD', 0n)
  for (const tenantId of others) (await funds.reserve(tenantId, 'USD', 1n)).release('failed')
  held.commit({ amountPico: 60n, tokens: 0, position: 1n })
  await t.rejects(funds.reserve(free!, 'USD', 60n), broke)
})

t.test('without the database a twentieth of the last balance serves for 30 s', async (t) => {
  const tenantId = `tenant-${(tenants += 1)}`
  await project({ tenantId, creditPico: 1_000n })
  const own = new Pool(pool.options)
  const { funds, pass } = book.replica({ pool: own })
  const hold = (pico: bigint) => funds.reserve(tenantId, 'USD', pico)
  ;(await hold(1n)).release('failed')
  await own.end()
  pass(20_000)
  await hold(40n)
  await hold(10n)
  await t.rejects(hold(1n), { code: 'database_unavailable' }, 'nobody could be told of it')
  pass(11_000)
  await t.rejects(hold(0n), { code: 'database_unavailable' })
  const never = book.replica({ pool: own })
  await t.rejects(never.funds.reserve(tenantId, 'USD', 1n), { code: 'database_unavailable' })
})

t.test('the whole balance is spendable up to 30 s of lag, and none beyond', async (t) => {
  const { hold, lag } = await tenantOf(1_000n)
  lag(30_000)
  ;(await hold(900n)).release('failed')
  lag(30_001)
  await t.rejects(hold(1n), { code: 'read_model_behind', details: { reason: /30000 ms behind/ } })
  lag(Infinity)
  await t.rejects(hold(1n), { code: 'read_model_behind' })
  lag(0)
  ;(await hold(1n)).release('failed')
})

t.test('the lag of the ledger is measured while calls reserve, and else every 10 s', async (t) => {
  const tenantId = 'looked-at'
  await project({ tenantId, creditPico: 100n })
  const clock = { nowMs: () => 1_000_000 }
  let lagMs = 0
  let looks = 0
  const funds = createFunds({
    pool,
    gauges: createReplicaGauges({ db: pool, replica: 'looking', clock }),
    freshness: {
      lagMs: () => lagMs,
      look: async () => {
        looks += 1
        return Promise.resolve()
      },
      refuseBehind: () => Promise.resolve(),
    },
  })
  funds.lookAtLedger()
  t.equal(looks, 0, 'no call has reserved')
  ;(await funds.reserve(tenantId, 'USD', 1n)).release('failed')
  funds.lookAtLedger()
  funds.lookAtLedger()
  t.equal(looks, 1, 'once after a call')
  lagMs = 10_000
  funds.lookAtLedger()
  t.equal(looks, 2, 'without calls when the last look is old')
})
