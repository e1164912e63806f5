import t from 'tap'
import { done, newAsset, newGroup, refusedWith, verifiedPerson } from './asset-client.ts'
import { sandboxFor } from './client.ts'

const NOW = 'sandbox running-ms=0'
const NEVER = 'sandbox stall'

interface Item {
  readonly Id: string
}
const idsOf = ({ Items }: { readonly Items: readonly Item[] }) => Items.map(({ Id }) => Id)

void t.test('lists filter by type, groups, states and exact name', async (t) => {
  const { url } = await sandboxFor(t)
  const [g1, g2] = [await newGroup(url, {}, { Name: 'one' }), await newGroup(url)]
  const person = await verifiedPerson(url)
  const a1 = await newAsset(url, g1, NOW, { Name: 'boat' })
  const a2 = await newAsset(url, g2, NEVER, { Name: 'boat-2' })
  const a3 = await newAsset(url, g2, `${NOW} fail=FpsTooLow`)
  const face = await newAsset(url, person, NOW)
  const assets = async (filter: object) => {
    const Filter = { GroupType: 'AIGC', ...filter }
    return idsOf(await done(url, 'ListAssets', { Filter, SortOrder: 'Asc' }))
  }
  t.same(await assets({}), [a1, a2, a3])
  t.same(await assets({ GroupType: 'LivenessFace' }), [face])
  t.same(await assets({ GroupIds: [g2, 'group-20260101000000-aaaaa'] }), [a2, a3])
  t.same(await assets({ GroupIds: [] }), [a1, a2, a3])
  t.same(await assets({ Statuses: ['Active'] }), [a1])
  t.same(await assets({ Statuses: ['Processing', 'Failed'] }), [a2, a3])
  t.same(await assets({ Name: 'boat' }), [a1])
  t.same(await assets({ Name: 'boa' }), [])
  t.same(await assets({ Name: 'boat', GroupIds: [g2] }), [])

  const groups = async (filter: object) => {
    const Filter = { GroupType: 'AIGC', ...filter }
    return idsOf(await done(url, 'ListAssetGroups', { Filter, SortOrder: 'Asc' }))
  }
  t.same(await groups({}), [g1, g2])
  t.same(await groups({ GroupType: 'LivenessFace' }), [person])
  t.same(await groups({ Name: 'one' }), [g1])
  t.same(await groups({ GroupIds: [g2] }), [g2])
})

void t.test('an item of a list equals the answer of a query', async (t) => {
  const { url } = await sandboxFor(t)
  const Id = await newAsset(url, await newGroup(url), NOW, { Name: 'boat' })
  const list = await done(url, 'ListAssets', { Filter: { GroupType: 'AIGC' } })
  t.match(list, { TotalCount: 1, PageNumber: 1, PageSize: 10 })
  const [item] = list.Items
  t.same(Object.keys(item), Object.keys(await done(url, 'GetAsset', { Id })))
  t.match(item, { Id, Name: 'boat', Status: 'Active', URL: String })
})

void t.test('pages: the newest first, or in the requested order', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url)
  const made: string[] = []
  for (let i = 0; i < 5; i += 1) {
    made.push(await newAsset(url, group, i === 0 ? 'sandbox running-ms=60000' : NOW))
    sandbox.advance(1_000)
  }
  const newest = made.toReversed()
  const page = async (body: object) =>
    done(url, 'ListAssets', { Filter: { GroupType: 'AIGC' }, ...body })
  t.same(idsOf(await page({})), newest)
  const second = await page({ PageNumber: 2, PageSize: 2 })
  t.same(idsOf(second), newest.slice(2, 4))
  t.match(second, { TotalCount: 5, PageNumber: 2, PageSize: 2 })
  t.same(idsOf(await page({ PageNumber: 3, PageSize: 2 })), newest.slice(4))
  t.same(idsOf(await page({ PageNumber: 4, PageSize: 2 })), [])
  t.same(idsOf(await page({ SortBy: 'CreateTime', SortOrder: 'Asc' })), made)
  sandbox.advance(60_000)
  const [first = '', ...others] = made
  const asLastChanged = [...others, first]
  t.same(idsOf(await page({ SortBy: 'UpdateTime', SortOrder: 'Asc' })), asLastChanged)
})

