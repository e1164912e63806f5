import { silentLog } from '../../../src/kernel/log.ts'
import t from 'tap'
import { createAdmissions } from '../../../src/app/spending/admission.ts'
import {
  closeSilentReplicas,
  purgeSpending,
  spoolEmptied,
  reportSpending,
} from '../../../src/app/spending/replica-reports.ts'
import { createReservationSweep } from '../../../src/app/tasks/watch/reservations.ts'
import type { Reservation } from '../../../src/app/spending/reservation.ts'
import { UNREPORTED_SHARE } from '../../../src/app/spending/funds.ts'
import { createReplicaGauges } from '../../../src/app/spending/replica-gauges.ts'
import { until } from '../../helpers/eventually.ts'
import { giveUpLostSpools, readSilentSpools } from '../../../src/app/spending/lost-spools.ts'
import type { NewEvent } from '../../../src/eventlog/log/types.ts'
import { DomainError, isDomainError } from '../../../src/kernel/errors.ts'
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
  const hold = (of: BookReplica, pico: bigint) => of.funds.reserve(tenantId, 'USD', pico)
  return { tenantId, replicas, one, two, three, hold }
}

/** As many holds as are admitted, each replica asking for as many at once. */
async function holdAll(
  replicas: readonly BookReplica[],
  tenantId: string,
  wish: { readonly each: number; readonly pico: bigint },
): Promise<readonly Reservation[]> {
  const asked = replicas.flatMap(({ funds }) =>
    Array.from({ length: wish.each }, () => funds.reserve(tenantId, 'USD', wish.pico)),
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

t.test('holds and settlements of one replica cannot be spent by another', async (t) => {
  const { one, two, hold } = await sharedTenant(100n)
  const first = await hold(one, 60n)
  await t.rejects(hold(two, 41n), broke)
  first.commit({ amountPico: 60n, tokens: 0, position: 5n })
  await one.exchange()
  two.pass(150)
  await t.rejects(hold(two, 41n), broke, 'settled, and not in the ledger')
  ;(await hold(two, 40n)).release('failed')
})

t.test('a replica that waits for the lock decides by the state under the lock', async (t) => {
  const { tenantId, one, hold } = await sharedTenant(100n)
  await hold(one, 1n)
  const other = await pool.connect()
  t.teardown(() => other.release())
  await other.query(`begin; select pg_advisory_xact_lock(7207002, hashtext($$${tenantId}\nUSD$$))`)
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
  await one.exchange()
  const held = {
    name: tenantId,
    unit: 'USD' as const,
    held: 90n,
    settled: 0n,
    position: 0n,
    spool: undefined,
  }
  await reportSpending(other, { replica: 'the other', turn: 1 }, [held])
  await other.query('commit')
  await refused
})

t.test('a released hold is free for other replicas once it is reported', async (t) => {
  const { one, two, hold } = await sharedTenant(100n)
  const first = await hold(one, 60n)
  await t.rejects(hold(two, 60n), broke)
  first.release('failed')
  await one.exchange()
  two.pass(150)
  ;(await hold(two, 100n)).release('failed')
})

t.test('a settlement is reported until the ledger has it, and counted once', async () => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  ;(await hold(one, 60n)).commit({ amountPico: 60n, tokens: 0, position: 8n })
  await one.exchange()
  await project({ tenantId, creditPico: 40n, position: 8n })
  ;(await hold(two, 40n)).release('failed')
})

t.test('small holds against half a balance: the overspend is within its bound', async (t) => {
  const CREDIT = 3_000n
  const { tenantId, replicas } = await sharedTenant(CREDIT)
  // All have read the whole balance, and none has reported anything.
  for (const { funds } of replicas) (await funds.reserve(tenantId, 'USD', 1n)).release('failed')
  const admitted: Reservation[] = []
  for (let round = 0; round < 100; round += 1) {
    admitted.push(...(await holdAll(replicas, tenantId, { each: 10, pico: 2n })))
    if (round % 10 === 9) for (const { exchange } of replicas) await exchange()
  }
  const held = BigInt(admitted.length) * 2n
  const bound = (2n * 2n * CREDIT) / UNREPORTED_SHARE
  t.comment(`${held} of ${CREDIT} held, ${held - CREDIT} too much; the bound is ${bound}`)
  t.ok(held <= CREDIT + bound)
  t.ok(held >= CREDIT - 2n, 'and hardly anything is left')
})

t.test('a dead replica holds nothing after 30 s of the database’s clock', async (t) => {
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
  await closeSilent(0n)
  two.pass(150)
  ;(await hold(two, 100n)).release('failed')
})

t.test('a dead replica holds nothing after the database’s clock was set back', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  await hold(one, 60n)
  await t.rejects(hold(two, 41n), broke)
  await pool.query(
    `update ops.text_spending set told_at = told_at + interval '1 hour' where tenant_id = $1`,
    [tenantId],
  )
  await closeSilent(0n)
  two.pass(150)
  ;(await hold(two, 100n)).release('failed')
  await purgeSpending(pool, 0n)
  t.notOk((await heldAsReported(tenantId)).includes(60n))
})

