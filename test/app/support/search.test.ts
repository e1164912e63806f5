import { randomInt } from 'node:crypto'
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { accessProjection } from '../../../projections/access/projection.ts'
import { prepareTables } from '../../../projections/engine/follower.ts'
import { createIndexes } from '../../../projections/engine/schema.ts'
import type { SearchScope } from '../../../projections/engine/search.ts'
import { inSchema } from '../../../projections/engine/transaction.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { timelineProjection } from '../../../projections/timeline/projection.ts'
import { migrateOps } from '../../../src/app/migrations.ts'
import { createRefusals } from '../../../src/app/support/refusals.ts'
import { createSearch, type SearchResult } from '../../../src/app/support/search.ts'
import { testPool } from '../../projections/support/database.ts'

const ULID = '01M8BM4QZ6R3T8V5X2Y7W9ABCD'
const MADE_MS = 1_795_686_555_622
const NOW_MS = MADE_MS + 60_000
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

async function filledPool(t: Test, icuLocale?: string): Promise<Pool> {
  const pool = await testPool(t, 4, icuLocale === undefined ? {} : { icuLocale })
  await migrateOps(pool)
  for (const projection of [accessProjection, ledgerProjection, timelineProjection]) {
    await prepareTables(pool, projection)
    await inSchema(pool, projection.name, (client) =>
      createIndexes(client, projection, projection.name),
    )
  }
  return pool
}

interface Event {
  readonly source: string
  readonly tenant: string
  readonly user?: string
  readonly type?: string
  readonly data?: object
  readonly request?: string
  readonly keyHash?: string
}

/** Adds events, each behind the one before. */
async function record(pool: Pool, events: readonly Event[]): Promise<void> {
  await pool.query(
    `insert into timeline.events (position, tenant_id, user_id, source_id, type, event_id, stream,
                                  revision, at, data, metadata, key_hash)
     select n + (select coalesce(max(position), 0) from timeline.events), e->>'tenant', e->>'user',
            e->>'source', e->>'type', gen_random_uuid(), 'stream', n, to_timestamp(${MADE_MS / 1000}),
            e->'data', json_build_object('correlationId', e->>'request'), e->>'keyHash'
     from json_array_elements($1::json) with ordinality as x (e, n)`,
    [
      JSON.stringify(
        events.map((event) => ({
          user: 'bob',
          type: 'CallSettled',
          request: 'cli',
          data: {},
          ...event,
        })),
      ),
    ],
  )
}

const searchOf = (pool: Pool, callOfAnswer = (_tenant: string, _id: string) => ''): Search => {
  const search = createSearch({
    db: pool,
    logEnd: () => Promise.resolve(undefined),
    clock: { nowMs: () => NOW_MS },
    keyHash: (key) => `hash of ${key}`,
    callOfAnswer: (tenant, id) => callOfAnswer(tenant, id) || undefined,
  })
  return (text, scope = {}, limit = 50, day?) =>
    search({ text, scope, limit, day, isOperator: scope.tenantId === undefined })
}
type Search = (
  text: string,
  scope?: SearchScope,
  limit?: number,
  day?: { readonly fromMs: number; readonly toMs: number },
) => Promise<SearchResult>
const idsOf = ({ items }: SearchResult): readonly string[] => items.map(({ id }) => id).sort()

for (const [order, icuLocale] of [
  ['of bytes', undefined],
  ['of Estonian', 'et'],
] as const)
  t.test(`own ids that begin so are found, and no others, in the order ${order}`, async (t) => {
    const pool = await filledPool(t, icuLocale)
    const { rows } = await pool.query(`select 'Z' < 'T' as is_estonian`)
    t.same(rows, [{ is_estonian: icuLocale !== undefined }])
    const random = (length: number): string =>
      Array.from({ length }, () => CROCKFORD.charAt(randomInt(32))).join('')
    const calls = Array.from({ length: 1_500 }, () => ({
      source: `call_01M8B${random(1)}${random(20)}`,
      request: `req_01M8B${random(1)}${random(20)}`,
      tenant: `tenant_${randomInt(2)}`,
    }))
    await record(pool, calls)
    const search = searchOf(pool)
    for (const call of calls.slice(0, 120)) {
      const length = 6 + randomInt(21)
      for (const word of [call.source, call.request]) {
        const prefix = word.slice(0, word.indexOf('_') + 1 + length)
        for (const tenantId of ['tenant_0', 'tenant_1', undefined]) {
          const expected = calls
            .filter(({ tenant }) => tenantId === undefined || tenant === tenantId)
            .filter(
              ({ source, request }) => source.startsWith(prefix) || request.startsWith(prefix),
            )
            .map(({ source }) => source)
            .sort()
          const found = await search(prefix, { tenantId })
          if (expected.length <= 50) t.same(idsOf(found), expected, prefix)
          else t.match(found, { more: true, items: { length: 50 } })
        }
      }
    }
  })

