import t from 'tap'
import { assetsProjection } from '../../../projections/assets/projection.ts'
import {
  CountedTotals,
  findAssets,
  findGroups,
  statusOf,
  type AssetListing,
  type AssetRow,
  type GroupListing,
} from '../../../projections/assets/query.ts'
import { applied, testPool } from '../support/database.ts'
import { Recorder, START_MS } from '../support/history.ts'
import { assetId, groupId, libraryHistory, recordAsset, recordGroup } from '../support/library.ts'

const asked = {
  tenantId: 'tenant_1',
  userId: 'user_1',
  groupType: 'AIGC',
  region: undefined,
  projectName: undefined,
  groupIds: undefined,
  name: undefined,
  pageNumber: 1,
  pageSize: 10,
  sortBy: 'CreateTime',
  sortOrder: 'Desc',
} as const satisfies GroupListing
const all = { ...asked, statuses: undefined } satisfies AssetListing

const pool = await testPool(t)
const counted = new CountedTotals()
const recorder = new Recorder()
await applied(
  t,
  pool,
  [
    ...libraryHistory(recorder, 120),
    ...['100% wool', '100 wool', '1_0', String.raw`a\b`, 'a\u{10ffff}b', 'größe', 'grün'].flatMap(
      (name, n) => recordAsset(recorder, { n: 500 + n, tenantId: 'tenant_names', name }, 'created'),
    ),
    ...recordGroup(recorder, { n: 500, tenantId: 'tenant_names', name: '50%' }, 'created'),
    ...recordGroup(recorder, { n: 501, tenantId: 'tenant_names', name: '50 more' }, 'created'),
  ],
  [assetsProjection],
)
const { rows: everything } = await pool.query<Readonly<Record<string, string>>>(
  `select asset_id, tenant_id, user_id, group_type, group_id, region, project_name, state, name
   from assets.assets`,
)

const idsOf = async (listing: Partial<AssetListing>): Promise<readonly string[]> =>
  (await findAssets(pool, { ...all, pageSize: 500, ...listing }, counted)).rows.map(
    ({ assetId }) => assetId,
  )

/** The ids of what a plain look at every row finds. */
const expected = (holds: (row: (typeof everything)[number]) => boolean): readonly string[] =>
  everything
    .filter((row) => statusOf(row['state'] ?? '') !== undefined && holds(row))
    .map((row) => row['asset_id'] ?? '')
    .sort()
    .reverse()

t.test('each filter narrows the list and its total', async (t) => {
  const own = (row: (typeof everything)[number]): boolean =>
    row['tenant_id'] === 'tenant_1' &&
    row['group_type'] === 'LivenessFace' &&
    row['user_id'] === 'user_1'
  const base = { groupType: 'LivenessFace' } as const
  const filters: readonly (readonly [Partial<AssetListing>, Parameters<typeof expected>[0]])[] = [
    [{}, own],
    [{ region: 'overseas' }, (row) => own(row) && row['region'] === 'overseas'],
    [{ projectName: 'other' }, (row) => own(row) && row['project_name'] === 'other'],
    [{ groupIds: [groupId(3), groupId(9)] }, (row) => own(row) && row['group_id'] === groupId(3)],
    [{ groupIds: [groupId(9)] }, () => false],
    [{ groupIds: [] }, () => false],
    [{ groupIds: [''] }, () => false],
    [{ groupIds: ['', groupId(3)] }, (row) => own(row) && row['group_id'] === groupId(3)],
    [{ statuses: ['Active'] }, (row) => own(row) && row['state'] === 'active'],
    [
      { statuses: ['Failed'] },
      (row) => own(row) && ['failed', 'refused', 'withdrawn'].includes(row['state'] ?? ''),
    ],
    [
      { statuses: ['Processing', 'Active', 'Active'] },
      (row) => own(row) && ['created', 'processing', 'active'].includes(row['state'] ?? ''),
    ],
    [{ name: 'renamed' }, (row) => own(row) && row['name']?.startsWith('renamed') === true],
    [
      { name: 'asset 1', statuses: ['Processing'], region: 'domestic', projectName: 'default' },
      (row) =>
        own(row) &&
        row['name']?.startsWith('asset 1') === true &&
        ['created', 'processing'].includes(row['state'] ?? '') &&
        row['region'] === 'domestic' &&
        row['project_name'] === 'default',
    ],
    [
      { userId: 'user_2' },
      (row) => own({ ...row, user_id: 'user_1' }) && row['user_id'] === 'user_2',
    ],
  ]
  let found = 0
  for (const [filter, holds] of filters) {
    const what = JSON.stringify(filter)
    const ids = expected(holds)
    t.same(await idsOf({ ...base, ...filter }), ids, what)
    const { total } = await findAssets(pool, { ...all, ...base, ...filter, pageSize: 1 }, counted)
    t.equal(total, ids.length, what)
    found += ids.length
  }
  t.ok(found > 40, `${found} found`)
})

