import t from 'tap'
import { allProjections } from '../../projections/registry.ts'
import { audit } from '../../src/app/audit/audit.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { passVerification } from '../app/assets/support/library.ts'
import { call, steadyHeaders } from './support/client.ts'

const PUBLIC = ['93.184.216.34']
const stack = await startStack({
  hosts: {
    'media.example.com': PUBLIC,
    'caller.example.com': PUBLIC,
    'rebinds.example.com': [...PUBLIC, '10.0.0.1'],
  },
})
t.teardown(() => stack.stop())
const { url, demo, other, sandbox } = stack
const MODEL = 'domestic-video-2-0'
const TASKS = `${url}/provA/api/v3/contents/generations/tasks`
const UNKNOWN = 'asset-01ARZ3NDEKTSV4RRFFQ69G5FAV'

type Body = Readonly<Record<string, unknown>>

const act = (action: string, body: Body, token = demo.modelToken) =>
  call(`${url}/provA/?Action=${action}&Version=2024-01-01`, {
    method: 'POST',
    token,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })

async function done(action: string, body: Body, token?: string): Promise<Body> {
  const answer = await act(action, body, token)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  const { Result: result } = answer.body as { readonly Result: Body }
  return result
}

const idOf = (result: Body): string => String(result['Id'])
const statusOf = async (id: string): Promise<unknown> =>
  (await done('GetAsset', { Id: id }))['Status']

async function activeIn(groupId: string, type = 'Image'): Promise<string> {
  const url = `https://media.example.com/a.${type === 'Image' ? 'png' : 'mp4'}`
  const made = { model: MODEL, GroupId: groupId, URL: url, AssetType: type, Name: 'a boat' }
  const id = idOf(await done('CreateAsset', made))
  await eventually('it is active', async () => (await statusOf(id)) === 'Active')
  return id
}

async function person(): Promise<string> {
  const session = await done('CreateVisualValidateSession', {
    model: MODEL,
    CallbackURL: 'https://caller.example.com/done',
  })
  await passVerification(String(session['H5Link']))
  const key = { model: MODEL, ProviderToken: session['ProviderToken'] }
  return String((await done('GetVisualValidateResult', key))['GroupId'])
}

const createTask = (assetId: string, token = demo.modelToken) =>
  call(TASKS, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: MODEL,
      duration: 5,
      content: [
        { type: 'text', text: 'a boat' },
        { type: 'image_url', role: 'reference_image', image_url: { url: `asset://${assetId}` } },
      ],
    }),
  })

t.test(
  'an asset goes from its group into a settled video, and support sees its life',
  async (t) => {
    const groupId = idOf(await done('CreateAssetGroup', { model: MODEL, Name: 'boats' }))
    const id = await activeIn(groupId)
    const shown = await done('GetAsset', { Id: id })
    t.match(shown, {
      Id: id,
      GroupId: groupId,
      AssetType: 'Image',
      Status: 'Active',
      Name: 'a boat',
      ProjectName: 'default',
      URL: /^http/,
    })
    const created = await createTask(id)
    t.equal(created.status, 200)
    const task = String(created.body.id)
    await eventually('the video is there', async () => {
      const { body } = await call(`${TASKS}/${task}`, { token: demo.modelToken })
      return body.status === 'succeeded' ? true : undefined
    })
    const lists = await done('ListAssets', { Filter: { GroupType: 'AIGC', GroupIds: [groupId] } })
    t.match(lists, { TotalCount: 1, Items: [{ Id: id, URL: undefined }] })
    await stack.caughtUp()
    const history = await call(`${url}/api/query/v1/assets/${id}/history`, {
      token: demo.queryToken,
    })
    t.same(
      history.body.data.items.map(({ type }: { readonly type: string }) => type),
      ['AssetCreated', 'AssetAccepted', 'AssetActivated'],
    )
    const lifeOf = async (of: string) =>
      (await call(`${url}/api/query/v1/lives/${of}`, { token: demo.queryToken })).body.data
    const life = await lifeOf(id)
    t.match(life, { kind: 'asset', state: 'ready', receipt: null, deadline_at: null })
    t.same(
      life.steps.map(
        (step: Readonly<Record<string, string>>) => `${step['title']} by ${step['by']}`,
      ),
      ['created by caller', 'accepted by provider', 'ready by provider'],
    )
    const platformId = String(created.headers.get('x-platform-id'))
    t.match(life.related, [{ id: platformId, why: 'used_by', currency: 'CNY' }])
    t.match((await lifeOf(task)).related, [{ id, why: 'uses' }])
    t.notMatch(JSON.stringify(life), /channel|native/i, 'no account and no id upstream')
  },
)

