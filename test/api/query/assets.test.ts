import t from 'tap'
import { listKeyOf, toCursor } from '../../../src/api/kit/routes/queries.ts'
import type { AssetRow, GroupRow } from '../../../projections/assets/query.ts'
import { assetId, groupId } from '../../projections/support/library.ts'
import { startApp } from '../support/app.ts'

const { app, ledger } = await startApp()
t.teardown(async () => app.close())

const at = Date.parse('2026-03-04T05:06:07Z')
const kept = {
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'tok_1',
  requestId: 'req_1',
  groupId: groupId(1),
  groupType: 'LivenessFace',
  region: 'domestic',
  projectName: 'default',
  channelId: 'video-a-1',
  name: '=hero',
  nativeId: 'native-1',
  createdAtMs: at,
  updatedAtMs: at + 1,
  position: 17n,
} as const

function asset(n: number, part: Partial<AssetRow> = {}): AssetRow {
  const failed = { state: 'failed', errorCode: 'FaceMismatch', errorMessage: 'another' } as const
  return { ...kept, assetId: assetId(n), assetType: 'Image', ...failed, ...part }
}

function group(n: number, part: Partial<GroupRow> = {}): GroupRow {
  const words = { description: 'the lead', verificationId: 'v1', state: 'accepted' } as const
  return { ...kept, groupId: groupId(n), ...words, ...part }
}

async function get(path: string, secret = 'qak-all', headers: Record<string, string> = {}) {
  const url = `/api/query/v1${path}`
  return app.inject({ url, headers: { authorization: `Bearer ${secret}`, ...headers } })
}

interface Page {
  readonly data: {
    readonly items: readonly Readonly<Record<string, unknown>>[]
    readonly next_cursor: string | null
  }
}

const idsOf = async (query: string, secret?: string): Promise<readonly unknown[]> => {
  const answer = await get(`/assets?${query}`, secret)
  t.equal(answer.statusCode, 200, answer.body)
  return answer.json<Page>().data.items.map((item) => item['asset_id'])
}

t.beforeEach(() => {
  ledger.assets = [
    asset(4, { tenantId: 'tenant_2', userId: 'user_9' }),
    asset(3, { userId: 'user_3', region: 'overseas' }),
    asset(2, { userId: 'user_2', projectName: 'größe', groupType: 'AIGC' }),
    asset(1, { nativeId: null }),
  ]
  ledger.groups = [group(2, { tenantId: 'tenant_2', userId: 'user_9' }), group(1)]
})

void t.test('an asset is listed with its failure, without names of our accounts', async (t) => {
  const answer = await get(`/assets?asset_id=${assetId(3)}`)
  const item = {
    asset_id: assetId(3),
    group_id: groupId(1),
    state: 'failed',
    asset_type: 'Image',
    name: '=hero',
    created_at: '2026-03-04T05:06:07.000Z',
    updated_at: '2026-03-04T05:06:07.001Z',
    tenant_id: 'tenant_1',
    user_id: 'user_3',
    token_id: 'tok_1',
    request_id: 'req_1',
    region: 'overseas',
    project_name: 'default',
    group_type: 'LivenessFace',
    error_code: 'FaceMismatch',
    error_message: 'another',
    channel_id: null,
    native_id: null,
  }
  t.strictSame(answer.json(), {
    success: true,
    message: '',
    data: { items: [item], next_cursor: null },
  })
  const seen = await get(`/assets?asset_id=${assetId(3)}`, 'qak-operator')
  t.strictSame(seen.json<Page>().data.items, [
    { ...item, channel_id: 'video-a-1', native_id: 'native-1' },
  ])
})

