import t from 'tap'
import { MAX_IDS_READ } from '../../../projections/engine/search.ts'
import { timelineProjection } from '../../../projections/timeline/projection.ts'
import {
  historyOf,
  openingsNear,
  sourcesByPrefix,
  type TimelineScope,
  tenantTimeline,
} from '../../../projections/timeline/query.ts'
import { applied, digestOf, testPool } from '../support/database.ts'
import {
  nativeId,
  openTenant,
  overlappingTasks,
  platformId,
  recordCall,
  Recorder,
} from '../support/history.ts'
import { assetId, recordAsset } from '../support/library.ts'

t.test('reads of the timeline', async (t) => {
  const pool = await testPool(t)
  const itemsOf = async (id: string, scope: TimelineScope = {}) =>
    (await historyOf(pool, id, scope, { limit: 100 })).items
  const recorder = new Recorder()
  const events = [
    ...openTenant(recorder, 'tenant_0'),
    ...openTenant(recorder, 'tenant_1'),
    ...overlappingTasks(recorder, {
      tasks: 40,
      width: 6,
      shape: (n) => ({ tenantId: `tenant_${n % 2}` }),
    }),
    recordCall(recorder, 5, 'tenant_1'),
    recorder.record('token-tok_tenant_0', {
      type: 'TokenLimitsChanged',
      data: {
        tokenId: 'tok_tenant_0',
        limits: { concurrentTasks: null },
        changedAt: '2026-03-04T05:06:07.000Z',
      },
    }),
    recorder.record('token-tok_tenant_0', {
      type: 'TokenDisabled',
      data: {
        tokenId: 'tok_tenant_0',
        reason: 'bad \u0000 \ud800 text',
        disabledAt: '2026-03-04T05:06:07.000Z',
      },
    }),
    recorder.record('pricebook', {
      type: 'PriceBookPublished',
      data: {
        version: 'v',
        effectiveFrom: '2026-03-04T05:06:07.000Z',
        publishedAt: '2026-03-04T05:06:07.000Z',
        digest: 'd',
        entries: [],
      },
    }),
  ]
  await applied(t, pool, events, [timelineProjection], 13)

  await t.test('a history has every event of its task, oldest first, by either id', async (t) => {
    const items = await itemsOf(platformId(7))
    const mine = events.filter(({ stream }) => stream === `task-${platformId(7)}`)
    t.same(
      items.map(({ type, position, data, metadata, atMs, eventId, revision }) => ({
        type,
        position,
        data,
        metadata,
        atMs,
        eventId,
        revision,
      })),
      mine.map(({ type, position, data, metadata, recordedAt, id, revision }) => ({
        type,
        position: position.toString(),
        data,
        metadata,
        atMs: recordedAt.getTime(),
        eventId: id,
        revision,
      })),
    )
    for (const item of items) t.match(item, { tenantId: 'tenant_1', userId: 'user_1' })
    t.same(await itemsOf(nativeId(7)), items)
    t.equal((await itemsOf('call_5')).length, 1)
  })

  await t.test('a history outside the scope is empty', async (t) => {
    const scopes = [{ tenantId: 'tenant_0' }, { userIds: ['user_0'] }, { userIds: [] }]
    for (const scope of scopes) t.same(await itemsOf(platformId(7), scope), [])
    const inside = { tenantId: 'tenant_1', userIds: ['user_1'] }
    t.equal((await itemsOf(platformId(7), inside)).length, 5)
    t.same(await itemsOf('video_none'), [])
  })

  await t.test('a tenant’s events in order, page by page', async (t) => {
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await tenantTimeline(pool, { tenantId: 'tenant_0' }, { after, limit: 9 })
      seen.push(...page.items.map((item) => item.position))
      after = page.next
    } while (after !== undefined)
    const mine = events.filter((event) => {
      const first = events.find(({ stream }) => stream === event.stream)
      return first !== undefined && 'tenantId' in first.data && first.data.tenantId === 'tenant_0'
    })
    t.same(
      seen,
      mine.map(({ position }) => position.toString()),
    )
    for (const of of ['TokenLimitsChanged', 'TokenDisabled'])
      t.ok(
        mine.some(({ type }) => type === of),
        'also what does not name the tenant',
      )
  })

  await t.test('filters by time, type and source', async (t) => {
    const fromMs = events[30]!.recordedAt.getTime()
    const toMs = events[60]!.recordedAt.getTime()
    const page = await tenantTimeline(
      pool,
      { tenantId: 'tenant_1', fromMs, toMs, types: ['TaskSettled'] },
      { limit: 100 },
    )
    const mine = events
      .slice(30, 60)
      .filter((event) => event.type === 'TaskSettled' && event.data.tenantId === 'tenant_1')
    t.ok(mine.length > 0)
    t.same(
      page.items.map((item) => item.position),
      mine.map(({ position }) => position.toString()),
    )
    const late = await tenantTimeline(
      pool,
      { tenantId: 'tenant_1', fromMs: Date.parse('2030-01-01') },
      { limit: 10 },
    )
    t.same(late.items, [])
    const one = await tenantTimeline(
      pool,
      { tenantId: 'tenant_1', sourceId: platformId(7) },
      { limit: 10 },
    )
    t.equal(one.items.length, 5)
  })

  await t.test('text that Postgres cannot store does not stop the timeline', async (t) => {
    const page = await tenantTimeline(
      pool,
      { tenantId: 'tenant_0', types: ['TokenDisabled'] },
      { limit: 1 },
    )
    t.equal(page.items[0]?.data['reason'], 'bad \ufffd \ufffd text')
  })
})