t.test('the general library is listed for every user of its tenant only', async (t) => {
  const ofTenant = (tenantId: string) =>
    expected((row) => row['tenant_id'] === tenantId && row['group_type'] === 'AIGC')
  const ids = ofTenant('tenant_0')
  t.ok(ids.length > 40)
  for (const userId of ['user_0', 'user_1', 'user_nobody'])
    t.same(await idsOf({ tenantId: 'tenant_0', userId }), ids)
  t.same(await idsOf({ tenantId: 'tenant_nobody' }), [])
  t.same(await idsOf({ tenantId: 'tenant_1', userId: 'user_9', groupType: 'LivenessFace' }), [])
})

t.test('pages join up in every order, from either end, with ties ordered by id', async (t) => {
  const of = { ...all, tenantId: 'tenant_0' }
  const keys = {
    CreateTime: (row: AssetRow) => row.createdAtMs,
    UpdateTime: (row: AssetRow) => row.updatedAtMs,
    GroupId: (row: AssetRow) => row.groupId,
  } as const
  for (const sortBy of ['CreateTime', 'UpdateTime', 'GroupId'] as const)
    for (const sortOrder of ['Asc', 'Desc'] as const) {
      const seen: AssetRow[] = []
      for (let pageNumber = 1; ; pageNumber += 1) {
        const listing = { ...of, sortBy, sortOrder, pageNumber, pageSize: 7 }
        const { rows, total } = await findAssets(pool, listing, counted)
        seen.push(...rows)
        t.ok(rows.length === 7 || seen.length === total, `page ${pageNumber}`)
        if (rows.length === 0 || seen.length >= total) break
      }
      const sorted = [...seen].sort((a, b) => {
        const [left, right] = [keys[sortBy](a), keys[sortBy](b)]
        const order = left === right ? (a.assetId < b.assetId ? -1 : 1) : left < right ? -1 : 1
        return sortOrder === 'Asc' ? order : -order
      })
      t.same(
        seen.map(({ assetId }) => assetId),
        sorted.map(({ assetId }) => assetId),
        `${sortBy} ${sortOrder}`,
      )
      t.equal(new Set(seen.map(({ assetId }) => assetId)).size, seen.length)
    }
  const beyond = await findAssets(pool, { ...of, pageNumber: 2 ** 31, pageSize: 500 }, counted)
  t.same(beyond.rows, [])
  t.ok(beyond.total > 40, 'beyond the end there is still a total')
})

t.test('a name filter matches a literal prefix', async (t) => {
  const named = async (name: string) =>
    (await idsOf({ tenantId: 'tenant_names', name })).map((id) => Number(id.slice(-3)) - 500)
  t.same(await named('100%'), [0])
  t.same(await named('100'), [1, 0])
  t.same(await named('1_'), [2])
  t.same(await named('a\\'), [3])
  t.same(await named('a'), [4, 3])
  t.same(await named('a\u{10ffff}'), [4])
  t.same(await named('\u{10ffff}'), [])
  t.same(await named('gr'), [6, 5])
  t.same(await named('GR'), [])
  t.same(await named('\u0000'), [])
  t.same(await named(''), [6, 5, 4, 3, 2, 1, 0])
  const groups = await findGroups(
    pool,
    { ...asked, tenantId: 'tenant_names', name: '50%' },
    counted,
  )
  t.same([groups.total, groups.rows.map((row) => row.groupId)], [1, [groupId(500)]])
})

t.test('a row has every known column, times in milliseconds', async (t) => {
  const { rows } = await findAssets(
    pool,
    { ...all, tenantId: 'tenant_0', sortOrder: 'Asc' },
    counted,
  )
  const { position, ...row } = rows[4] ?? {}
  t.strictSame(row, {
    assetId: assetId(8),
    tenantId: 'tenant_0',
    userId: 'user_2',
    tokenId: 'tok_tenant_0',
    requestId: 'req_library_8',
    groupId: groupId(0),
    groupType: 'AIGC',
    region: 'domestic',
    projectName: 'default',
    channelId: 'video-a-1',
    name: 'asset 8',
    nativeId: 'native-asset-8',
    createdAtMs: START_MS + 8_000,
    updatedAtMs: START_MS + 13_000,
    assetType: 'Image',
    state: 'failed',
    errorCode: 'FaceMismatch',
    errorMessage: 'another person',
  })
  t.equal(typeof position, 'bigint')
})