/** What the replicas said that calls of the tenant hold. */
async function heldAsReported(tenantId: string): Promise<readonly bigint[]> {
  const { rows } = await pool.query<{ held: string }>(
    'select held::text from ops.text_spending where tenant_id = $1',
    [tenantId],
  )
  return rows.map(({ held }) => parseAmount(held))
}

/** The replicas of a tenant fell silent an hour ago. */
async function die(tenantId: string): Promise<void> {
  await pool.query(
    `update ops.text_spending set told_at = told_at - interval '1 hour' where tenant_id = $1`,
    [tenantId],
  )
}

/** A sweep notes how far the log reaches. */
const closeSilent = (logEnd: bigint, ledger = 0n) =>
  closeSilentReplicas(pool, ledger, () => Promise.resolve(logEnd))

t.test('a reported settlement of a dead replica counts until the ledger has it', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  ;(await hold(one, 60n)).commit({ amountPico: 60n, tokens: 0, position: 20n })
  await one.exchange()
  await die(tenantId)
  await purgeSpending(pool, 30n)
  await t.rejects(hold(two, 41n), broke, 'the log was not asked yet')
  await closeSilent(20n)
  await purgeSpending(pool, 19n)
  two.pass(150)
  await t.rejects(hold(two, 41n), broke)
  await purgeSpending(pool, 20n)
  t.same(await heldAsReported(tenantId), [])
})

t.test('an unreported settlement of a dead replica is held until the ledger has it', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  ;(await hold(one, 60n)).commit({ amountPico: 60n, tokens: 0, position: 20n })
  await die(tenantId)
  const sweep = createReservationSweep({
    pool,
    log: {
      endPosition: () => Promise.resolve(20n),
      readStream: () => Promise.resolve([]),
      append: () => Promise.reject(new Error('nothing is given up here')),
    },
    logger: silentLog,
    monotonic: { nowMs: () => 0 },
    admissions: createAdmissions(pool),
  })
  await sweep()
  await t.rejects(hold(two, 41n), broke)
  await project({ tenantId, creditPico: 40n, position: 20n })
  two.pass(150)
  await t.rejects(hold(two, 41n), { ...broke, details: { available: formatAmount(40n) } })
  ;(await hold(two, 40n)).release('failed')
})

t.test('after the log went back a dead replica is waited for up to its present end', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  ;(await hold(one, 60n)).commit({ amountPico: 60n, tokens: 0, position: 900n })
  await one.exchange()
  await die(tenantId)
  await closeSilent(1_000n)
  await t.rejects(hold(two, 41n), broke)
  await closeSilent(30n, 1_000n)
  await purgeSpending(pool, 30n)
  t.strictSame((await heldAsReported(tenantId)).length, 1, 'an end that was reached stays')
  await closeSilent(30n, 30n)
  await closeSilent(40n, 29n)
  await purgeSpending(pool, 30n)
  t.same(await heldAsReported(tenantId), [])
})

t.test(
  'a settlement of a dead replica without a position counts until the ledger passed that time',
  async (t) => {
    const { tenantId, one, two, hold } = await sharedTenant(100n)
    ;(await hold(one, 60n)).commit({ amountPico: 60n, tokens: 0, position: undefined })
    await one.exchange()
    await die(tenantId)
    await closeSilent(30n)
    await purgeSpending(pool, 29n)
    await t.rejects(hold(two, 41n), broke)
    await purgeSpending(pool, 30n)
    t.same(await heldAsReported(tenantId), [])
  },
)

