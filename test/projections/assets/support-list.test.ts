import t from 'tap'
import { assetsProjection } from '../../../projections/assets/projection.ts'
import {
  listAssetsFor,
  listGroupsFor,
  type AssetSearch,
  type GroupSearch,
} from '../../../projections/assets/query.ts'
import { applied, testPool } from '../support/database.ts'
import { Recorder } from '../support/history.ts'
import { assetId, groupId, libraryHistory } from '../support/library.ts'

const pool = await testPool(t)
await applied(t, pool, libraryHistory(new Recorder(), 88), [assetsProjection])

const anyGroup = {
  tenantId: undefined,
  userIds: undefined,
  groupType: undefined,
  state: undefined,
  region: undefined,
  projectName: undefined,
  groupId: undefined,
  nativeId: undefined,
} as const satisfies GroupSearch
const anyAsset = { ...anyGroup, assetId: undefined } as const satisfies AssetSearch

const assets = async (search: Partial<AssetSearch>) => {
  const page = { after: undefined, limit: 100 }
  const { items } = await listAssetsFor(pool, { ...anyAsset, ...search }, page)
  return items
}
const groups = async (search: Partial<GroupSearch>) => {
  const page = { after: undefined, limit: 100 }
  const { items } = await listGroupsFor(pool, { ...anyGroup, ...search }, page)
  return items.map((group) => group.groupId)
}

t.test('pages of all assets join up, newest first', async (t) => {
  const seen: string[] = []
  let after: string | undefined
  do {
    const { items, next } = await listAssetsFor(pool, anyAsset, { after, limit: 11 })
    seen.push(...items.map((asset) => asset.assetId))
    after = next
  } while (after !== undefined)
  t.same(
    seen,
    Array.from({ length: 88 }, (_, n) => assetId(87 - n)),
  )
})

t.test('a scope and every filter narrow the list', async (t) => {
  const cases: readonly (readonly [Partial<AssetSearch>, string, string | undefined])[] = [
    [{ tenantId: 'tenant_1' }, 'tenantId', 'tenant_1'],
    [{ userIds: ['user_2'] }, 'userId', 'user_2'],
    [{ groupType: 'LivenessFace' }, 'groupType', 'LivenessFace'],
    [{ state: 'deleted' }, 'state', 'deleted'],
    [{ state: 'withdrawn' }, 'state', 'withdrawn'],
    [{ region: 'overseas' }, 'region', 'overseas'],
    [{ projectName: 'other' }, 'projectName', 'other'],
    [{ groupId: groupId(3) }, 'groupId', groupId(3)],
    [{ assetId: assetId(5) }, 'assetId', assetId(5)],
    [{ nativeId: 'native-asset-5' }, 'nativeId', 'native-asset-5'],
  ]
  const every = await assets({})
  for (const [search, member, value] of cases) {
    const found = await assets(search)
    const wanted = every.filter((asset) =>
      Object.entries(asset).some(([k, v]) => k === member && v === value),
    )
    t.ok(found.length > 0, member)
    t.same(found, wanted, `${member} ${value}`)
  }
  t.same(await assets({ userIds: [] }), [])
  t.same(await assets({ tenantId: 'tenant_0', assetId: assetId(5) }), [], 'of another tenant')
  t.same(await assets({ nativeId: 'x\u0000' }), [])
})

t.test('groups are listed with the same filters, including refused and deleted ones', async (t) => {
  t.same(await groups({}), [7, 6, 3, 2, 1, 0].map(groupId))
  t.same(await groups({ tenantId: 'tenant_0' }), [6, 2, 0].map(groupId))
  t.same(await groups({ userIds: ['user_0', 'user_1'] }), [7, 6, 3, 1, 0].map(groupId))
  t.same(await groups({ groupType: 'AIGC' }), [2, 1, 0].map(groupId))
  t.same(await groups({ state: 'refused' }), [groupId(1)])
  t.same(await groups({ groupId: groupId(7) }), [groupId(7)])
  t.same(await groups({ nativeId: 'native-group-6' }), [groupId(6)])
  t.same(await groups({ region: 'overseas' }), [7, 3].map(groupId))
  const page = await listGroupsFor(pool, anyGroup, { after: groupId(6), limit: 2 })
  t.same([page.items.map((group) => group.groupId), page.next], [[3, 2].map(groupId), groupId(2)])
})