void t.test('a scope shows its own assets only, and every filter narrows', async (t) => {
  const ids = (...numbers: readonly number[]) => numbers.map(assetId)
  t.same(await idsOf('', 'qak-user'), ids(1))
  t.same(await idsOf('', 'qak-some'), ids(2, 1))
  t.same(await idsOf(''), ids(3, 2, 1))
  t.same(await idsOf('', 'qak-operator'), ids(4, 3, 2, 1))
  t.same(await idsOf('tenant_id=tenant_2', 'qak-operator'), ids(4))
  t.same(await idsOf('user_id=user_3'), ids(3))
  t.same(await idsOf('region=overseas'), ids(3))
  t.same(await idsOf('group_type=AIGC'), ids(2))
  t.same(await idsOf('project_name=gr%C3%B6%C3%9Fe'), ids(2))
  t.same(await idsOf(`group_id=${groupId(9)}`), [])
  t.same(await idsOf('native_id=native-1'), ids(3, 2))
})

void t.test('pages follow each other by cursor without gap or repetition', async (t) => {
  ledger.assets = Array.from({ length: 25 }, (_, n) => asset(25 - n))
  const seen: unknown[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer = await get(`/assets?limit=10${cursor === '' ? '' : `&cursor=${cursor}`}`)
    const { data } = answer.json<Page>()
    seen.push(...data.items.map((item) => item['asset_id']))
    cursor = data.next_cursor
  }
  t.same(
    seen,
    ledger.assets.map((each) => each.assetId),
  )
})

void t.test('a CSV export has all assets below one header line', async (t) => {
  ledger.assets = Array.from({ length: 1_200 }, (_, n) => asset(1_200 - n))
  const answer = await get('/assets', 'qak-all', { accept: 'text/csv' })
  t.match(answer.headers, {
    'content-type': /^text\/csv/,
    'content-disposition': 'attachment; filename="assets.csv"',
    'cache-control': 'no-store',
  })
  const [head, first, ...others] = answer.body.trimEnd().split('\r\n')
  t.match(head, /^asset_id,group_id,state,asset_type,name,created_at,/)
  t.match(first, new RegExp(`^${assetId(1_200)},${groupId(1)},failed,Image,'=hero,2026-`))
  t.equal(others.length, 1_199)
  const limited = await get('/asset-groups?format=csv&limit=1', 'qak-operator')
  t.match(limited.headers['content-disposition'], /asset-groups\.csv/)
  t.equal(limited.body.trimEnd().split('\r\n').length, 2)
})

void t.test('groups of assets are listed with the same filters and cursors', async (t) => {
  const answer = await get('/asset-groups')
  t.strictSame(answer.json<Page>().data.items, [
    {
      group_id: groupId(1),
      state: 'accepted',
      name: '=hero',
      description: 'the lead',
      created_at: '2026-03-04T05:06:07.000Z',
      updated_at: '2026-03-04T05:06:07.001Z',
      tenant_id: 'tenant_1',
      user_id: 'user_1',
      token_id: 'tok_1',
      request_id: 'req_1',
      region: 'domestic',
      project_name: 'default',
      group_type: 'LivenessFace',
      verification_id: 'v1',
      channel_id: null,
      native_id: null,
    },
  ])
  const page = await get('/asset-groups?limit=1', 'qak-operator')
  const { data } = page.json<Page>()
  t.match(data.items, [{ group_id: groupId(2), native_id: 'native-1' }])
  const next = await get(`/asset-groups?cursor=${data.next_cursor}`, 'qak-operator')
  t.match(next.json(), { data: { items: [{ group_id: groupId(1) }], next_cursor: null } })
})

void t.test('403 scope_denied for a tenant or a user outside of the scope', async (t) => {
  for (const [query, secret, param] of [
    ['tenant_id=tenant_2', 'qak-all', 'tenant_id'],
    ['user_id=user_3', 'qak-user', 'user_id'],
  ] as const)
    for (const path of ['assets', 'asset-groups']) {
      const answer = await get(`/${path}?${query}`, secret)
      t.equal(answer.statusCode, 403)
      t.match(answer.json(), { success: false, error: { code: 'scope_denied', param } })
    }
})

