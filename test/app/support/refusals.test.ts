import type { Pool, QueryConfig } from 'pg'
import { Registry } from 'prom-client'
import t from 'tap'
import { migrateOps } from '../../../src/app/migrations.ts'
import { countedRefusals, type RefusalFilter } from '../../../src/app/support/refusal-list.ts'
import {
  createRefusals,
  MAX_KEYS,
  oldRefusalsSql,
  purgeRefusals,
  type Refusals,
} from '../../../src/app/support/refusals.ts'
import { encodeTime } from 'ulid'
import { testPool } from '../../projections/support/database.ts'

/** A request id of a time; those that the product makes are never earlier than the one before. */
const requestIdOf = (unixMs: number): string => `req_${encodeTime(unixMs, 10)}${'0'.repeat(16)}`

const HOUR_MS = 3_600_000
const beganMs = Date.parse('2026-03-04T05:06:07.000Z')
const hourMs = Date.parse('2026-03-04T05:00:00.000Z')

const refusal = (n: number, part: Partial<Parameters<Refusals['count']>[0]> = {}) => ({
  token: { tenantId: `tenant_${n % 2}`, userId: `user_${n}`, tokenId: `tok_${n}` },
  route: 'POST /v1/chat/completions',
  code: 'parameter_invalid',
  requestId: `req_${String(n).padStart(6, '0')}`,
  param: undefined,
  ...part,
})

const everything: RefusalFilter = {
  tenantId: undefined,
  userIds: undefined,
  tokenId: undefined,
  route: undefined,
  code: undefined,
  requestId: undefined,
  fromMs: undefined,
  toMs: undefined,
}
const list = async (pool: Pool, filter: Partial<RefusalFilter> = {}) =>
  (await countedRefusals(pool, { ...everything, ...filter }, { after: undefined, limit: 1_000 }))
    .items

t.test('refusals are counted by hour, token, route and code, with the last five', async (t) => {
  const pool = await testPool(t)
  await migrateOps(pool)
  let nowMs = beganMs
  const refusals = createRefusals(pool, { nowMs: () => nowMs })
  for (let n = 1; n <= 7; n += 1) {
    nowMs += 1
    refusals.count({ ...refusal(1), requestId: `req_${n}`, param: n === 7 ? 'model' : undefined })
  }
  await refusals.write()
  const counted = {
    hourMs,
    tenantId: 'tenant_1',
    userId: 'user_1',
    tokenId: 'tok_1',
    route: 'POST /v1/chat/completions',
    code: 'parameter_invalid',
  }
  t.match(await list(pool), [
    {
      ...counted,
      count: 7,
      firstMs: beganMs + 1,
      lastMs: beganMs + 7,
      samples: [7, 6, 5, 4, 3].map((n) => {
        return { requestId: `req_${n}`, atMs: beganMs + n, param: n === 7 ? 'model' : undefined }
      }),
    },
  ])
  refusals.count({ ...refusal(1), code: 'rate_limited' })
  nowMs += 4_000
  await refusals.write()
  t.equal((await list(pool)).length, 1, 'it is written every five seconds')
  nowMs += 2_000
  await refusals.write()
  t.same(
    (await list(pool)).map(({ code, count }) => [code, count]),
    [
      ['rate_limited', 1],
      ['parameter_invalid', 7],
    ],
  )
  nowMs += HOUR_MS
  refusals.count(refusal(1))
  await refusals.write({ all: true })
  t.same(
    (await list(pool)).map((item) => [item.hourMs, item.count]),
    [
      [hourMs + HOUR_MS, 1],
      [hourMs, 1],
      [hourMs, 7],
    ],
  )
})

t.test('two replicas add up, and a write that comes twice counts once', async (t) => {
  const pool = await testPool(t)
  await migrateOps(pool)
  const clock = { nowMs: () => beganMs }
  let losesAnswer = true
  const losing = {
    query: async (statement: QueryConfig) => {
      const answer = await pool.query(statement)
      if (!losesAnswer) return answer
      losesAnswer = false
      throw new Error('the answer was lost')
    },
  } as unknown as Pool
  const [here, there] = [createRefusals(losing, clock), createRefusals(pool, clock)]
  for (let n = 0; n < 3; n += 1) here.count({ ...refusal(1), requestId: `req_here_${n}` })
  for (let n = 0; n < 4; n += 1) there.count({ ...refusal(1), requestId: `req_there_${n}` })
  await t.rejects(here.write(), /was lost/)
  here.count({ ...refusal(1), requestId: 'req_here_3' })
  await Promise.all([here.write(), there.write({ all: true })])
  const [item, ...others] = await list(pool)
  t.same(others, [])
  t.equal(item?.count, 8)
  const ids = (item?.samples ?? []).map(({ requestId }) => requestId)
  t.equal(new Set(ids).size, 5, ids.join())
})

