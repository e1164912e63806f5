import { Pool } from 'pg'
import t, { type Test } from 'tap'
import type { Used } from '../../../../src/app/spending/reservation.ts'
import { type Holder, type Limits, noLimits } from '../../../../src/app/spending/throttle/limits.ts'
import {
  purgeRateUse,
  type Share,
  shareThrough,
} from '../../../../src/app/spending/throttle/allowance.ts'
import { createRates, type Rates } from '../../../../src/app/spending/throttle/rates.ts'
import { startExchangeLoop } from '../../../../src/app/queue/exchange-loop.ts'
import { migrateOps } from '../../../../src/app/migrations.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { until } from '../../../helpers/eventually.ts'
import { acquireDatabase } from '../../../helpers/postgres.ts'

/** Time of the gateways and of Postgres: it passes only when a test says so. */
let nowMs = Date.UTC(2035, 0, 1)
const clock = { nowMs: () => nowMs }

/** Lets time pass at Postgres alone. */
const passAtPostgres = (pool: Pool, ms: number) =>
  pool.query(`update public.clock set at = at + $1 * interval '1 millisecond'`, [ms])

async function testPool(t: Test): Promise<Pool> {
  const database = await acquireDatabase()
  const pool = new Pool({
    connectionString: database.url,
    max: 8,
    options: '-c search_path=public,pg_catalog',
  })
  pool.on('error', () => undefined)
  await migrateOps(pool)
  // Found before the function of Postgres.
  await pool.query(`
    create table public.clock (at timestamptz not null);
    insert into public.clock values (to_timestamp(${nowMs} / 1000.0));
    create function public.clock_timestamp() returns timestamptz language sql volatile as
      'select at from public.clock'`)
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  return pool
}

/** A call that came to its end. */
const usedTokens = (tokens: number): Used => ({ amountPico: 0n, tokens, position: undefined })
const rates = (): Rates => createRates(clock)
const holder = (limits: Partial<Limits>, id: string): Holder => ({
  whose: 'token',
  id,
  limits: { ...noLimits, ...limits },
})
const rpm = (requestsPerMinute: number, id = 'token_1') => holder({ requestsPerMinute }, id)
const sharingOf = (of: Rates, share: Share, logger = silentLog) =>
  startExchangeLoop({ exchange: () => of.exchange(share), of: 'rate limits', logger })

/** How many are admitted at once. */
function admitted(of: Rates, who: ReturnType<typeof rpm>, tries: number): number {
  let count = 0
  for (let n = 0; n < tries; n += 1)
    try {
      of.take([who])
      count += 1
    } catch {
      continue
    }
  return count
}

/** Interval at which a saturated limit is used; several requests flow back in it. */
const LOOK_MS = 100

