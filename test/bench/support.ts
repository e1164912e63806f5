import { catalog } from '../../src/families/index.ts'
import { readFileSync } from 'node:fs'
import { Pool } from 'pg'
import { accessProjection } from '../../projections/access/projection.ts'
import { prepareFollower } from '../../projections/engine/follower.ts'
import { failedRequests, type FailureFilter } from '../../projections/timeline/query.ts'
import { migrateOps } from '../../src/app/migrations.ts'
import { findLife } from '../../src/app/support/life.ts'
import { createSearch, type SearchRequest } from '../../src/app/support/search.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { everyFailure } from '../projections/support/every-failure.ts'
import { checkout } from '../helpers/checkout.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { type Figure, percentile } from './figure.ts'
import { fillLedger, type Spread } from './kit/ledger-rows.ts'
import { sized, sizeFrom } from './kit/sizes.ts'

/** How long support waits: the search of what a customer has, the newest failures, and lives, among a million calls. */

const CALLS = sizeFrom('BENCH_SUPPORT_CALLS', sized(1_000_000, 10_000))
/** A million calls a day: six characters of an id are those of 17 minutes, and begin 12,000 ids. */
const oneDay: Spread = { days: 1, tenants: 2_000, usersOfEach: 3, tokensOfEach: 3 }
const SAMPLES = sized(300, 10)
/** Tokens, of which each last four characters has several. */
const TOKENS = sized(20_000, 100)
const WHOLE_MS = 25
const SHORT_MS = 100
const FAILURES_MS = 20
const LIFE_MS = 20
const LONG_STEPS = 200

interface Call {
  readonly source_id: string
  readonly request_id: string
  readonly tenant_id: string
}

/** Keys of a tenth of the calls, and tokens; refused requests are few among calls. */
async function fillNames(pool: Pool): Promise<void> {
  await migrateOps(pool)
  await prepareFollower(pool, accessProjection, systemClock)
  await pool.query(`
    update timeline.events set key_hash = md5('key of ' || source_id) where revision % 10 = 0;
    insert into access.tenants (tenant_id, name, search_name, opened_at, position)
    select distinct tenant_id, 'Tenant ' || tenant_id, 'tenant ' || tenant_id, now(), 1 from ledger.balances;
    insert into access.tokens (token_id, tenant_id, user_id, kind, name, search_name, issued_at, last_four, position)
    select 'token_' || n, 'tenant_' || n % 100, 'user_' || n % 1000, 'model', 'bench', 'bench', now(),
           left(md5('four' || n % ${TOKENS / 4}), 4), n
    from generate_series(1, ${TOKENS}) n`)
  await pool.query('vacuum (analyze)')
}

/** Calls by chance, the same in every run. */
async function someCalls(pool: Pool, condition = 'true'): Promise<readonly Call[]> {
  const { rows } = await pool.query<Call>(
    `select source_id, metadata->>'correlationId' as request_id, tenant_id from timeline.events
     where ${condition} order by md5(source_id) limit $1`,
    [SAMPLES],
  )
  return rows
}

async function timed(
  name: string,
  mostMs: number,
  calls: readonly Call[],
  work: (call: Call) => Promise<number>,
): Promise<readonly Figure[]> {
  const samples: number[] = []
  let found = 0
  for (const call of calls) {
    const startedMs = performance.now()
    found += (await work(call)) > 0 ? 1 : 0
    samples.push(performance.now() - startedMs)
  }
  const note = `${found} of ${calls.length} found something`
  return [50, 95].map((p) => ({
    name: `${name}, p${p}`,
    value: Number(percentile(samples, p).toFixed(2)),
    unit: 'ms',
    ...(p === 95 ? { reach: mostMs, bound: 'most' as const, note } : {}),
  }))
}