t.test('replicas that write the same counts at once do not deadlock', async (t) => {
  const pool = await testPool(t)
  await migrateOps(pool)
  const replicas = Array.from({ length: 4 }, () => createRefusals(pool, { nowMs: () => beganMs }))
  const numbers = Array.from({ length: 300 }, (_, n) => n)
  for (const [index, replica] of replicas.entries())
    for (const n of index % 2 === 0 ? numbers : numbers.toReversed()) replica.count(refusal(n))
  await Promise.all(replicas.map((replica) => replica.write()))
  const found = await list(pool)
  t.equal(found.length, 300)
  t.ok(found.every(({ count }) => count === 4))
})

t.test('100,000 refusals of 10,000 tokens keep the bound', async (t) => {
  const pool = await testPool(t)
  await migrateOps(pool)
  let nowMs = beganMs
  const registry = new Registry()
  const refusals = createRefusals(pool, { nowMs: () => nowMs }, registry)
  for (let n = 0; n < 100_000; n += 1)
    refusals.count(refusal(n % 10_000, { code: n % 3 === 0 ? 'rate_limited' : 'unknown_model' }))
  await refusals.write()
  const { rows } = await pool.query<{ rows: string; sum: string }>(
    `select count(*) as rows, sum((select sum(value::bigint) from jsonb_each_text(counts))) as sum
     from ops.refusals`,
  )
  t.equal(Number(rows[0]?.rows), MAX_KEYS)
  const uncounted = async () =>
    (await registry.getSingleMetric('tollgate_refusals_uncounted_total')?.get())?.values[0]?.value
  t.equal(Number(rows[0]?.sum) + ((await uncounted()) ?? 0), 100_000, 'each is counted somewhere')
  const alone = (await list(pool)).filter(({ route }) => route === undefined)
  t.ok(alone.length > 0, 'some tokens are counted alone')
  t.ok(alone.every(({ code }) => code === undefined))
  nowMs += HOUR_MS
  await refusals.write()
  const before = await uncounted()
  refusals.count(refusal(9_999))
  t.equal(await uncounted(), before, 'the next hour has places again')
})

t.test('while Postgres is away the counts wait, and callers do not', async (t) => {
  const pool = await testPool(t)
  let nowMs = beganMs
  const refusals = createRefusals(pool, { nowMs: () => nowMs })
  refusals.count(refusal(1))
  await t.rejects(refusals.write(), /refusals/)
  nowMs += 2 * HOUR_MS
  refusals.count(refusal(1))
  await t.rejects(refusals.write(), /refusals/)
  await migrateOps(pool)
  await refusals.write()
  t.same(
    (await list(pool)).map((item) => [item.hourMs, item.count]),
    [
      [hourMs + 2 * HOUR_MS, 1],
      [hourMs, 1],
    ],
  )
})