t.test(
  'spooled settlements of a dead replica count until they are in the log and the ledger',
  async (t) => {
    const { tenantId, one, two, hold } = await sharedTenant(100n)
    const inFlight = await hold(one, 10n)
    ;(await hold(one, 60n)).commit({ amountPico: 60n, tokens: 0, position: undefined })
    await one.exchange('the spool')
    await die(tenantId)
    await closeSilent(35n)
    await project({ tenantId, creditPico: 100n, position: 35n })
    await purgeSpending(pool, 35n)
    await t.rejects(hold(two, 41n), broke, 'it waits there')
    ;(await hold(two, 40n)).release('failed')
    await spoolEmptied(pool, 'another')
    await spoolEmptied(pool, 'the spool')
    await closeSilent(40n)
    await purgeSpending(pool, 39n)
    two.pass(150)
    await t.rejects(hold(two, 41n), broke, 'it is in the log')
    await project({ tenantId, creditPico: 40n, position: 40n })
    two.pass(150)
    ;(await hold(two, 40n)).release('failed')
    await purgeSpending(pool, 40n)
    t.notOk((await heldAsReported(tenantId)).includes(10n))
    inFlight.release('failed')
  },
)

t.test('a lost spool is waited for a week', async (t) => {
  const { tenantId, one, hold } = await sharedTenant(100n)
  ;(await hold(one, 60n)).commit({ amountPico: 60n, tokens: 0, position: undefined })
  await one.exchange('the lost spool')
  const aged = (days: number) =>
    pool.query(
      `update ops.text_spending set told_at = clock_timestamp() - $2 * interval '1 day'
       where tenant_id = $1`,
      [tenantId, days],
    )
  await aged(6.9)
  await closeSilent(50n)
  await purgeSpending(pool, 60n)
  const appended: (readonly [string, readonly NewEvent[]])[] = []
  const log: Parameters<typeof giveUpLostSpools>[1] = {
    append: async (stream, events) => {
      appended.push([stream, events])
      throw new Error('the log is away')
    },
  }
  t.same(await giveUpLostSpools(pool, log), [])
  t.same(await heldAsReported(tenantId), [0n])
  const silent = (await readSilentSpools(pool)).find(({ currency }) => currency === 'USD')
  t.match(silent, { spools: 1, amount: formatAmount(60n) })
  t.ok((silent?.oldestSeconds ?? 0) > 6.8 * 86_400)
  await aged(7.1)
  await t.rejects(giveUpLostSpools(pool, log), /away/)
  t.same(await heldAsReported(tenantId), [0n], 'nothing is dropped without its event')
  const taken: typeof log = {
    append: async (stream, events) => {
      appended.push([stream, events])
      throw new DomainError('wrong_expected_revision', 'it is there', {})
    },
  }
  const [event] = await giveUpLostSpools(pool, taken)
  t.match(event, {
    type: 'SpoolGivenUp',
    data: { tenantId, currency: 'USD', amount: formatAmount(60n), spool: 'the lost spool' },
  })
  t.equal(appended.length, 2)
  t.equal(appended[0]?.[1][0]?.id, appended[1]?.[1][0]?.id, 'a repeated one is the same event')
  t.equal(appended[0]?.[0], appended[1]?.[0])
  t.same(await heldAsReported(tenantId), [])
  t.same(await giveUpLostSpools(pool, log), [])
})

t.test('a frozen replica that resumes does not count as dead', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(100n)
  const inFlight = await hold(one, 60n)
  await die(tenantId)
  // It reports again while the log is asked, and once more after it was taken for dead.
  await closeSilentReplicas(pool, 0n, async () => {
    one.pass(A_DAY_MS)
    await one.exchange()
    return 0n
  })
  await t.rejects(hold(two, 41n), broke)
  await die(tenantId)
  await closeSilent(0n)
  one.pass(A_DAY_MS)
  await one.exchange()
  two.pass(150)
  await t.rejects(hold(two, 41n), broke)
  inFlight.release('failed')
})

/** The rows of the replicas, by how often each was written. */
async function writtenRows(tenantId: string): Promise<readonly (readonly [string, string])[]> {
  const { rows } = await pool.query<{ turn: string; settled: string }>(
    'select turn, settled::text from ops.text_spending where tenant_id = $1 order by replica',
    [tenantId],
  )
  return rows.map(({ turn, settled }) => [turn, settled])
}

t.test('a row of a report is written when it changed, and every few seconds', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(1_000n)
  const first = await hold(one, 1n)
  await one.exchange()
  const written = await writtenRows(tenantId)
  t.equal(written.length, 1)
  for (const _second of [1, 2]) {
    one.pass(1_000)
    await one.exchange()
  }
  t.same(await writtenRows(tenantId), written, 'nothing changed')
  one.pass(1_000)
  await one.exchange()
  t.strictNotSame(await writtenRows(tenantId), written, 'it lives')
  first.commit({ amountPico: 1n, tokens: 0, position: 3n })
  one.pass(1_000)
  await one.exchange()
  const settled = await writtenRows(tenantId)
  t.match(settled, [[/./, formatAmount(1n)]])
  await project({ tenantId, creditPico: 999n, position: 3n })
  one.pass(9_000)
  await one.exchange()
  t.same(await writtenRows(tenantId), settled, 'the ledger has it: the row says nothing more')
  await t.rejects(hold(two, 1_000n), { ...broke, details: { available: formatAmount(999n) } })
})