async function searches(pool: Pool): Promise<readonly Figure[]> {
  const search = createSearch({
    db: pool,
    logEnd: () => Promise.resolve(undefined),
    clock: systemClock,
    keyHash: (key) => `no call has the key ${key}`,
    callOfAnswer: () => undefined,
  })
  const keyed = createSearch({
    db: pool,
    logEnd: () => Promise.resolve(undefined),
    clock: systemClock,
    keyHash: (key) => key,
    callOfAnswer: () => undefined,
  })
  const calls = await someCalls(pool)
  const keys = await someCalls(pool, 'key_hash is not null')
  const { rows: hashes } = await pool.query<{ id: string; hash: string }>(
    'select source_id as id, key_hash as hash from timeline.events where source_id = any($1::text[])',
    [keys.map((call) => call.source_id)],
  )
  const tokens = await pool.query<{ last_four: string }>(
    'select last_four from access.tokens order by md5(token_id) limit $1',
    [SAMPLES],
  )
  const fours = tokens.rows.map((row) => row.last_four)
  const hashOf = new Map(hashes.map(({ id, hash }) => [id, hash]))
  const find = async (text: string, part: Partial<SearchRequest> = {}, by = search) =>
    (await by({ text, scope: {}, isOperator: true, day: undefined, limit: 10, ...part })).items
      .length
  const within = (tenantId: string) => ({ scope: { tenantId }, isOperator: false })
  const short = ({ source_id: id }: Call): string => id.slice(0, 'call_'.length + 6)
  const missing = (id: string): string => `${id.slice(0, -6)}ZZZZZZ`
  const whole: readonly (readonly [name: string, work: (call: Call) => Promise<number>])[] = [
    ['whole id of a call', (call) => find(call.source_id)],
    ['whole id, in its tenant', (call) => find(call.source_id, within(call.tenant_id))],
    ['eight characters', (call) => find(call.source_id.slice(0, 'call_'.length + 8))],
    [
      'eight characters, in its tenant',
      (call) => find(call.source_id.slice(0, 13), within(call.tenant_id)),
    ],
    ['twelve characters', (call) => find(call.source_id.slice(0, 'call_'.length + 12))],
    ['request id', (call) => find(call.request_id)],
    ['request id, in its tenant', (call) => find(call.request_id, within(call.tenant_id))],
    ['unknown id of a call', (call) => find(missing(call.source_id))],
    ['unknown id of a request', (call) => find(missing(call.request_id))],
    ['unknown id of a provider', (call) => find(`cgt-no-${call.source_id.slice(-8)}`)],
    ['last four', (call) => find(fours[calls.indexOf(call) % fours.length] ?? '')],
  ]
  const figures: Figure[] = []
  for (const [name, work] of whole)
    figures.push(...(await timed(`search: ${name}`, WHOLE_MS, calls, work)))
  figures.push(
    ...(await timed('search: key', WHOLE_MS, keys, (call) =>
      find(hashOf.get(call.source_id) ?? '', {}, keyed),
    )),
    ...(await timed('search: six characters, in its tenant', SHORT_MS, calls, (call) =>
      find(short(call), within(call.tenant_id)),
    )),
    ...(await timed('search: six characters, in a tenant without any', SHORT_MS, calls, (call) =>
      find(short(call), within('tenant_none')),
    )),
  )
  return figures
}

/** The data of an event as it is recorded. */
function recorded(type: string): object {
  const file = new URL(`test/fixtures/events/${type}.v1.json`, checkout)
  const { data } = JSON.parse(readFileSync(file, 'utf8')) as { readonly data: object }
  return data
}

/** Gives calls the facts that lives are made of, and each a repetition half a second later. */
async function fillLives(pool: Pool, ids: readonly string[]): Promise<void> {
  const lines = (id: string): string =>
    `(select jsonb_agg(jsonb_build_object('sku', l.sku, 'rule', l.rule, 'quantity', l.quantity, 'unit', l.unit,
        'price', trim_scale(l.price)::text, 'per', l.per, 'amount', trim_scale(l.amount)::text, 'measurement', 'reported') order by l.seq)
      from ledger.lines l where l.source_id = ${id})`
  await pool.query(
    `update timeline.events e set data = (($2::jsonb - 'idempotency') || jsonb_build_object(
       'callId', e.source_id, 'tenantId', e.tenant_id, 'userId', e.user_id, 'tokenId', e.data->>'tokenId',
       'requestId', e.data->>'requestId',
       'bodyFingerprint', left(md5(e.source_id), 11),
       'settlement', jsonb_build_object('priceBookVersion', '1', 'currency', 'USD', 'amount', '0.000005',
         'lines', ${lines('e.source_id')})))::json
     where e.source_id = any($1::text[])`,
    [ids, JSON.stringify(recorded('CallSettled'))],
  )
  await pool.query(
    `insert into timeline.events (position, tenant_id, user_id, source_id, type, event_id, stream, revision, at, data, metadata)
     select m.last + row_number() over (order by e.position), e.tenant_id, e.user_id, e.source_id || 'b', e.type,
            md5('again' || e.source_id)::uuid, e.stream, e.revision + 1000000000, e.at + interval '500 ms',
            (e.data::jsonb || jsonb_build_object('callId', e.source_id || 'b', 'requestId', 'req_b' || e.position))::json, e.metadata
     from timeline.events e, (select max(position) as last from timeline.events) m where e.source_id = any($1::text[])`,
    [ids],
  )
}