t.test('/v1/videos accepts an asset in the role of its type', async (t) => {
  const groupId = idOf(await done('CreateAssetGroup', { model: MODEL, Name: 'films' }))
  const id = await activeIn(groupId, 'Video')
  const ask = (reference: unknown) =>
    call(`${url}/v1/videos`, {
      method: 'POST',
      token: demo.modelToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL,
        prompt: 'x',
        seconds: '5',
        input_reference: [reference],
      }),
    })
  const created = await ask(`asset://${id}`)
  t.equal(created.status, 200, JSON.stringify(created.body))
  const { facts } = await requestOf(String(created.body.id))
  t.match(facts, { inputs: { video: 1, image: 0 } }, 'a video input, and priced as one')
  t.match(await ask({ url: `asset://${id}`, type: 'image' }), {
    status: 400,
    body: { error: { param: 'input_reference' } },
  })
  t.match(await ask(`asset://${UNKNOWN}`), {
    status: 404,
    body: { error: { code: 'asset_not_found' } },
  })
})

async function requestOf(platformId: string): Promise<Body> {
  const [first] = await stack.gateway.log.readStream(`task-${platformId}`)
  return first?.data as Body
}

t.test(
  'another tenant’s id and a missing one have identical answers, for every action',
  async (t) => {
    const groupId = await person()
    const id = await activeIn(groupId)
    const steady = async (action: string, body: Body) => {
      const answer = await act(action, body, other.modelToken)
      const told = answer.text.replaceAll(/req_[0-9A-Z]{26}/g, 'req')
      return { status: answer.status, headers: steadyHeaders(answer), told }
    }
    const actions: readonly (readonly [string, (id: string) => Body])[] = [
      ['GetAsset', (Id) => ({ Id })],
      ['UpdateAsset', (Id) => ({ Id, Name: 'b' })],
      ['DeleteAsset', (Id) => ({ Id })],
    ]
    for (const [action, body] of actions) {
      const foreign = await steady(action, body(id))
      t.match(foreign, { status: 404, told: /ResourceNotFound\.Asset"/ })
      t.same(foreign, await steady(action, body(UNKNOWN)), action)
      t.same(foreign, await steady(action, body('no id at all')), action)
    }
    for (const action of ['GetAssetGroup', 'UpdateAssetGroup', 'DeleteAssetGroup']) {
      const foreign = await steady(action, { Id: groupId, Name: 'b' })
      t.match(foreign, { status: 404, told: /ResourceNotFound\.AssetGroup/ })
      const unknown = UNKNOWN.replace('asset', 'group')
      t.same(foreign, await steady(action, { Id: unknown, Name: 'b' }), action)
    }
    const make = (GroupId: string) => ({
      model: MODEL,
      GroupId,
      URL: 'https://media.example.com/a.png',
      AssetType: 'Image',
    })
    t.same(
      await steady('CreateAsset', make(groupId)),
      await steady('CreateAsset', make(UNKNOWN.replace('asset', 'group'))),
    )
    const used = async (assetId: string) => {
      const { status, text } = await createTask(assetId, other.modelToken)
      return { status, told: text.replaceAll(/req_[0-9A-Z]{26}/g, 'req') }
    }
    t.same(await used(id), await used(UNKNOWN))
    const all = await done(
      'ListAssets',
      { Filter: { GroupType: 'LivenessFace' } },
      other.modelToken,
    )
    t.match(all, { TotalCount: 0, Items: [] })
    t.equal(await statusOf(id), 'Active', 'nothing of it has changed')
  },
)

t.test('a quote checks an asset as its creation does, and records no use', async (t) => {
  const groupId = await person()
  const id = await activeIn(groupId)
  const body = (assetId: string, kind = 'image') => ({
    model: MODEL,
    duration: 5,
    content: [
      {
        type: `${kind}_url`,
        role: `reference_${kind}`,
        [`${kind}_url`]: { url: `asset://${assetId}` },
      },
    ],
  })
  const quote = (path: string, asked: Body, token = demo.modelToken) =>
    call(`${url}/v1/quote`, {
      method: 'POST',
      token,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ path, body: asked }),
    })
  const path = new URL(TASKS).pathname
  const reference = { model: MODEL, prompt: 'x', seconds: '5', input_reference: [`asset://${id}`] }
  const before = (await stack.gateway.log.readStream(`asset-${id}`)).length
  t.match(await quote(path, body(id)), { status: 200, body: { object: 'quote' } })
  t.match(await quote('/v1/videos', reference), { status: 200, body: { object: 'quote' } })
  t.equal((await stack.gateway.log.readStream(`asset-${id}`)).length, before, 'nothing used it')
  const refused = { status: 400, body: { error: { param: 'content' } } }
  t.match(await quote(path, body(id, 'video')), refused, 'of another type')
  t.match(await quote(path, { ...body(id), ProjectName: 'films' }), { status: 404 })
  t.match(await quote(path, { ...body(id), model: 'overseas-video-2-0' }), {
    status: 400,
    body: { error: { code: 'asset_region_mismatch' } },
  })
  t.match(await quote(path, body(id), other.modelToken), { status: 404 })
  await done('DeleteAsset', { Id: id })
  t.match(await quote(path, body(id)), { status: 404 })
  t.match(await quote('/v1/videos', reference), { status: 404 })
})