t.test('groups are listed with the same filters, without refused and deleted ones', async (t) => {
  const ids = async (listing: Partial<GroupListing>) => {
    const { rows, total } = await findGroups(pool, { ...asked, ...listing }, counted)
    t.equal(rows.length, total, JSON.stringify(listing))
    return rows.map((row) => row.groupId)
  }
  t.same(await ids({ tenantId: 'tenant_0' }), [groupId(2), groupId(0)])
  t.same(await ids({ tenantId: 'tenant_0', sortBy: 'GroupId', sortOrder: 'Asc' }), [
    groupId(0),
    groupId(2),
  ])
  t.same(await ids({ tenantId: 'tenant_0', sortBy: 'UpdateTime', name: 'renamed' }), [groupId(0)])
  t.same(await ids({ tenantId: 'tenant_0', groupIds: [groupId(2), groupId(1)] }), [groupId(2)])
  t.same(await ids({ tenantId: 'tenant_1' }), [], 'refused')
  t.same(await ids({ tenantId: 'tenant_1', region: 'overseas' }), [])
  const ofPerson = { groupType: 'LivenessFace' } as const
  t.same(await ids({ ...ofPerson, tenantId: 'tenant_1', userId: 'user_0' }), [groupId(3)])
  t.same(
    await ids({ ...ofPerson, tenantId: 'tenant_1', userId: 'user_0', projectName: 'other' }),
    [],
  )
  t.same(await ids({ ...ofPerson, tenantId: 'tenant_1', userId: 'user_1' }), [], 'deleted')
  t.same(
    await ids({ ...ofPerson, tenantId: 'tenant_0', userId: 'user_0' }),
    [groupId(6)],
    'withdrawn and still there upstream',
  )
})

t.test('a list too long to sort has the same pages', async (t) => {
  const many = 12_000
  await pool.query(
    `insert into assets.assets
     select (jsonb_populate_record(a, jsonb_build_object(
       'asset_id', 'asset-many-' || lpad(n::text, 6, '0'), 'tenant_id', 'tenant_many',
       'group_id', 'group_' || n % 2, 'region', case when n % 2 = 0 then 'domestic' else 'overseas' end,
       'project_name', 'p', 'name', 'n ' || n, 'state', case when n % 7 = 0 then 'failed' else 'active' end,
       'created_at', timestamptz '2026-01-01' + n % 500 * interval '1 minute',
       'updated_at', timestamptz '2026-01-01' + n * 7919 % 1000 * interval '1 minute'))).*
     from assets.assets a, generate_series(1, ${many}) n where a.asset_id = $1`,
    [assetId(0)],
  )
  await pool.query(
    `insert into assets.counts
     select tenant_id, group_type, '', 'asset', g, region, project_name,
            case state when 'active' then 'Active' else 'Failed' end, count(*), 1
     from assets.assets cross join lateral (values (''), (group_id)) v (g)
     where tenant_id = 'tenant_many' group by 1, 2, 3, 4, 5, 6, 7, 8`,
  )
  await pool.query('vacuum analyze assets.assets')
  const columns = {
    CreateTime: 'created_at',
    UpdateTime: 'updated_at',
    GroupId: 'group_id',
  } as const
  const filters: readonly (readonly [Partial<AssetListing>, string])[] = [
    [{}, 'true'],
    [{ projectName: 'p' }, 'true'],
    [{ statuses: ['Active', 'Failed'] }, 'true'],
    [{ statuses: ['Active'] }, `state = 'active'`],
    [{ region: 'overseas' }, `region = 'overseas'`],
    [{ groupIds: ['group_1', 'group_none'] }, `group_id = 'group_1'`],
    [{ name: 'n ', projectName: 'p' }, 'true'],
    [{ name: 'n 1', statuses: ['Active'] }, `name like 'n 1%' and state = 'active'`],
  ]
  for (const [filter, where] of filters)
    for (const sortBy of ['CreateTime', 'UpdateTime', 'GroupId'] as const)
      for (const sortOrder of ['Asc', 'Desc'] as const)
        for (const pageNumber of [1, 130]) {
          const page = { sortBy, sortOrder, pageNumber, pageSize: 20 }
          const listing = { ...all, ...filter, ...page, tenantId: 'tenant_many' }
          const { rows, total } = await findAssets(pool, listing, counted)
          const plain = await pool.query<{ asset_id: string; total: string }>(
            `select asset_id, count(*) over () as total from assets.assets
             where tenant_id = 'tenant_many' and ${where}
             order by ${columns[sortBy]} ${sortOrder}, asset_id ${sortOrder}
             limit 20 offset ${(pageNumber - 1) * 20}`,
          )
          const what = JSON.stringify({ ...filter, ...page })
          t.same(
            rows.map((row) => row.assetId),
            plain.rows.map((row) => row.asset_id),
            what,
          )
          t.equal(total, Number(plain.rows[0]?.total), what)
        }
})