t.test('filters, and pages that join up', async (t) => {
  const pool = await testPool(t)
  await migrateOps(pool)
  let nowMs = beganMs
  const refusals = createRefusals(pool, { nowMs: () => nowMs })
  for (let n = 0; n < 40; n += 1) {
    nowMs = beganMs + (n % 4) * HOUR_MS
    refusals.count(
      refusal(n, { code: `code_${n % 3}`, route: n % 5 === 0 ? 'GET /v1/models' : 'POST /v1/x' }),
    )
  }
  await refusals.write()
  const all = await list(pool)
  t.equal(all.length, 40)
  const middleMs = beganMs + 2 * HOUR_MS
  const filters: readonly (readonly [
    Partial<RefusalFilter>,
    (item: (typeof all)[number]) => boolean,
  ])[] = [
    [{ tenantId: 'tenant_1' }, ({ tenantId }) => tenantId === 'tenant_1'],
    [{ userIds: ['user_3', 'user_4'] }, ({ userId }) => /^user_[34]$/.test(userId)],
    [{ userIds: [] }, () => false],
    [{ tokenId: 'tok_7' }, ({ tokenId }) => tokenId === 'tok_7'],
    [{ route: 'GET /v1/models' }, ({ route }) => route === 'GET /v1/models'],
    [{ code: 'code_1' }, ({ code }) => code === 'code_1'],
    [{ requestId: 'req_000011' }, ({ tokenId }) => tokenId === 'tok_11'],
    [{ requestId: '"}]' }, () => false],
    [{ fromMs: middleMs }, ({ lastMs }) => lastMs >= middleMs],
    [{ toMs: middleMs }, ({ firstMs }) => firstMs < middleMs],
    [{ fromMs: middleMs + 1, toMs: middleMs + HOUR_MS }, () => false],
  ]
  for (const [filter, keeps] of filters)
    t.same(await list(pool, filter), all.filter(keeps), JSON.stringify(filter))
  const seen: unknown[] = []
  let after: string | undefined
  do {
    const page = await countedRefusals(pool, everything, { after, limit: 7 })
    seen.push(...page.items)
    after = page.next
  } while (after !== undefined)
  t.same(seen, all)
})

t.test('a request is found by its id within the hours of its time', async (t) => {
  const pool = await testPool(t)
  await migrateOps(pool)
  // The request came before the hour in which it was answered.
  const requestId = requestIdOf(hourMs - 1_000)
  const refusals = createRefusals(pool, { nowMs: () => beganMs })
  for (let n = 0; n < 8; n += 1) refusals.count(refusal(n))
  refusals.count({ ...refusal(8), requestId })
  await refusals.write()
  t.same(
    (await list(pool, { requestId })).map(({ tokenId }) => tokenId),
    ['tok_8'],
  )
  t.same(await list(pool, { requestId: requestIdOf(beganMs) }), [])
})

t.test('a list reads no more than its page', async (t) => {
  const pool = await testPool(t)
  await migrateOps(pool)
  await pool.query(`
    insert into ops.refusals
      (tenant_id, hour, token_id, route, code, user_id, first_at, last_at, counts, samples)
    select 'tenant_' || n % 50, date_bin('1 hour', at, timestamptz '2000-01-01T00:00Z'), 'tok_' || n, 'route',
           'code', 'user', at, at, '{"process_1":3}', '[]'
    from (select n, timestamptz '2026-03-01T00:00Z' + n * interval '1 minute' as at
          from generate_series(1, 20000) as n) as facts;
    analyze ops.refusals`)
  const requestId = requestIdOf(Date.parse('2026-03-04T00:00:00Z'))
  const filters: readonly Partial<RefusalFilter>[] = [
    {},
    { tenantId: 'tenant_7' },
    { fromMs: Date.parse('2026-03-04'), toMs: Date.parse('2026-03-05') },
    { requestId },
    { tenantId: 'tenant_7', requestId },
  ]
  for (const filter of filters) {
    const plans: string[] = []
    const explaining = {
      query: async (text: string, values: readonly unknown[]) => {
        const plan = await pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, [...values])
        plans.push(...plan.rows.map((row) => row['QUERY PLAN']))
        return pool.query(text, [...values])
      },
    } as unknown as Pool
    await list(explaining, filter)
    t.notMatch(plans.join('\n'), /Seq Scan/, JSON.stringify(filter))
  }
})

t.test('counts are kept for 14 days', async (t) => {
  const pool = await testPool(t)
  await migrateOps(pool)
  let nowMs = beganMs
  const refusals = createRefusals(pool, { nowMs: () => nowMs })
  for (const days of [0, 1, 14]) {
    nowMs = beganMs + days * 24 * HOUR_MS
    refusals.count(refusal(1))
  }
  await refusals.write()
  const isOld = async (atMs: number) =>
    (await pool.query(`${oldRefusalsSql('$1')} limit 1`, [atMs])).rowCount === 1
  t.notOk(await isOld(hourMs + 14 * 24 * HOUR_MS))
  t.ok(await isOld(nowMs))
  await purgeRefusals(pool, nowMs)
  t.equal((await list(pool)).length, 2)
  t.notOk(await isOld(nowMs))
})
