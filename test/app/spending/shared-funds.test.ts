import t from 'tap'
import { createAdmissions } from '../../../src/app/spending/admission.ts'
import { purgeCallSpending, tellSpending } from '../../../src/app/spending/call-spending.ts'
import { UNTOLD_PART, type Hold } from '../../../src/app/spending/tenant-funds.ts'
import { until } from '../../helpers/eventually.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { type BookReplica, startBook } from '../calls/support/book.ts'

const book = await startBook(t)
const { pool, project } = book
const broke = { code: 'insufficient_balance' }
const A_DAY_MS = 86_400_000
let tenants = 0

/** A tenant with credit that three replicas spend, whose clocks are days apart. */
async function sharedTenant(creditPico: bigint) {
  const tenantId = `tenant-${(tenants += 1)}`
  await project({ tenantId, creditPico })
  const replicas = [0, 1, 2].map((index) => book.replica({ startMs: index * A_DAY_MS }))
  const [one, two, three] = replicas
  if (one === undefined || two === undefined || three === undefined) throw new Error('no replicas')
  const hold = (of: BookReplica, pico: bigint) => of.funds.hold(tenantId, 'USD', pico)
  return { tenantId, replicas, one, two, three, hold }
}

/** As many holds as are admitted, each replica asking for as many at once. */
async function holdAll(
  replicas: readonly BookReplica[],
  tenantId: string,
  wish: { readonly each: number; readonly pico: bigint },
): Promise<readonly Hold[]> {
  const asked = replicas.flatMap(({ funds }) =>
    Array.from({ length: wish.each }, () => funds.hold(tenantId, 'USD', wish.pico)),
  )
  const ends = await Promise.allSettled(asked)
  return ends.flatMap((end) => {
    if (end.status === 'fulfilled') return [end.value]
    if (isDomainError(end.reason) && end.reason.code === broke.code) return []
    throw end.reason
  })
}

t.test('large holds of three replicas at once are decided exactly', async (t) => {
  const { tenantId, replicas } = await sharedTenant(300n)
  const admitted = await holdAll(replicas, tenantId, { each: 20, pico: 30n })
  t.equal(admitted.length, 10)
})

t.test('what one replica was told to hold or settled, another cannot spend', async (t) => {
  const { one, two, hold } = await sharedTenant(100n)
  const first = await hold(one, 60n)
  await t.rejects(hold(two, 41n), broke)
  first.settle(60n, 5n)
  await one.funds.exchange(false)
  two.pass(150)
  await t.rejects(hold(two, 41n), broke, 'settled, and not in the ledger')
  ;(await hold(two, 40n)).withdraw()
})

t.test(
  'a replica that exchanges while it waits for the lock decides by what the lock shows',
  async (t) => {
    const { tenantId, one, hold } = await sharedTenant(100n)
    await hold(one, 1n)
    const other = await pool.connect()
    t.teardown(() => other.release())
    await other.query(
      `begin; select pg_advisory_xact_lock(7207002, hashtext($$${tenantId}\nUSD$$))`,
    )
    const refused = t.rejects(hold(one, 90n), {
      ...broke,
      details: { available: formatAmount(9n) },
    })
    await until(async () => {
      const { rows } = await pool.query(
        `select from pg_locks where locktype = 'advisory' and not granted
       and database = (select oid from pg_database where datname = current_database())`,
      )
      return rows.length > 0
    })
    one.pass(10)
    await one.funds.exchange(false)
    const held = {
      tenantId,
      currency: 'USD' as const,
      heldPico: 90n,
      settledPico: 0n,
      position: 0n,
    }
    await tellSpending(other, { replica: 'the other', turn: 1 }, [held])
    await other.query('commit')
    await refused
  },
)

t.test('what ended is free for the others once they were told', async (t) => {
  const { one, two, hold } = await sharedTenant(100n)
  const first = await hold(one, 60n)
  await t.rejects(hold(two, 60n), broke)
  first.withdraw()
  await one.funds.exchange(false)
  two.pass(150)
  ;(await hold(two, 100n)).withdraw()
})

t.test('a settlement is counted once: told until the ledger has it', async () => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  ;(await hold(one, 60n)).settle(60n, 8n)
  await one.funds.exchange(false)
  await project({ tenantId, creditPico: 40n, position: 8n })
  ;(await hold(two, 40n)).withdraw()
})