t.test('limits shared through Postgres', async (t) => {
  const pool = await testPool(t)
  const share = shareThrough(pool)
  const rowOf = async (holderId: string) => {
    const { rows } = await pool.query('select used from ops.rate_use where holder = $1', [holderId])
    return rows[0]?.used as number | undefined
  }

  await t.test('requests used at one replica are not available at another', async (t) => {
    const [one, two] = [rates(), rates()]
    const who = rpm(10, 'shared')
    t.equal(admitted(one, who, 7), 7)
    t.equal(admitted(two, who, 1), 1)
    await one.exchange(share)
    await two.exchange(share)
    t.equal(admitted(two, who, 20), 2)
    await two.exchange(share)
    await one.exchange(share)
    t.equal(admitted(one, who, 20), 0)
  })

  await t.test('a process that restarts learns of earlier use', async (t) => {
    const who = rpm(10, 'restarted')
    const first = rates()
    admitted(first, who, 9)
    await first.exchange(share)
    const second = rates()
    t.equal(admitted(second, who, 1), 1)
    await second.exchange(share)
    t.equal(second.statuses(who).requests?.remaining, 0)
  })

  await t.test('use refills by the clock of Postgres', async (t) => {
    const who = rpm(600, 'flowing')
    const one = rates()
    admitted(one, who, 300)
    await one.exchange(share)
    await passAtPostgres(pool, 10_000)
    await one.exchange(share)
    t.equal(one.statuses(who).requests?.remaining, 400, '10 s after 300 were used')
  })

  await t.test('a Postgres clock that is set back an hour refuses no caller', async (t) => {
    const who = rpm(600, 'set-back')
    const one = rates()
    admitted(one, who, 600)
    await one.exchange(share)
    await pool.query(`update ops.rate_use set at = at + interval '1 hour' where holder = $1`, [
      'set-back',
    ])
    await one.exchange(share)
    t.equal(one.statuses(who).requests?.remaining, 600)
  })

  await t.test('use by both replicas beyond the limit is paid back by both', async (t) => {
    const who = rpm(100, 'overshot')
    const [one, two] = [rates(), rates()]
    t.equal(admitted(one, who, 200) + admitted(two, who, 200), 200)
    await one.exchange(share)
    await two.exchange(share)
    t.equal(await rowOf('overshot'), 200)
    t.equal(two.statuses(who).requests?.resetMs, 120_000, 'until both have paid back')
    t.equal(admitted(two, who, 10), 0)
  })

  await t.test(
    'at the limit, two replicas admit the refill and about a second’s worth more',
    async (t) => {
      const who = rpm(1_200, 'saturated')
      const [first, second] = [rates(), rates()]
      const replicas = [first, second]
      admitted(first, who, 2_000)
      await first.exchange(share)
      second.take([who])
      await second.exchange(share)
      let count = 0
      for (let atMs = LOOK_MS; atMs <= 6_000; atMs += LOOK_MS) {
        nowMs += LOOK_MS
        await passAtPostgres(pool, LOOK_MS)
        for (const replica of replicas) count += admitted(replica, who, 50)
        // Each about once a second, one after the other.
        if (atMs % 1_000 === 0) await first.exchange(share)
        if (atMs % 1_000 === 500) await second.exchange(share)
      }
      const flowed = (6_000 / 60_000) * 1_200
      t.ok(count > flowed * 0.6, `${count} admitted of ${flowed}`)
      t.ok(count < flowed + 2 * 1.3 * 20 + 5, `${count} admitted of ${flowed}`)
    },
  )

  await t.test('released use is reported too; the sum is never below zero', async (t) => {
    const who = holder({ tokensPerMinute: 1_000 }, 'corrected')
    const one = rates()
    const taken = one.take([who], () => 800)
    await one.exchange(share)
    t.equal(await rowOf('corrected'), 800)
    taken?.commit(usedTokens(100))
    await one.exchange(share)
    t.equal(await rowOf('corrected'), 100)
  })

  await t.test('an amount released after the row was deleted gives no credit', async (t) => {
    const who = holder({ tokensPerMinute: 1_000 }, 'forgotten')
    const [one, two] = [rates(), rates()]
    const taken = one.take([who], () => 800)
    await one.exchange(share)
    await pool.query(`delete from ops.rate_use where holder = 'forgotten'`)
    taken?.release('failed')
    await one.exchange(share)
    two.take([who], () => 300)
    await two.exchange(share)
    await one.exchange(share)
    t.equal(two.statuses(who).tokens?.remaining, 700)
  })

  await t.test('many replicas that report many tokens at once all succeed', async (t) => {
    const replicas = Array.from({ length: 6 }, rates)
    const tokens = Array.from({ length: 200 }, (_, n) => rpm(1_000, `many_${n}`))
    for (let round = 0; round < 5; round += 1) {
      for (const [n, replica] of replicas.entries())
        for (const who of n % 2 === 0 ? tokens : tokens.toReversed()) replica.take([who])
      await Promise.all(replicas.map((replica) => replica.exchange(share)))
    }
    for (const replica of replicas) await replica.exchange(share)
    t.equal(replicas[0]?.statuses(tokens[0]!).requests?.remaining, 970)
  })

  await t.test('a row unused for minutes is deleted', async (t) => {
    const one = rates()
    one.take([rpm(60, 'old')])
    one.take([rpm(60, 'young')])
    await one.exchange(share)
    await pool.query(`update ops.rate_use set at = at - interval '3 minutes' where holder = 'old'`)
    await purgeRateUse(pool)
    t.equal(await rowOf('old'), undefined)
    t.ok(await rowOf('young'))
  })
})

t.test('use is shared in the background and once at the end, across outages', async (t) => {
  const pool = await testPool(t)
  const warnings: string[] = []
  const logger = {
    ...silentLog,
    warn: (_: object, message: string) => void warnings.push(message),
  }
  let isAway = true
  const through = shareThrough(pool)
  const tries: number[] = []
  const one = rates()
  const share: Share = (uses) => {
    tries.push(uses.length)
    return isAway ? Promise.reject(new Error('connection refused')) : through(uses)
  }
  const sharing = sharingOf(one, share, logger)
  const who = rpm(5)
  t.equal(admitted(one, who, 4), 4)
  await until(() => tries.length >= 2)
  t.equal(warnings.length, 1, 'an outage is said once')
  t.equal(admitted(one, who, 4), 1, 'and here the limit holds')
  isAway = false
  await sharing.stop()
  const { rows } = await pool.query('select used from ops.rate_use')
  t.equal(rows[0]?.used, 5)
})