t.test('a repeated creation is answered as before, after its asset was deleted', async (t) => {
  const id = await activeIn(await person())
  const create = (key: string) =>
    call(`${url}/v1/videos`, {
      method: 'POST',
      token: demo.modelToken,
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({
        model: MODEL,
        prompt: 'x',
        seconds: '5',
        input_reference: [`asset://${id}`, `asset://${id}`],
      }),
    })
  const first = await create('with an asset')
  t.equal(first.status, 200, first.text)
  await done('DeleteAsset', { Id: id })
  t.match(await create('with an asset'), { status: 200, body: { id: first.body.id } })
  t.match(await create('another'), { status: 404, body: { error: { code: 'asset_not_found' } } })
})

t.test('non-public addresses are refused before a request is sent', async (t) => {
  const groupId = idOf(await done('CreateAssetGroup', { model: MODEL, Name: 'x' }))
  const before = sandbox.requests().routes['assets.create']?.count
  for (const address of [
    'http://127.0.0.1/a.png',
    'http://[::1]/a.png',
    'http://[::ffff:10.0.0.1]/a.png',
    'http://[fe80::1]/a.png',
    'http://169.254.169.254/latest',
    'http://localhost/a.png',
    'http://user:pass@media.example.com/a.png',
    'ftp://media.example.com/a.png',
    'data:image/png;base64,AAAA',
    'asset://x',
    'https://rebinds.example.com/a.png',
  ]) {
    const made = { model: MODEL, GroupId: groupId, URL: address, AssetType: 'Image' }
    t.match(
      await act('CreateAsset', made),
      { status: 400, body: { ResponseMetadata: { Error: { Code: 'InvalidParameter.URL' } } } },
      address,
    )
  }
  t.equal(sandbox.requests().routes['assets.create']?.count, before)
})

t.test('a person is verified, used and deleted for good, without an audit finding', async (t) => {
  const groupId = await person()
  const id = await activeIn(groupId)
  t.equal((await createTask(id)).status, 200)
  t.match(await act('DeleteAssetGroup', { Id: groupId }), { status: 200, body: { Result: {} } })
  t.match(await createTask(id), {
    status: 404,
    body: { error: { code: 'ResourceNotFound.Asset', param: 'content' } },
  })
  t.equal((await act('GetAsset', { Id: id })).status, 404)
  await stack.caughtUp()
  const { gateway } = stack
  const report = await audit({
    pool: gateway.pool,
    log: gateway.log,
    models: allProjections,
  })
  t.same(report.findings, [])
  const logged = stack.logged()
  t.ok(logged.length > 1_000)
  for (const { callback_url: callback } of sandbox.verifications())
    t.notOk(logged.includes(callback), 'no callback address in the log')
  t.notMatch(logged, /media\.example\.com/, 'nor where assets come from')
})

t.test('finance and support find assets within their scope', async (t) => {
  const { body } = await call(`${url}/api/query/v1/assets`, { token: demo.queryToken })
  t.ok(body.data.items.length > 3)
  const theirs = await call(`${url}/api/query/v1/assets`, { token: other.queryToken })
  t.same(theirs.body.data.items, [])
})