t.test(
  'small holds against a balance that covers half: what is held too much is within the bound',
  async (t) => {
    const CREDIT = 3_000n
    const { tenantId, replicas } = await sharedTenant(CREDIT)
    // All have read the whole balance, and none has told anything.
    for (const { funds } of replicas) (await funds.hold(tenantId, 'USD', 1n)).withdraw()
    const admitted: Hold[] = []
    for (let round = 0; round < 100; round += 1) {
      admitted.push(...(await holdAll(replicas, tenantId, { each: 10, pico: 2n })))
      if (round % 10 === 9) for (const { funds } of replicas) await funds.exchange(false)
    }
    const held = BigInt(admitted.length) * 2n
    const bound = (2n * 2n * CREDIT) / UNTOLD_PART
    t.comment(`${held} of ${CREDIT} held, ${held - CREDIT} too much; the bound is ${bound}`)
    t.ok(held <= CREDIT + bound)
    t.ok(held >= CREDIT - 2n, 'and hardly anything is left')
  },
)

t.test('a replica that died holds nothing after 30 s of the database’s clock', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  await hold(one, 60n)
  const aged = (seconds: number) =>
    pool.query(
      `update ops.text_spending set told_at = clock_timestamp() - $2 * interval '1 second'
       where tenant_id = $1`,
      [tenantId, seconds],
    )
  await aged(28)
  await t.rejects(hold(two, 41n), broke)
  two.pass(A_DAY_MS)
  await t.rejects(hold(two, 41n), broke, 'whatever the time is here')
  await aged(31)
  two.pass(150)
  ;(await hold(two, 100n)).withdraw()
})

t.test('a replica that died holds nothing where that clock was set back since', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  await hold(one, 60n)
  await t.rejects(hold(two, 41n), broke)
  await pool.query(
    `update ops.text_spending set told_at = told_at + interval '1 hour' where tenant_id = $1`,
    [tenantId],
  )
  two.pass(150)
  ;(await hold(two, 100n)).withdraw()
  await purgeCallSpending(pool, 0n)
  t.notOk((await heldAsTold(tenantId)).includes(60n))
})

/** What the replicas said that calls of the tenant hold. */
async function heldAsTold(tenantId: string): Promise<readonly bigint[]> {
  const { rows } = await pool.query<{ held: string }>(
    'select held::text from ops.text_spending where tenant_id = $1',
    [tenantId],
  )
  return rows.map(({ held }) => parseAmount(held))
}

t.test('what a replica settled before it died counts until the ledger has it', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  ;(await hold(one, 60n)).settle(60n, 20n)
  await one.funds.exchange(false)
  await pool.query(
    `update ops.text_spending set told_at = told_at - interval '1 hour' where tenant_id = $1`,
    [tenantId],
  )
  await purgeCallSpending(pool, 19n)
  await t.rejects(hold(two, 41n), broke)
  await purgeCallSpending(pool, 20n)
  t.same(await heldAsTold(tenantId), [])
})

t.test('a telling that was overtaken changes nothing', async (t) => {
  const { tenantId } = await sharedTenant(100n)
  const telling = (heldPico: bigint) => [
    { tenantId, currency: 'USD' as const, heldPico, settledPico: 0n, position: 0n },
  ]
  await tellSpending(pool, { replica: 'late', turn: 2 }, telling(5n))
  await tellSpending(pool, { replica: 'late', turn: 1 }, telling(9n))
  t.same(await heldAsTold(tenantId), [5n])
})

t.test('tasks are not admitted on what calls hold, nor the other way round', async (t) => {
  const { tenantId, one, hold } = await sharedTenant(100n)
  const admissions = createAdmissions(pool)
  const admit = (platformId: string, pico: bigint) =>
    admissions.admit({
      platformId: `${tenantId}-${platformId}`,
      tenantId,
      tokenId: 'token',
      userId: 'user_1',
      taskLimits: [],
      currency: 'USD',
      hold: formatAmount(pico),
    })
  const call = await hold(one, 60n)
  await t.rejects(admit('a', 41n), broke)
  await admit('b', 40n)
  call.withdraw()
  one.pass(150)
  await t.rejects(hold(one, 66n), broke)
  ;(await hold(one, 60n)).withdraw()
})

t.test('tasks and calls at once never hold more than there is', async (t) => {
  const { tenantId, replicas } = await sharedTenant(300n)
  const admissions = createAdmissions(pool)
  const tasks = Array.from({ length: 20 }, (_, index) =>
    admissions.admit({
      platformId: `${tenantId}-${index}`,
      tenantId,
      tokenId: 'token',
      userId: 'user_1',
      taskLimits: [],
      currency: 'USD',
      hold: formatAmount(30n),
    }),
  )
  const [admitted, created] = await Promise.all([
    holdAll(replicas, tenantId, { each: 7, pico: 30n }),
    Promise.allSettled(tasks),
  ])
  const some = created.filter(({ status }) => status === 'fulfilled').length
  t.equal(admitted.length + some, 10)
})