t.test('a settlement that the ledger has before a report is in no report', async (t) => {
  const { tenantId, one, two, hold } = await sharedTenant(1_000n)
  ;(await hold(one, 1n)).commit({ amountPico: 1n, tokens: 0, position: 4n })
  await project({ tenantId, creditPico: 999n, position: 4n })
  await one.exchange()
  t.same(await writtenRows(tenantId), [])
  await t.rejects(hold(one, 1_000n), { ...broke, details: { available: formatAmount(999n) } })
  await t.rejects(hold(two, 1_000n), { ...broke, details: { available: formatAmount(999n) } })
})

t.test('a purge leaves rows that are reported at that moment', async (t) => {
  const { tenantId, one, hold } = await sharedTenant(100n)
  await hold(one, 60n)
  await die(tenantId)
  await closeSilent(0n)
  const other = await pool.connect()
  t.teardown(() => other.release())
  await other.query('begin')
  await other.query(
    `update ops.text_spending set told_at = clock_timestamp(), closed = null where tenant_id = $1`,
    [tenantId],
  )
  // It waits for no row that is locked.
  await purgeSpending(pool, 0n)
  await other.query('commit')
  t.same(await heldAsReported(tenantId), [60n])
})

t.test('reports of replicas survive a crash of Postgres', async (t) => {
  const { rows } = await pool.query<{ kept: string }>(
    `select relpersistence as kept from pg_class where oid = 'ops.text_spending'::regclass`,
  )
  t.same(rows, [{ kept: 'p' }])
})

t.test('a report that a later one overtook is ignored', async (t) => {
  const { tenantId } = await sharedTenant(100n)
  const report = (held: bigint) => [
    {
      name: tenantId,
      unit: 'USD' as const,
      held,
      settled: 0n,
      position: 0n,
      spool: undefined,
    },
  ]
  await reportSpending(pool, { replica: 'late', turn: 2 }, report(5n))
  await reportSpending(pool, { replica: 'late', turn: 1 }, report(9n))
  t.same(await heldAsReported(tenantId), [5n])
})

t.test('tasks and calls cannot spend each other’s holds', async (t) => {
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
  call.release('failed')
  one.pass(150)
  await t.rejects(hold(one, 66n), broke)
  ;(await hold(one, 60n)).release('failed')
})

t.test('tasks and calls at once never hold more than the balance', async (t) => {
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

t.test('a replica reports its holds before it reads those of other replicas', async (t) => {
  const tenantId = `tenant-${(tenants += 1)}`
  const clock = { nowMs: () => 0 }
  const reported: (readonly bigint[])[] = []
  const gauges = createReplicaGauges({ db: pool, replica: 'reports-first', clock })
  const known = gauges.ofKind<void>({
    report: reportSpending,
    read: async () => {
      reported.push(await heldAsReported(tenantId))
      return new Map()
    },
    maxKnown: 1,
    maxExchanged: 1,
  })
  known.of(tenantId).place('USD', 60n)
  await gauges.exchange()
  t.same(reported, [[60n]], 'of two that do so at once, one sees the other')
})

t.test('a hold whose decision was not committed is not reported', async (t) => {
  const tenantId = `tenant-${(tenants += 1)}`
  await project({ tenantId, creditPico: 100n })
  let isFailing = true
  const failing = new Proxy(pool, {
    get: (target, name) => {
      if (name !== 'connect') return bound(target, name)
      return async () =>
        new Proxy(await target.connect(), {
          get: (client, member) => {
            if (member !== 'query') return bound(client, member)
            const query = bound(client, 'query') as (...given: unknown[]) => unknown
            return (statement: unknown, ...rest: unknown[]) => {
              if (statement === 'commit' && isFailing)
                return Promise.reject(new Error('the database went away'))
              return query(statement, ...rest)
            }
          },
        })
    },
  })
  const { funds } = book.replica({ pool: failing })
  await t.rejects(funds.reserve(tenantId, 'USD', 60n), { code: 'database_unavailable' })
  isFailing = false
  await funds.reserve(tenantId, 'USD', 30n)
  t.same(
    await heldAsReported(tenantId),
    [30n],
    'the next large hold is decided under the lock again',
  )
})

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name)
  return typeof value === 'function' ? value.bind(target) : value
}
