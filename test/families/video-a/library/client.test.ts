import t from 'tap'
import type { AssetProvider } from '../../../../src/app/ports/assets.ts'
import type { CallOptions, Channel } from '../../../../src/app/ports/provider.ts'
import { answer, channelAt, libraryWith, openLibrary, options, provider } from './library.ts'

const asset = { nativeId: 'asset-20260102030405-q8w2e', projectName: 'films' }
const group = { nativeId: 'group-20260102030405-a1b2c', projectName: 'films' }

interface ActionCase {
  readonly action: string
  readonly ask: (provider: AssetProvider, channel: Channel, options: CallOptions) => unknown
  /** What upstream gets, but for the project. */
  readonly body: object
  readonly result: object
  readonly expected: unknown
}

const actions: readonly ActionCase[] = [
  {
    action: 'CreateAssetGroup',
    ask: (provider, channel, options) =>
      provider.createGroup(channel, { name: 'group-ours', projectName: 'films' }, options),
    body: { Name: 'group-ours', GroupType: 'AIGC' },
    result: { Id: group.nativeId },
    expected: { nativeId: group.nativeId },
  },
  {
    action: 'CreateAsset',
    ask: (provider, channel, options) =>
      provider.createAsset(
        channel,
        {
          name: 'asset-ours',
          projectName: 'films',
          nativeGroupId: group.nativeId,
          url: 'https://media.example.test/a b.png?x=1&y=ü',
          assetType: 'Image',
        },
        options,
      ),
    body: {
      GroupId: group.nativeId,
      URL: 'https://media.example.test/a b.png?x=1&y=ü',
      AssetType: 'Image',
      Name: 'asset-ours',
    },
    result: { Id: asset.nativeId },
    expected: { nativeId: asset.nativeId },
  },
  {
    action: 'GetAsset',
    ask: (provider, channel, options) => provider.getAsset(channel, asset, options),
    body: { Id: asset.nativeId },
    result: {
      Id: asset.nativeId,
      Name: 'asset-ours',
      AssetType: 'Image',
      GroupId: group.nativeId,
      Status: 'Active',
      URL: 'https://store.example.test/a.png?signature=1',
      Error: null,
    },
    expected: {
      nativeId: asset.nativeId,
      name: 'asset-ours',
      status: 'active',
      error: undefined,
      url: 'https://store.example.test/a.png?signature=1',
    },
  },
  {
    action: 'ListAssets',
    ask: (provider, channel, options) =>
      provider.listAssets(
        channel,
        {
          groupType: 'AIGC',
          projectName: 'films',
          pageNumber: 2,
          pageSize: 100,
          standing: 'processing',
        },
        options,
      ),
    body: {
      Filter: { GroupType: 'AIGC', Statuses: ['Processing'] },
      PageNumber: 2,
      PageSize: 100,
      SortBy: 'CreateTime',
      SortOrder: 'Desc',
    },
    result: {
      Items: [{ Id: asset.nativeId, Name: 'asset-ours', Status: 'Processing' }],
      TotalCount: 101,
    },
    expected: {
      items: [
        {
          nativeId: asset.nativeId,
          name: 'asset-ours',
          status: 'processing',
          error: undefined,
          url: undefined,
        },
      ],
      total: 101,
    },
  },
  {
    action: 'ListAssets',
    ask: (provider, channel, options) =>
      provider.listAssets(
        channel,
        { groupType: 'AIGC', projectName: 'films', pageNumber: 1, pageSize: 50, standing: 'ended' },
        options,
      ),
    body: {
      Filter: { GroupType: 'AIGC', Statuses: ['Active', 'Failed'] },
      PageNumber: 1,
      PageSize: 50,
      SortBy: 'UpdateTime',
      SortOrder: 'Desc',
    },
    result: { Items: [], TotalCount: 0 },
    expected: { items: [], total: 0 },
  },
  {
    action: 'ListAssetGroups',
    ask: (provider, channel, options) =>
      provider.listGroups(
        channel,
        {
          groupType: 'LivenessFace',
          projectName: 'films',
          name: 'group-ours',
          pageNumber: 1,
          pageSize: 10,
        },
        options,
      ),
    body: {
      Filter: { GroupType: 'LivenessFace', Name: 'group-ours' },
      PageNumber: 1,
      PageSize: 10,
      SortBy: 'CreateTime',
      SortOrder: 'Desc',
    },
    result: { Items: [{ Id: group.nativeId, Name: 'group-ours', GroupType: 'LivenessFace' }] },
    expected: { items: [{ nativeId: group.nativeId, name: 'group-ours' }], total: undefined },
  },
  {
    action: 'DeleteAsset',
    ask: (provider, channel, options) => provider.deleteAsset(channel, asset, options),
    body: { Id: asset.nativeId },
    result: {},
    expected: undefined,
  },
  {
    action: 'DeleteAssetGroup',
    ask: (provider, channel, options) => provider.deleteGroup(channel, group, options),
    body: { Id: group.nativeId },
    result: {},
    expected: undefined,
  },
  {
    action: 'CreateVisualValidateSession',
    ask: (provider, channel, options) =>
      provider.startVerification(
        channel,
        { callbackUrl: 'https://caller.example.test/done', projectName: 'films' },
        options,
      ),
    body: { CallbackURL: 'https://caller.example.test/done' },
    result: {
      BytedToken: '20260102030405ABCDEF',
      H5Link: 'https://h5.example.test/verify?token=1&lng=en',
      CallbackURL: 'https://caller.example.test/done',
    },
    expected: {
      credential: '20260102030405ABCDEF',
      link: 'https://h5.example.test/verify?token=1&lng=en',
    },
  },
  {
    action: 'GetVisualValidateResult',
    ask: (provider, channel, options) =>
      provider.verificationResult(
        channel,
        { credential: '20260102030405ABCDEF', projectName: 'films' },
        options,
      ),
    body: { BytedToken: '20260102030405ABCDEF' },
    result: { GroupId: group.nativeId },
    expected: { kind: 'passed', nativeGroupId: group.nativeId },
  },
]

