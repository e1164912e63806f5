import t from 'tap'
import { rebuildProjection } from '../../../projections/engine/rebuild.ts'
import { assetsProjection } from '../../../projections/assets/projection.ts'
import { differingAssetCounts } from '../../../projections/assets/query.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { applied, digestOf, testPool } from '../support/database.ts'
import { Recorder, START_MS } from '../support/history.ts'
import {
  assetId,
  assetLives,
  groupId,
  libraryHistory,
  recordAsset,
  recordGroup,
  recordVerification,
  verificationId,
  type AssetLife,
} from '../support/library.ts'
import { ScriptedLog } from '../support/memory-log.ts'

/** What a life leaves of an asset: its state, whether upstream's id is known, why it failed. */
const left: Readonly<Record<AssetLife, readonly [string, boolean, string | null]>> = {
  begun: ['created', false, null],
  processing: ['processing', true, null],
  active: ['active', true, null],
  activeOnceFound: ['active', true, null],
  failed: ['failed', true, 'FaceMismatch'],
  refused: ['refused', false, 'InvalidURL'],
  used: ['active', true, null],
  withdrawn: ['withdrawn', true, null],
  deleted: ['deleted', true, null],
  withdrawnUnsaid: ['withdrawn', true, null],
  deletedUnsaid: ['deleted', true, null],
}

t.test('an asset’s row has the state at the end of its events', async (t) => {
  const recorder = new Recorder()
  const lives = Object.keys(assetLives) as AssetLife[]
  const pool = await testPool(t)
  await applied(
    t,
    pool,
    lives.flatMap((life, n) => recordAsset(recorder, { n }, ...assetLives[life])),
    [assetsProjection],
  )
  const { rows } = await pool.query('select * from assets.assets order by asset_id')
  t.equal(rows.length, lives.length)
  for (const [n, life] of lives.entries()) {
    const [state, isKnown, code] = left[life]
    t.match(
      rows[n],
      {
        asset_id: assetId(n),
        state,
        native_id: isKnown ? `native-asset-${n}` : null,
        error_code: code,
      },
      life,
    )
  }
})

t.test('each column has the values of the events', async (t) => {
  const recorder = new Recorder()
  const shape = { n: 1, groupType: 'LivenessFace', group: 1, name: 'größe "1"' } as const
  const person = [
    ...recordVerification(recorder, shape, 'started', 'confirmed'),
    ...recordGroup(recorder, shape, 'created', 'accepted', 'updated'),
  ]
  const named = recordAsset(recorder, shape, 'created', 'accepted', 'failed')
  const used = recordAsset(recorder, { n: 2 }, 'created', 'accepted', 'activated', 'updated')
  const uses = recordAsset(recorder, { n: 2 }, 'used', 'used')
  const pool = await testPool(t)
  await applied(t, pool, [...person, ...named, ...used, ...uses], [assetsProjection])
  const by = {
    tenant_id: 'tenant_1',
    user_id: 'user_1',
    token_id: 'tok_tenant_1',
    request_id: 'req_library_1',
  }
  const kept = { region: 'domestic', project_name: 'default', channel_id: 'video-a-1' }
  const at = (offsetMs: number): Date => new Date(START_MS + 1_000 + offsetMs)
  const place = (event: RecordedEvent | undefined): string => String(event?.position)
  const rowOf = async (table: string, id: string) =>
    (await pool.query(`select * from assets.${table} where ${table.slice(0, -1)}_id = $1`, [id]))
      .rows[0] as unknown
  t.strictSame(await rowOf('assets', assetId(1)), {
    asset_id: assetId(1),
    ...by,
    ...kept,
    group_id: groupId(1),
    group_type: 'LivenessFace',
    asset_type: 'Image',
    name: 'größe "1"',
    native_id: 'native-asset-1',
    state: 'failed',
    error_code: 'FaceMismatch',
    error_message: 'another person',
    created_at: at(0),
    updated_at: at(5_000),
    position: place(named.at(-1)),
  })
  t.strictSame(await rowOf('groups', groupId(1)), {
    group_id: groupId(1),
    ...by,
    ...kept,
    group_type: 'LivenessFace',
    name: 'renamed 1',
    description: 'what 1 became',
    native_id: 'native-group-1',
    verification_id: verificationId(1),
    state: 'accepted',
    created_at: at(0),
    updated_at: at(7_000),
    position: place(person.at(-1)),
  })
  t.strictSame(await rowOf('verifications', verificationId(1)), {
    verification_id: verificationId(1),
    ...by,
    ...kept,
    group_id: groupId(1),
    native_group_id: 'native-group-1',
    state: 'confirmed',
    started_at: at(0),
    expires_at: at(1_800_000),
    updated_at: at(50),
    position: place(person[1]),
  })
  t.match(
    await rowOf('assets', assetId(2)),
    { name: 'renamed 2', position: place(used.at(-1)) },
    'a use changes nothing',
  )
})

