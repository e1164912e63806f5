import t from 'tap'
import {
  act,
  DOMESTIC,
  done,
  newAsset,
  newGroup,
  OVERSEAS,
  picture,
  refusedWith,
  verifiedPerson,
} from './asset-client.ts'
import { call, sandboxFor } from './client.ts'

const NOW = 'sandbox running-ms=0'
const NO_ASSET = { status: 404, code: 'ResourceNotFound.Asset' }
const NO_GROUP = { status: 404, code: 'ResourceNotFound.AssetGroup' }

void t.test('a group and an asset: created, found, active after a while', async (t) => {
  const sandbox = await sandboxFor(t, { runningMs: 60_000, timeScale: 0.5 })
  const { url } = sandbox
  const groupId = await newGroup(url, {}, { Name: 'g', Description: 'of mine' })
  t.match(groupId, /^group-\d{14}-[a-z0-9]{5}$/)
  const made = await act(url, 'CreateAsset', picture(groupId, { Name: 'hero' }))
  t.strictSame(Object.keys(made.json), ['ResponseMetadata', 'Result'])
  t.strictSame(Object.keys(made.json.Result), ['Id'])
  const { Id } = made.json.Result
  t.match(Id, /^asset-\d{14}-[a-z0-9]{5}$/)

  const group = await done(url, 'GetAssetGroup', { Id: groupId })
  t.match(group, {
    Id: groupId,
    Name: 'g',
    Description: 'of mine',
    GroupType: 'AIGC',
    ProjectName: 'default',
    CreateTime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
    UpdateTime: /Z$/,
  })
  const young = await done(url, 'GetAsset', { Id })
  t.strictSame(young, {
    Id,
    Name: 'hero',
    AssetType: 'Image',
    GroupId: groupId,
    Status: 'Processing',
    ProjectName: 'default',
    CreateTime: young.CreateTime,
    UpdateTime: young.CreateTime,
  })
  sandbox.advance(31_000)
  const old = await done(url, 'GetAsset', { Id })
  t.match(old, { Status: 'Active', CreateTime: young.CreateTime, URL: String })
  t.ok(old.UpdateTime > young.UpdateTime)
})

void t.test('an active asset can be downloaded for ten minutes, at changing URLs', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const groupId = await newGroup(url)
  const types = [
    ['Image', 'image/png'],
    ['Video', 'video/mp4'],
    ['Audio', 'audio/mpeg'],
  ] as const
  for (const [AssetType, contentType] of types) {
    const Id = await newAsset(url, groupId, NOW, { AssetType })
    const { URL: link } = await done(url, 'GetAsset', { Id })
    t.ok(link.startsWith(`${url}/media/assets/${Id}?X-Tos-`))
    const file = await fetch(link)
    t.equal(file.status, 200)
    t.equal(file.headers.get('content-type'), contentType)
    t.ok((await file.arrayBuffer()).byteLength > 100)
    t.equal((await call(link.replace(/Signature=./, 'Signature=x'), 'GET', '')).status, 403)
    sandbox.advance(600_000)
    t.equal((await call(link, 'GET', '')).status, 403)
    const later = (await done(url, 'GetAsset', { Id })).URL
    t.equal((await fetch(later)).status, 200)
  }
})

const BAD_ASSETS: readonly (readonly [object, number, string])[] = [
  [{ GroupId: undefined }, 400, 'MissingParameter.GroupId'],
  [{ GroupId: 7 }, 400, 'InvalidParameter.GroupId'],
  [{ GroupId: 'group-20260101000000-aaaaa' }, 404, 'ResourceNotFound.AssetGroup'],
  [{ URL: undefined }, 400, 'MissingParameter.URL'],
  [{ URL: '' }, 400, 'MissingParameter.URL'],
  [{ URL: 'data:image/png;base64,AAAA' }, 400, 'InvalidParameter.URL'],
  [{ URL: 'nowhere' }, 400, 'InvalidParameter.URL'],
  [{ AssetType: undefined }, 400, 'MissingParameter.AssetType'],
  [{ AssetType: 'image' }, 400, 'InvalidParameter.AssetType'],
  [{ Name: 'é'.repeat(65) }, 400, 'InvalidParameter.Name'],
  [{ Moderation: 'Skip' }, 400, 'InvalidParameter.Moderation'],
  [{ Moderation: { Strategy: 'Skip' } }, 400, 'InvalidParameter.Moderation'],
  [{ Moderation: { Strategy: 'Lax' } }, 400, 'InvalidParameter.Moderation.Strategy'],
  [{ ProjectName: 1 }, 400, 'InvalidParameter.ProjectName'],
]

void t.test('400 naming the faulty member of an asset, without an accepted asset', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const groupId = await newGroup(url)
  for (const [change, status, code] of BAD_ASSETS) {
    const refused = await refusedWith(url, 'CreateAsset', picture(groupId, change))
    t.same(refused, { status, code })
  }
  for (const body of ['{', '[]', 'null', '"x"'])
    t.same(await refusedWith(url, 'CreateAsset', body), { status: 400, code: 'InvalidParameter' })
  t.same(sandbox.assets(), [])
  const taken = { Name: 'é'.repeat(64), Moderation: { Strategy: 'Default' } }
  t.equal((await act(url, 'CreateAsset', picture(groupId, taken))).status, 200)
})