for (const { action, ask, body, result, expected } of actions)
  t.test(`${action}: requested as on the wire, signed, and its answer read`, async (t) => {
    const { url, channel, asked } = await libraryWith(t, result)
    const calls = provider(t)
    t.same(await ask(calls, channel, options()), expected)
    const ownProject = channelAt(`${url}/open/`, { projectName: 'account-project' })
    t.same(await ask(calls, ownProject, options()), expected)
    const [first, second] = asked
    t.match(first, { method: 'POST', path: '/', query: { Action: action, Version: '2024-01-01' } })
    t.equal(first?.headers['content-type'], 'application/json')
    t.same(Object.keys(first?.query ?? {}), ['Action', 'Version'])
    t.same(first?.body, { ...body, ProjectName: 'films' })
    t.equal(second?.path, '/open/', 'below the address of the library')
    t.same(
      second?.body,
      { ...body, ProjectName: 'account-project' },
      'in the project of the account',
    )
  })

t.test('a result may come without an envelope', async (t) => {
  for (const { action, ask, result, expected } of actions.filter(({ action }) =>
    action.includes('VisualValidate'),
  )) {
    const { channel } = await openLibrary(t, (_asked, response) => answer(response, result))
    t.same(await ask(provider(t), channel, options()), expected, action)
  }
})

t.test('a request carries the time of the clock it is given', async (t) => {
  const atMs = Date.parse('2026-01-02T03:04:05.999Z')
  const { channel, asked } = await libraryWith(t, { Id: asset.nativeId, Status: 'Active' })
  await provider(t, { nowMs: () => atMs }).getAsset(channel, asset, options())
  t.equal(asked[0]?.headers['x-date'], '20260102T030405Z')
})