t.test('each kind is found by its words, and by its tenant alone', async (t) => {
  const pool = await filledPool(t)
  const settled = {
    model: 'text-basic',
    upstreamRequestId: 'upstream-4711',
    settlement: { currency: 'USD', amount: '0.0000425' },
  }
  const owner = { tenant: 'acme', user: 'bob' }
  const call = `call_${ULID}`
  await record(pool, [
    { ...owner, source: call, data: settled, request: `req_${ULID}`, keyHash: 'hash of order 42' },
    { ...owner, source: `video_${ULID}`, type: 'TaskRequested', data: { model: 'video-1' } },
    { ...owner, source: `video_${ULID}`, type: 'TaskStatusChanged', data: { status: 'queued' } },
    { ...owner, source: `asset-${ULID}`, type: 'AssetCreated', data: { name: 'a cat' } },
    { ...owner, source: `file-${ULID}`, type: 'FileUploaded', data: { filename: 'cat.png' } },
    { ...owner, source: `token_${ULID}`, type: 'TokenIssued' },
    { ...owner, source: '4503599627370497', type: 'MediaUploaded' },
  ])
  await pool.query(`
    insert into timeline.sources (source_id, tenant_id, user_id, native_id, position) values
      ('video_${ULID}', 'acme', 'bob', 'cgt-20261126-7x', 2), ('asset-${ULID}', 'acme', 'bob', 'lib-20261126-8x', 4),
      ('file-${ULID}', 'acme', 'bob', null, 5), ('token_${ULID}', 'acme', 'bob', null, 6),
      ('4503599627370497', 'acme', 'bob', null, 7);
    insert into access.tenants (tenant_id, name, search_name, opened_at, position)
    values ('acme', 'Acme 100%', 'acme 100%', now(), 1), ('other', 'Other', 'other', now(), 2);
    insert into access.users (tenant_id, user_id, name, search_name, added_at, position)
    values ('acme', 'bob', 'Bob', 'bob', now(), 3);
    insert into access.tokens (token_id, tenant_id, user_id, kind, name, search_name, issued_at, last_four, disabled_at, position)
    values ('token_${ULID}', 'acme', 'bob', 'model', 'Production', 'production', now(), 'Bs5k', now(), 4);
    insert into ledger.grants (position, grant_id, tenant_id, currency, amount, credit, reason, granted_at)
    values (8, 'grant_march', 'acme', 'USD', 100, 'paid', 'march', now());
    insert into ledger.adjustments (position, adjustment_id, tenant_id, currency, amount, line_id, reason, posted_at)
    values (9, 'adj_march', 'acme', 'USD', 1, '${call}:1', 'march', now());
    insert into ledger.lines
    select 1, '${call}:1', now(), 'acme', 'bob', 'token_${ULID}', '${call}', null, 'v1.chat', 'text-basic',
           'text-basic-input-token', 'text/1', 17, 'token', 2.5, 1000000, 'USD', 0.0000425, '2026', 'reported',
           'req_${ULID}', 1, null, null, null, ''`)
  const refusals = createRefusals(pool, { nowMs: () => MADE_MS })
  refusals.count({
    token: { tenantId: 'acme', userId: 'bob', tokenId: `token_${ULID}` },
    route: 'POST /v1/videos',
    code: 'rate_limited',
    requestId: 'req_01M8BM4QZ7R3T8V5X2Y7W9ABCD',
    param: undefined,
  })
  // A call that failed is among the refusals too.
  refusals.count({
    token: { tenantId: 'acme', userId: 'bob', tokenId: `token_${ULID}` },
    route: 'POST /v1/chat/completions',
    code: 'unavailable',
    requestId: `req_${ULID}`,
    param: undefined,
  })
  await refusals.write({ all: true })
  const search = searchOf(pool, (tenant, id) =>
    tenant === 'acme' && id.startsWith('resp_') ? call : '',
  )
  const kinds: readonly (readonly [text: string, kind: string, state: string, summary: string])[] =
    [
      [call, 'call', 'settled', 'text-basic, 0.0000425 USD'],
      [`chatcmpl-${ULID}`, 'call', 'settled', 'text-basic, 0.0000425 USD'],
      [ULID, 'call', 'settled', 'text-basic, 0.0000425 USD'],
      [`resp_${'a'.repeat(60)}`, 'call', 'settled', 'text-basic, 0.0000425 USD'],
      ['order 42', 'call', 'settled', 'text-basic, 0.0000425 USD'],
      [`req_${ULID}`, 'call', 'settled', 'text-basic, 0.0000425 USD'],
      ['req_01M8BM4QZ7', 'refused_request', 'refused', 'rate_limited, POST /v1/videos'],
      [`video_${ULID.slice(0, 8)}`, 'task', 'queued', 'video-1'],
      ['cgt-20261126', 'task', 'queued', 'video-1'],
      [`asset-${ULID}`, 'asset', 'created', 'a cat'],
      [`file-${ULID}`, 'file', 'uploaded', 'cat.png'],
      ['4503599627370497', 'upload', 'uploaded', ''],
      [`token_${ULID}`, 'token', 'disabled', 'Production, …Bs5k'],
      ['Bs5k', 'token', 'disabled', 'Production, …Bs5k'],
      ['product', 'token', 'disabled', 'Production, …Bs5k'],
      ['100%', 'tenant', 'open', 'Acme 100%'],
      ['bo', 'user', 'open', 'Bob'],
      [`${call}:1`, 'line', 'settled', 'text-basic-input-token, 0.0000425 USD'],
      ['grant_', 'grant', 'posted', 'paid, 100 USD'],
      ['adj_march', 'adjustment', 'posted', '1 USD'],
    ]
  for (const [text, kind, state, summary] of kinds) {
    const own = await search(text, { tenantId: 'acme', userIds: undefined })
    const item = { kind, state, summary, matched: text, tenantId: 'acme' }
    t.match(own, { items: [item], more: false }, text)
    t.equal(own.items.length, 1, text)
    t.match(await search(text), { items: [item] }, text)
    const foreign = await search(text, { tenantId: 'other' })
    t.same(foreign.items, [], text)
    const isOfUser = !['tenant', 'grant'].includes(kind)
    const user = await search(text, { tenantId: 'acme', userIds: ['ann'] })
    t.equal(user.items.length, kind === 'tenant' ? 1 : 0, `${text} ${isOfUser}`)
  }
  t.match((await search('lib-20261126-8x')).items, [{ kind: 'asset' }])
  t.same((await search('lib-20261126-8x', { tenantId: 'acme' })).items, [], 'for operators alone')
  const day = { fromMs: MADE_MS, toMs: MADE_MS + 1 }
  const acme = { tenantId: 'acme' }
  const hint = 'the request id of a provider is looked for in one day of one tenant: name both'
  t.same(idsOf(await search('upstream-4711', acme, 10, day)), [call])
  t.match(await search('upstream-4711', acme), { items: [], hints: [hint] })
  const later = { fromMs: MADE_MS + 1, toMs: MADE_MS + 2 }
  for (const [scope, when] of [
    [acme, later],
    [{ tenantId: 'other' }, day],
    [{ ...acme, userIds: ['ann'] }, day],
  ] as const)
    t.same((await search('upstream-4711', scope, 10, when)).items, [])
  for (const text of ['%', '__', '%%', 'a_me', '\\', "'; drop table x", 'ab%00'])
    t.same((await search(text)).items, [], text)
  const pasted = `{"error":{"request_id":"req_${ULID}"}} see video_${ULID}, Bs5k`
  t.same(idsOf(await search(pasted)), [call, `video_${ULID}`])
  t.match(await search(pasted, {}, 1), { items: { length: 1 }, more: true })
})