void t.test('400 naming the faulty member of a group', async (t) => {
  const { url } = await sandboxFor(t)
  const cases: readonly (readonly [object, string])[] = [
    [{}, 'MissingParameter.Name'],
    [{ Name: '' }, 'MissingParameter.Name'],
    [{ Name: 'x'.repeat(65) }, 'InvalidParameter.Name'],
    [{ Name: 'x', Description: 'x'.repeat(301) }, 'InvalidParameter.Description'],
    [{ Name: 'x', GroupType: 'Other' }, 'InvalidParameter.GroupType'],
    [{ Name: 'x', GroupType: 'LivenessFace' }, 'InvalidParameter.GroupType'],
  ]
  for (const [body, code] of cases)
    t.same(await refusedWith(url, 'CreateAssetGroup', body), { status: 400, code })
  await done(url, 'CreateAssetGroup', { Name: 'x'.repeat(64), Description: 'x'.repeat(300) })
})

void t.test('400 without an id, 404 for an unknown id', async (t) => {
  const { url } = await sandboxFor(t)
  const groupId = await newGroup(url)
  for (const of of ['Asset', 'AssetGroup'])
    for (const action of [`Get${of}`, `Update${of}`, `Delete${of}`]) {
      const missing = { status: 400, code: 'MissingParameter.Id' }
      t.same(await refusedWith(url, action, { ID: groupId }), missing, action)
      const unknown = { Id: 'asset-20260101000000-aaaaa', Name: 'x' }
      t.same(await refusedWith(url, action, unknown), of === 'Asset' ? NO_ASSET : NO_GROUP, action)
    }
  t.same(await refusedWith(url, 'GetAsset', { Id: groupId }), NO_ASSET)
})

void t.test('an asset is visible in its region and project only', async (t) => {
  const { url } = await sandboxFor(t)
  const at = { region: DOMESTIC }
  const ProjectName = 'mine'
  const groupId = await newGroup(url, at, { ProjectName })
  const Id = await newAsset(url, groupId, NOW, { ProjectName, Name: 'a' }, at)
  const Filter = { GroupType: 'AIGC' }
  const count = async (body: object, region: string) =>
    (await done(url, 'ListAssets', { Filter, ...body }, { region })).TotalCount

  t.equal((await done(url, 'GetAsset', { Id, ProjectName }, at)).ProjectName, 'mine')
  t.equal(await count({ ProjectName }, DOMESTIC), 1)
  const elsewhere = [
    [{}, DOMESTIC],
    [{ ProjectName }, OVERSEAS],
  ] as const
  for (const [where, region] of elsewhere) {
    t.same(await refusedWith(url, 'GetAsset', { Id, ...where }, { region }), NO_ASSET)
    t.same(await refusedWith(url, 'GetAssetGroup', { Id: groupId, ...where }, { region }), NO_GROUP)
    const asset = picture(groupId, where)
    t.same(await refusedWith(url, 'CreateAsset', asset, { region }), NO_GROUP)
    t.equal(await count(where, region), 0)
  }
})

void t.test('the general library cannot be changed: 403 InvalidAction', async (t) => {
  const { url } = await sandboxFor(t)
  const groupId = await newGroup(url)
  const id = await newAsset(url, groupId, NOW)
  for (const [of, Id] of [
    ['Asset', id],
    ['AssetGroup', groupId],
  ] as const)
    for (const action of [`Update${of}`, `Delete${of}`])
      t.same(await refusedWith(url, action, { Id, Name: 'x' }), {
        status: 403,
        code: 'InvalidAction',
      })
  t.equal((await done(url, 'GetAsset', { Id: id })).Status, 'Active')
})

void t.test(
  'assets of a person are renamed and deleted, a group with all its assets',
  async (t) => {
    const { url } = await sandboxFor(t)
    const groupId = await verifiedPerson(url)
    const make = () => newAsset(url, groupId, NOW, { Name: 'before' })
    const [one, two] = [await make(), await make()]
    t.strictSame(await done(url, 'UpdateAsset', { Id: one, Name: 'after' }), { Id: one })
    t.match(await done(url, 'GetAsset', { Id: one }), { Name: 'after', Status: 'Active' })
    t.same(await refusedWith(url, 'UpdateAsset', { Id: one }), {
      status: 400,
      code: 'MissingParameter.Name',
    })
    const described = { Id: groupId, Description: 'a person' }
    t.strictSame(await done(url, 'UpdateAssetGroup', described), { Id: groupId })
    t.match(await done(url, 'GetAssetGroup', { Id: groupId }), {
      Name: '',
      Description: 'a person',
      GroupType: 'LivenessFace',
    })

    const { URL: link } = await done(url, 'GetAsset', { Id: one })
    t.strictSame(await done(url, 'DeleteAsset', { Id: one }), {})
    t.same(await refusedWith(url, 'GetAsset', { Id: one }), NO_ASSET)
    t.same(await refusedWith(url, 'DeleteAsset', { Id: one }), NO_ASSET)
    t.equal((await call(link, 'GET', '')).status, 404)
    t.equal((await done(url, 'GetAsset', { Id: two })).Status, 'Active')

    t.strictSame(await done(url, 'DeleteAssetGroup', { Id: groupId }), {})
    t.same(await refusedWith(url, 'GetAsset', { Id: two }), NO_ASSET)
    t.same(await refusedWith(url, 'GetAssetGroup', { Id: groupId }), NO_GROUP)
    t.same(await refusedWith(url, 'CreateAsset', picture(groupId)), NO_GROUP)
  },
)