t.test('the error of a failed asset is read, and scrubbed', async (t) => {
  const fault = async (error: unknown) => {
    const failed = { Id: asset.nativeId, GroupId: group.nativeId, Status: 'Failed', Error: error }
    const { channel } = await libraryWith(t, failed)
    const seen = await provider(t).getAsset(channel, asset, options())
    return seen === 'gone' ? seen : [seen.status, seen.error]
  }
  t.same(await fault({ Code: 'FpsTooLow', Message: 'It needs 24 frames a second.' }), [
    'failed',
    { code: 'FpsTooLow', message: 'It needs 24 frames a second.' },
  ])
  const [, failure] = (await fault({
    Code: 'FaceMismatch',
    Message: `Acmecorp: ${asset.nativeId} of ${group.nativeId} is not the person, see https://acmecloud.test/doc`,
  })) as [string, object]
  t.same(failure, {
    code: 'FaceMismatch',
    message: 'The provider: [hidden] of [hidden] is not the person, see [link]',
  })
  const nothing = { code: 'ProcessingFailed', message: 'The asset library gave no reason.' }
  for (const error of [undefined, null, {}, { Code: 7, Message: {} }, 'no'])
    t.same(await fault(error), ['failed', nothing])
})

t.test('an unknown status is unknown, never a failure; an old error does not count', async (t) => {
  for (const status of ['Frozen', undefined, 7]) {
    const { channel } = await libraryWith(t, { Id: asset.nativeId, Status: status })
    t.match(await provider(t).getAsset(channel, asset, options()), { status: 'unknown' })
  }
  const { channel } = await libraryWith(t, {
    Id: asset.nativeId,
    Status: 'Processing',
    Error: { Code: 'FpsTooLow', Message: 'no' },
    URL: 'file:///etc/passwd',
  })
  t.match(await provider(t).getAsset(channel, asset, options()), {
    status: 'processing',
    error: undefined,
    url: undefined,
  })
})

const page = { groupType: 'AIGC', projectName: 'films', pageNumber: 1, pageSize: 10 } as const

t.test('a list by name has exact matches only', async (t) => {
  const { channel } = await libraryWith(t, {
    Items: [
      { Id: 'asset-1', Name: 'asset-ours-2', Status: 'Active' },
      { Id: 'asset-2', Name: 'asset-ours', Status: 'Active' },
      { Id: 'asset-3', Status: 'Active' },
      { Name: 'asset-ours' },
      'asset-ours',
    ],
    TotalCount: 5,
  })
  const { items } = await provider(t).listAssets(
    channel,
    { ...page, name: 'asset-ours' },
    options(),
  )
  t.same(
    items.map(({ nativeId }) => nativeId),
    ['asset-2'],
  )
  const all = await provider(t).listAssets(channel, page, options())
  t.same(
    all.items.map(({ nativeId }) => nativeId),
    ['asset-1', 'asset-2', 'asset-3'],
    'what cannot be read is left out',
  )
})

t.test('an empty list is read in any notation', async (t) => {
  for (const result of [{ Items: [], TotalCount: 0 }, { Items: null }, { TotalCount: 0 }]) {
    const { channel } = await libraryWith(t, result)
    t.match(await provider(t).listGroups(channel, page, options()), { items: [] })
  }
})

t.test('a page beyond upstream’s bounds is never requested', async (t) => {
  const { channel, asked } = await libraryWith(t, { Items: [] })
  const calls = provider(t)
  const wrong = [
    { ...page, pageSize: calls.maxPageSize + 1 },
    { ...page, pageNumber: calls.maxListed / 100 + 1, pageSize: 100 },
  ]
  for (const beyond of wrong) {
    await t.rejects(calls.listAssets(channel, beyond, options()), RangeError)
    await t.rejects(calls.listGroups(channel, beyond, options()), RangeError)
  }
  await calls.listAssets(channel, { ...page, pageNumber: 100, pageSize: 100 }, options())
  t.equal(asked.length, 1)
})

t.test('a verification without a group is pending', async (t) => {
  const key = { credential: 'one-time', projectName: 'films' }
  for (const result of [{}, { GroupId: '' }, { GroupId: null }]) {
    const { channel } = await libraryWith(t, result)
    t.same(await provider(t).verificationResult(channel, key, options()), { kind: 'pending' })
  }
})