t.test('what is not found says what the text itself shows', async (t) => {
  const pool = await filledPool(t)
  await record(
    pool,
    Array.from({ length: 5_200 }, (_, n) => ({
      source: `call_01M8BM${String(n).padStart(20, '0')}`,
      tenant: 'loud',
    })),
  )
  const last = `call_01M8BMZ${'0'.repeat(19)}`
  await record(pool, [{ source: last, tenant: 'acme' }])
  const search = searchOf(pool)
  const hint = 'add characters where something is missing: many ids begin so'
  t.match(await search('call_01M8BM', { tenantId: 'acme' }), {
    items: [{ id: last }],
    more: false,
    hints: [hint],
  })
  t.same(idsOf(await search('call_01M8BMZ0', { tenantId: 'acme' })), [last])
  t.same(await search(`req_${ULID}`), {
    items: [],
    more: false,
    hints: [
      `req_${ULID} was made at ${new Date(MADE_MS).toISOString()}`,
      'of refused requests the last five of each hour, token, route and code are kept, for 14 days',
    ],
  })
  for (const odd of ['req_7ZZZZZZZZZZZZZZZZZZZZZZZZZ', 'req_000000', 'resp_'.padEnd(1_500, 'a')])
    t.same((await search(odd)).items, [], odd)
  // The ids of requests with a key are hashes: their time is none.
  t.same((await search('video_71M8BM4QZ6R3T8V5X2Y7W9ABCD')).hints, [])
  const ids = Array.from({ length: 130 }, (_, n) => `call_01M8BN4QZ6R3T8V5X2Y7W9A${100 + n}`)
  t.match((await search(ids.join(' '))).hints, [
    'only the first 20 ids are looked up: 110 more are in it',
  ])
})