/** A task of two hundred steps. */
async function fillLongLife(pool: Pool, id: string): Promise<void> {
  const requested = {
    ...recorded('TaskRequested'),
    platformId: id,
    tenantId: 'tenant_0',
    userId: 'tenant_0_user_0',
    tokenId: 'tenant_0_token_1',
    requestId: 'req_long',
  }
  await pool.query(
    `with m as (select max(position) as last, max(at) as at from timeline.events),
     placed as (
       insert into timeline.events (position, tenant_id, user_id, source_id, type, event_id, stream, revision, at, data, metadata)
       select m.last + n, 'tenant_0', 'tenant_0_user_0', $1,
              case n when 1 then 'TaskRequested' when ${LONG_STEPS} then 'TaskExpired' else 'TaskStatusChanged' end,
              md5('long' || n)::uuid, 'task-' || $1, n, m.at + n * interval '1 s',
              case n when 1 then $2::json
                     when ${LONG_STEPS} then json_build_object('platformId', $1::text, 'reason', 'deadline', 'possibleCostLeak', true, 'expiredAt', '2026-01-03T00:00:00.000Z')
                     else json_build_object('platformId', $1::text, 'status', 'running', 'upstreamStatus', 'word ' || n,
                       'observedAt', '2026-01-02T00:00:00.000Z') end,
              json_build_object('schemaVersion', 1, 'correlationId', 'poll', 'commandId', 'c' || n)
       from m, generate_series(1, ${LONG_STEPS}) n returning position)
     insert into timeline.sources (source_id, tenant_id, user_id, native_id, position)
     select $1, 'tenant_0', 'tenant_0_user_0', 'cgt-long', min(position) from placed`,
    [id, JSON.stringify(requested)],
  )
}

async function lives(pool: Pool): Promise<readonly Figure[]> {
  const calls = await someCalls(pool, `type = 'CallSettled'`)
  await fillLives(
    pool,
    calls.map((call) => call.source_id),
  )
  const long = 'video_01K000000000000000000LONG'
  await fillLongLife(pool, long)
  await pool.query('analyze timeline.events')
  const known = {
    catalog,
    asOf: 2n ** 62n,
    urlsEndOf: () => Promise.resolve(undefined),
  }
  const lifeOf = (id: string, tenantId: string) => findLife(pool, id, { tenantId }, known)
  return [
    ...(await timed('life: a call and its repetition', LIFE_MS, calls, async (call) => {
      const found = await lifeOf(call.source_id, call.tenant_id)
      return found?.related.length ?? 0
    })),
    ...(await timed(`life: a task of ${LONG_STEPS} steps`, LIFE_MS, calls, async () => {
      const found = await lifeOf(long, 'tenant_0')
      return found?.steps.length === LONG_STEPS ? 1 : 0
    })),
  ]
}

async function failures(pool: Pool): Promise<readonly Figure[]> {
  const { rows } = await pool.query<{ last: string }>(
    'select max(position) as last from timeline.events',
  )
  const everything = everyFailure(BigInt(rows[0]?.last ?? 0))
  const newest = async (filter: Partial<FailureFilter>) => {
    const page = { after: undefined, limit: 50 }
    return (await failedRequests(pool, { ...everything, ...filter }, page)).items.length
  }
  const of = { tenantId: 'tenant_0' }
  const calls = await someCalls(pool, `type = 'CallFailed'`)
  return [
    ...(await timed('failures: newest 50 of a tenant', FAILURES_MS, calls, () => newest(of))),
    ...(await timed('failures: newest 50 of a token', FAILURES_MS, calls, () =>
      newest({ ...of, tokenId: 'tenant_0_token_1' }),
    )),
    ...(await timed('failures: a code that never came', FAILURES_MS, calls, () =>
      newest({ ...of, code: 'never' }),
    )),
  ]
}

export async function run(): Promise<readonly Figure[]> {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 8, pipeline: true })
  try {
    await fillLedger(pool, 2 * CALLS, oneDay)
    await fillNames(pool)
    return [...(await searches(pool)), ...(await failures(pool)), ...(await lives(pool))]
  } finally {
    await pool.end()
    await database.drop()
  }
}