t.test('an event without a user belongs to the user who began its source', async (t) => {
  const recorder = new Recorder()
  const events = [
    ...recordAsset(recorder, { n: 1, userId: 'user_1' }, 'created', 'accepted', 'activated'),
    ...recordAsset(recorder, { n: 1, userId: 'user_2' }, 'updated', 'used', 'withdrawn', 'deleted'),
  ]
  const pool = await testPool(t)
  await applied(t, pool, events, [timelineProjection])
  const { items } = await historyOf(pool, assetId(1), {}, { limit: 100 })
  t.same(
    items.map(({ type, userId }) => [type, userId]),
    [
      ['AssetCreated', 'user_1'],
      ['AssetAccepted', 'user_1'],
      ['AssetActivated', 'user_1'],
      ['AssetUpdated', 'user_2'],
      ['AssetUsed', 'user_1'],
      ['AssetWithdrawn', 'user_2'],
      ['AssetDeleted', 'user_1'],
    ],
  )
  const oneByOne = await testPool(t)
  await applied(t, oneByOne, events, [timelineProjection], 1)
  t.same(await digestOf(oneByOne, timelineProjection), await digestOf(pool, timelineProjection))
})

t.test('a search is cut only where more names of the scope begin so than are read', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, [], [timelineProjection])
  const addNames = (tenantId: string, from: number, to: number): Promise<unknown> =>
    pool.query(
      `insert into timeline.sources (source_id, tenant_id, user_id, position)
       select $1 || '_' || n, $1, 'user', n from generate_series($2::int, $3::int) n`,
      [tenantId, from, to],
    )
  const scope = { tenantId: 'asked' }
  const isCut = async () =>
    (await sourcesByPrefix(pool, { naming: 'source', prefix: 'asked' }, scope, 10)).isCut
  await addNames('asked', 1, MAX_IDS_READ)
  await addNames('asked_by_others', 100_001, 100_000 + MAX_IDS_READ)
  t.equal(await isCut(), false)
  await addNames('asked', 200_000, 200_000)
  t.equal(await isCut(), true)
})

t.test('requests near one of a user are found beside many of its colleagues', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, [], [timelineProjection])
  const atMs = Date.parse('2026-03-04T05:06:07.000Z')
  const add = (userId: string, rows: number, secondsBefore: number): Promise<unknown> =>
    pool.query(
      `insert into timeline.events
         (position, tenant_id, user_id, source_id, type, event_id, stream, revision, at, data, metadata)
       select $3::int * 10000 + n, 'tenant_0', $1, 'call_' || $1 || n, 'CallSettled', gen_random_uuid(), 'journal', n,
              $4::timestamptz - $3::int * interval '1 s', '{"tokenId":"tok_0","bodyFingerprint":"print"}', '{}'
       from generate_series(1, $2::int) n`,
      [userId, rows, secondsBefore, new Date(atMs)],
    )
  await add('own', 1, 300)
  await add('colleague', 3_000, 100)
  const opening = { sourceId: 'call_this', atMs, tokenId: 'tok_0' }
  const owner = { tenantId: 'tenant_0', userIds: ['own'] }
  const found = await openingsNear(pool, owner, opening, ['print'])
  t.same(
    found.map(({ sourceId }) => sourceId),
    ['call_own1'],
  )
})