t.test('what an owner finds does not depend on the rows of others below it', async (t) => {
  const pool = await filledPool(t)
  const ids = `lpad(n::text, 5, '0')`
  // More of another tenant, and of another user, than one statement reads; the own ones are last in order.
  await pool.query(`
    create temp table owned as
      select n, case when n <= 5500 then 'other' else 'acme' end as tenant_id,
             case when n = 11001 then 'ann' else 'bob' end as user_id
      from generate_series(1, 11001) as n;
    insert into timeline.events (position, tenant_id, user_id, source_id, type, event_id, stream,
                                 revision, at, data, metadata, key_hash)
    select n, tenant_id, user_id, 'call_01M8BM' || ${ids}, 'CallSettled', gen_random_uuid(), 'stream', n,
           to_timestamp(${MADE_MS / 1000}) - n * interval '1 ms',
           json_build_object('upstreamRequestId', 'upstream-' || n),
           json_build_object('correlationId', 'req_01M8BM' || ${ids}), 'hash of nightly-1' from owned
    union all
    select n + 20000, tenant_id, user_id, 'video_01M8BM' || ${ids}, 'TaskRequested', gen_random_uuid(),
           'stream', n, to_timestamp(${MADE_MS / 1000}) - interval '2 days', '{}', '{}', null from owned;
    insert into timeline.sources (source_id, tenant_id, user_id, native_id, position)
    select 'video_01M8BM' || ${ids}, tenant_id, user_id, 'cgt-2026-' || ${ids}, n from owned;
    insert into ledger.lines
    select n, 'call_' || n || ':1', now(), tenant_id, user_id, 'token', 'call_' || n, null, 'v1.chat',
           'text-basic', 'text-basic-input-token', 'text/1', 17, 'token', 2.5, 1000000, 'USD', 0.0000425,
           '2026', 'reported', 'req', n, null, null, null, '' from owned;
    insert into ledger.adjustments (position, adjustment_id, tenant_id, currency, amount, line_id, reason, posted_at)
    select n, 'adj_2026_' || ${ids}, tenant_id, 'USD', 1, 'call_' || n || ':1', 'x', now() from owned;
    insert into ledger.grants (position, grant_id, tenant_id, currency, amount, credit, reason, granted_at)
    select n, 'grant_2026_' || ${ids}, case when n = 11001 then 'acme' else 'other' end, 'USD', 1, 'paid', 'x',
           now() from owned;
    analyze`)
  const search = searchOf(pool)
  const own = { tenantId: 'acme', userIds: ['ann'] }
  for (const [text, id, scope] of [
    ['call_01M8BM', 'call_01M8BM11001', own],
    ['req_01M8BM', 'call_01M8BM11001', own],
    ['video_01M8BM', 'video_01M8BM11001', own],
    ['cgt-2026-', 'video_01M8BM11001', own],
    ['nightly-1', 'call_01M8BM11001', own],
    ['adj_2026', 'adj_2026_11001', own],
    ['grant_2026', 'grant_2026_11001', { tenantId: 'acme' }],
  ] as const) {
    const found = await search(text, scope)
    t.same(idsOf(found), [id], text)
    t.notMatch(found.hints.join(), /not all that may match/, text)
  }
  for (const text of ['call_01M8BM', 'req_01M8BM', 'video_01M8BM', 'nightly-1']) {
    for (const scope of [{ tenantId: 'acme' }, {}]) {
      const found = await search(text, scope)
      t.match(found, { more: true, items: { length: 50 } }, 'support finds the first ones')
      t.match(found.hints.join(), /not all that may match was read/, text)
    }
  }
})