t.test('rows are equal for any batches, and counts equal the rows', async (t) => {
  const events = libraryHistory(new Recorder())
  const digests = []
  for (const batch of [events.length, 7, 1]) {
    const pool = await testPool(t)
    await applied(t, pool, events, [assetsProjection], batch)
    digests.push((await digestOf(pool, assetsProjection)).hash)
    const upTo = events.at(-1)?.position ?? 0n
    for (const tenantId of ['tenant_0', 'tenant_1'])
      t.same(await differingAssetCounts(pool, tenantId, upTo, 10), [])
    const { rows } = await pool.query('select from assets.counts where n < 0')
    t.same(rows, [])
  }
  t.equal(new Set(digests).size, 1)
})

t.test('a rebuild next to live tables gives equal rows', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(libraryHistory(new Recorder()))
  await applied(t, pool, log.events, [assetsProjection], 13)
  const before = await digestOf(pool, assetsProjection)
  t.match(before.totals, { 'assets active': '14', 'groups accepted': '2' })
  const result = await rebuildProjection({ pool, log, projection: assetsProjection })
  t.match(result, { outcome: 'swapped', comparison: { equal: true } })
  t.same(await digestOf(pool, assetsProjection), before)
})

t.test('text that Postgres cannot store has replacement characters', async (t) => {
  const recorder = new Recorder()
  const pool = await testPool(t)
  const shape = { n: 1, name: 'a\u0000b', projectName: 'p\ud800' }
  const events = recordAsset(recorder, shape, 'created', 'accepted', 'activated')
  await applied(t, pool, events, [assetsProjection], 1)
  const { rows } = await pool.query('select name, project_name from assets.assets')
  t.same(rows, [{ name: 'a\ufffdb', project_name: 'p\ufffd' }])
  t.same(await differingAssetCounts(pool, 'tenant_1', 1n << 62n, 10), [])
})

t.test('names of the largest characters are stored and listed', async (t) => {
  const recorder = new Recorder()
  const pool = await testPool(t)
  const words = { name: '\u{10fffd}'.repeat(64), projectName: '\u{10fffd}'.repeat(128) }
  const events = [
    ...recordAsset(recorder, { n: 1, ...words }, 'created', 'accepted', 'activated'),
    ...recordGroup(recorder, { n: 1, ...words }, 'created', 'accepted'),
  ]
  await applied(t, pool, events, [assetsProjection])
  const { rows } = await pool.query('select name, project_name from assets.assets')
  t.same(rows, [{ name: words.name, project_name: words.projectName }])
})

t.test('1,000 events are one batch, and the last event of an asset counts', async (t) => {
  const recorder = new Recorder()
  const pool = await testPool(t)
  const events = Array.from({ length: 250 }, (_, n) =>
    recordAsset(recorder, { n }, 'created', 'accepted', 'activated', 'updated'),
  ).flat()
  await applied(t, pool, events, [assetsProjection], 1_000)
  const { rows } = await pool.query(
    `select state, count(*)::int as n, count(distinct name)::int as names from assets.assets
     where name like 'renamed %' group by state`,
  )
  t.same(rows, [{ state: 'active', n: 250, names: 250 }])
})
