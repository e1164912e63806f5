import t from 'tap'
import { assetId, groupId, personGroupId } from '../../../api/support/memory-assets.ts'
import { good, overseas, type Said, startLibrary } from './support.ts'

const { act, assets, refusal } = await startLibrary(t)
const lists = ['ListAssets', 'ListAssetGroups'] as const
const ofPersons = { GroupType: 'LivenessFace' }

void t.test('a list filtered by type only: the first ten, the newest first', async (t) => {
  for (const action of lists) {
    t.equal((await act(action, { Filter: ofPersons })).statusCode, 200)
    t.match(assets.asked.at(-1), {
      of: action === 'ListAssets' ? 'listAssets' : 'listGroups',
      input: {
        principal: { tenantId: 'tenant_1', userId: 'user_1' },
        requestId: /^req_/,
        model: undefined,
        projectName: undefined,
        groupType: 'LivenessFace',
        groupIds: undefined,
        statuses: undefined,
        name: undefined,
        pageNumber: 1,
        pageSize: 10,
        sortBy: 'CreateTime',
        sortOrder: 'Desc',
      },
    })
  }
})

void t.test('every filter, page and order reaches the use case', async (t) => {
  await act('ListAssets', {
    model: overseas,
    ProjectName: 'film-1',
    Filter: {
      GroupType: 'AIGC',
      GroupIds: [groupId, personGroupId, groupId],
      Statuses: ['Active', 'Failed', 'Processing'],
      Name: 'he',
    },
    PageNumber: 200,
    PageSize: 100,
    SortBy: 'GroupId',
    SortOrder: 'Asc',
  })
  t.match(assets.asked.at(-1)?.input, {
    model: overseas,
    projectName: 'film-1',
    groupType: 'AIGC',
    groupIds: [groupId, personGroupId],
    statuses: ['Active', 'Failed', 'Processing'],
    name: 'he',
    pageNumber: 200,
    pageSize: 100,
    sortBy: 'GroupId',
    sortOrder: 'Asc',
  })
})

void t.test('an empty list of groups is no filter, impossible groups match no asset', async (t) => {
  const groupIds = async (GroupIds: unknown) => {
    await act('ListAssets', { Filter: { ...ofPersons, GroupIds, Statuses: [], Name: '' } })
    const input = assets.asked.at(-1)?.input
    t.match(input, { statuses: undefined, name: undefined })
    return (input as { readonly groupIds: unknown }).groupIds
  }
  t.equal(await groupIds([]), undefined)
  t.equal(await groupIds(null), undefined)
  t.same(await groupIds(['group-1', "' or 1=1", groupId.toLowerCase()]), [])
  t.same(await groupIds(['group-1', groupId]), [groupId])
})

void t.test('a page shows its items and the total count', async (t) => {
  const answer = await act('ListAssets', { ...good.ListAssets, PageNumber: 3, PageSize: 20 })
  const { Result } = answer.json<Said>()
  t.match(Result, {
    Items: [{ Id: assetId, Status: 'Processing', CreateTime: '2026-03-04T05:06:07.000Z' }],
    TotalCount: 41,
    PageNumber: 3,
    PageSize: 20,
  })
  const groups = await act('ListAssetGroups', good.ListAssetGroups)
  t.match(groups.json<Said>().Result, {
    Items: [{ Id: groupId, GroupType: 'AIGC', Description: 'all of them' }],
    TotalCount: 1,
    PageNumber: 1,
    PageSize: 10,
  })
})

void t.test('400 names the fault of a filter, a page or an order', async (t) => {
  const filter = (part: object) => ({ Filter: { ...ofPersons, ...part } })
  const many = Array.from({ length: 101 }, () => groupId)
  const cases: readonly (readonly [object, string])[] = [
    [{ Filter: undefined }, 'MissingParameter.Filter'],
    [{ Filter: {} }, 'MissingParameter.Filter.GroupType'],
    [{ Filter: { GroupType: null } }, 'MissingParameter.Filter.GroupType'],
    [{ Filter: 'AIGC' }, 'InvalidParameter.Filter'],
    [{ Filter: [] }, 'InvalidParameter.Filter'],
    [filter({ GroupType: 'Person' }), 'InvalidParameter.Filter.GroupType'],
    [filter({ GroupIds: groupId }), 'InvalidParameter.Filter.GroupIds'],
    [filter({ GroupIds: [7] }), 'InvalidParameter.Filter.GroupIds'],
    [filter({ GroupIds: many }), 'InvalidParameter.Filter.GroupIds'],
    [filter({ Statuses: 'Active' }), 'InvalidParameter.Filter.Statuses'],
    [filter({ Statuses: ['active'] }), 'InvalidParameter.Filter.Statuses'],
    [filter({ Name: 7 }), 'InvalidParameter.Filter.Name'],
    [filter({ Name: 'n'.repeat(65) }), 'InvalidParameter.Filter.Name'],
    [filter({ AssetTypes: ['Image'] }), 'InvalidParameter.Filter.AssetTypes'],
    [{ ...filter({}), GroupIds: [groupId] }, 'InvalidParameter.GroupIds'],
    [{ ...filter({}), Statuses: ['Active'] }, 'InvalidParameter.Statuses'],
    [{ GroupType: 'AIGC' }, 'InvalidParameter.GroupType'],
    [{ ...filter({}), NextToken: 'x' }, 'InvalidParameter.NextToken'],
    [{ ...filter({}), MaxResults: 10 }, 'InvalidParameter.MaxResults'],
    [{ ...filter({}), PageNumber: 0 }, 'InvalidParameter.PageNumber'],
    [{ ...filter({}), PageNumber: '1' }, 'InvalidParameter.PageNumber'],
    [{ ...filter({}), PageNumber: 1.5 }, 'InvalidParameter.PageNumber'],
    [{ ...filter({}), PageNumber: 2_001 }, 'InvalidParameter.PageNumber'],
    [{ ...filter({}), PageNumber: 201, PageSize: 100 }, 'InvalidParameter.PageNumber'],
    [{ ...filter({}), PageSize: 0 }, 'InvalidParameter.PageSize'],
    [{ ...filter({}), PageSize: 101 }, 'InvalidParameter.PageSize'],
    [{ ...filter({}), SortBy: 'Name' }, 'InvalidParameter.SortBy'],
    [{ ...filter({}), SortOrder: 'desc' }, 'InvalidParameter.SortOrder'],
  ]
  for (const action of lists)
    for (const [body, code] of cases)
      t.match(await refusal(action, body), { status: 400, code }, JSON.stringify(body).slice(0, 80))
})

void t.test('Statuses are validated where groups are listed, and filter none out', async (t) => {
  const Filter = { ...ofPersons, Statuses: ['Active'] }
  t.equal((await act('ListAssetGroups', { Filter })).statusCode, 200)
})