void t.test('400 names the parameter that cannot be read', async (t) => {
  const list = listKeyOf(['assets', { tenantId: 'tenant_1' }], {})
  const foreign = toCursor('line_000001', list)
  const groups = toCursor(groupId(1), list)
  for (const [query, param] of [
    ['state=Active', 'state'],
    ['group_type=aigc', 'group_type'],
    ['region=moon', 'region'],
    ['project_name=', 'project_name'],
    ['limit=1001', 'limit'],
    ['format=xml', 'format'],
    ['asset_id=%00', 'asset_id'],
    ['cursor=!', 'cursor'],
    [`cursor=${foreign}`, 'cursor'],
    [`cursor=${groups}`, 'cursor'],
    ['name=hero', 'name'],
  ] as const) {
    const answer = await get(`/assets?${query}`)
    t.equal(answer.statusCode, 400, query)
    t.match(answer.json(), { error: { code: 'invalid_request', param } }, query)
  }
  const answer = await get('/asset-groups?state=processing')
  t.match(answer.json(), { error: { code: 'invalid_request', param: 'state' } })
})

const history = async (id: string, secret?: string) => get(`/assets/${id}/history`, secret)
const owner = { tenantId: 'tenant_1', userId: 'user_1', metadata: {} } as const
const events = [
  {
    ...owner,
    position: '17',
    type: 'AssetCreated',
    atMs: at,
    data: { assetId: assetId(1), channelId: 'video-a-1', name: 'hero' },
  },
  {
    ...owner,
    position: '19',
    type: 'AssetAccepted',
    atMs: at + 1,
    data: { assetId: assetId(1), nativeId: 'native-1', learntFrom: 'answer' },
  },
  {
    ...owner,
    position: '21',
    type: 'VerificationConfirmed',
    atMs: at + 2,
    data: { groupId: groupId(1), nativeGroupId: 'native-g' },
  },
  {
    ...owner,
    position: '23',
    type: 'TaskSubmitted',
    atMs: at + 3,
    data: { nativeId: 'cgt-1' },
  },
]
ledger.histories.set(assetId(1), events)
ledger.histories.set('req_task', events.slice(3))
ledger.histories.set(
  assetId(4),
  events.map((event) => ({ ...event, tenantId: 'tenant_2' })),
)

void t.test('the history of an asset has its events, without its upstream id', async (t) => {
  const answer = await history(assetId(1))
  t.equal(answer.statusCode, 200)
  t.same(
    answer.json<Page>().data.items.map(({ type, data }) => [type, data]),
    [
      ['AssetCreated', { assetId: assetId(1), name: 'hero' }],
      ['AssetAccepted', { assetId: assetId(1), learntFrom: 'answer' }],
      ['VerificationConfirmed', { groupId: groupId(1) }],
    ],
  )
  const seen = (await history(assetId(1), 'qak-operator')).json<Page>().data.items
  t.same(
    seen.map((item) => item['data']),
    events.slice(0, 3).map(({ data }) => data),
  )
})

void t.test('the history of a task shows its native id', async (t) => {
  const answer = await get('/tasks/req_task/history')
  t.match(answer.json(), { data: { items: [{ data: { nativeId: 'cgt-1' } }] } })
})

void t.test('404 with identical bytes for unknown and foreign assets and other ids', async (t) => {
  const unknown = await history('asset-none')
  t.equal(unknown.statusCode, 404)
  t.same(unknown.json(), {
    success: false,
    message: 'The specified asset was not found',
    error: { code: 'asset_not_found' },
  })
  for (const [id, secret] of [
    [assetId(4), 'qak-all'],
    ['req_task', 'qak-operator'],
    ['%01', 'qak-operator'],
    ['x'.repeat(2_000), 'qak-operator'],
  ] as const)
    t.equal((await history(id, secret)).body, unknown.body, id.slice(0, 30))
  t.equal((await history(assetId(4), 'qak-operator')).statusCode, 200)
})

void t.test('401 and 403 without a query token', async (t) => {
  for (const path of ['/assets', '/asset-groups', `/assets/${assetId(1)}/history`]) {
    t.equal((await get(path, 'none')).statusCode, 401)
    t.match((await get(path, 'sk-one')).json(), { error: { code: 'wrong_token_kind' } })
  }
})