void t.test('sorted by group, assets and groups are ordered by group id', async (t) => {
  const { url } = await sandboxFor(t)
  const groups = [await newGroup(url), await newGroup(url), await newGroup(url)]
  const assets = await Promise.all(groups.map((group) => newAsset(url, group, NOW)))
  const body = { Filter: { GroupType: 'AIGC' }, SortBy: 'GroupId', SortOrder: 'Asc' }
  t.same(idsOf(await done(url, 'ListAssetGroups', body)), groups.toSorted())
  const listed = idsOf(await done(url, 'ListAssets', body))
  const groupOf = (id: string) => groups[assets.indexOf(id)]
  t.same(listed.map(groupOf), groups.toSorted())
})

const REFUSED: readonly (readonly [object, string])[] = [
  [{ Filter: undefined }, 'MissingParameter.Filter'],
  [{ Filter: {} }, 'MissingParameter.Filter.GroupType'],
  [{ Filter: 'AIGC' }, 'InvalidParameter.Filter'],
  [{ Filter: { GroupType: 'aigc' } }, 'InvalidParameter.Filter.GroupType'],
  [{ Filter: { GroupType: 'AIGC', GroupIds: 'g' } }, 'InvalidParameter.Filter.GroupIds'],
  [{ Filter: { GroupType: 'AIGC', Statuses: ['active'] } }, 'InvalidParameter.Filter.Statuses'],
  [{ PageNumber: 0 }, 'InvalidParameter.PageNumber'],
  [{ PageNumber: '1' }, 'InvalidParameter.PageNumber'],
  [{ PageSize: 0 }, 'InvalidParameter.PageSize'],
  [{ PageSize: 101 }, 'InvalidParameter.PageSize'],
  [{ SortBy: 'Name' }, 'InvalidParameter.SortBy'],
  [{ SortOrder: 'asc' }, 'InvalidParameter.SortOrder'],
  [{ NextToken: 'x' }, 'InvalidParameter.NextToken'],
]

void t.test('400 for a list with invalid parameters', async (t) => {
  const { url } = await sandboxFor(t)
  for (const [change, code] of REFUSED)
    for (const action of ['ListAssets', 'ListAssetGroups']) {
      const body = { Filter: { GroupType: 'AIGC' }, ...change }
      t.same(await refusedWith(url, action, body), { status: 400, code })
    }
})

void t.test('lists reach 20000 assets and 10000 groups', async (t) => {
  const { url } = await sandboxFor(t)
  const page = (PageNumber: number) => ({
    Filter: { GroupType: 'AIGC' },
    PageNumber,
    PageSize: 100,
  })
  const tooFar = { status: 400, code: 'InvalidParameter.PageNumber' }
  t.match(await done(url, 'ListAssets', page(200)), { Items: [], TotalCount: 0 })
  t.same(await refusedWith(url, 'ListAssets', page(201)), tooFar)
  t.match(await done(url, 'ListAssetGroups', page(100)), { Items: [], TotalCount: 0 })
  t.same(await refusedWith(url, 'ListAssetGroups', page(101)), tooFar)
})

void t.test('page-cap, empty-list, unmarked: lists that omit assets', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url)
  for (let i = 0; i < 3; i += 1) await newAsset(url, group, NOW, { Name: `n${i}` })
  const body = { Filter: { GroupType: 'AIGC' }, PageSize: 100 }
  const under = async (fault: string) => {
    const rule = sandbox.faults.add({ faults: [fault], match: { family: 'assets', op: 'list' } })
    const page = await done(url, 'ListAssets', body)
    sandbox.faults.clear(rule.id)
    return page
  }
  t.match(await under('page-cap=2'), { Items: { length: 2 }, TotalCount: 3, PageSize: 2 })
  t.strictSame((await under('empty-list')).Items, [])
  const unmarked = await under('unmarked')
  t.equal(unmarked.Items.length, 3)
  t.notOk(unmarked.Items.some((item: object) => 'Name' in item))
})
