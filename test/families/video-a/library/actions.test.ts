import t from 'tap'
import { type ActionName, actionNames } from '../../../../src/families/video-a/library/requests.ts'
import {
  assetId,
  credential,
  groupId,
  link,
  newAssetId,
  newGroupId,
  personGroupId,
} from '../../../api/support/memory-assets.ts'
import { domestic, good, overseas, type Said, startLibrary, urlOf, asCaller } from './support.ts'

const library = await startLibrary(t)
const { app, assets, act } = library

async function done(action: ActionName, body: unknown): Promise<Said> {
  const answer = await act(action, body)
  t.equal(answer.statusCode, 200, `${action}: ${answer.body}`)
  return answer.json<Said>()
}

/** What was asked last. */
function input(): unknown {
  return assets.asked.at(-1)?.input
}

const asking = { principal: { tenantId: 'tenant_1', userId: 'user_1', tokenId: 'tok_1' } }

void t.test('every action answers in its envelope, with and without the last slash', async (t) => {
  for (const action of actionNames)
    for (const url of [urlOf(action), urlOf(action).replace('/?', '?')]) {
      const payload = good[action]
      const answer = await app.inject({ method: 'POST', url, headers: asCaller, payload })
      t.equal(answer.statusCode, 200, url)
      const said = answer.json<Said>()
      t.same(Object.keys(said), ['ResponseMetadata', 'Result'])
      t.same(said.ResponseMetadata, {
        RequestId: answer.headers['x-request-id'],
        Action: action,
        Version: '2024-01-01',
        Service: 'assets',
      })
      t.equal(answer.headers['cache-control'], 'no-store')
    }
  t.equal(assets.asked.length, actionNames.length * 2)
})

void t.test('CreateAssetGroup passes its members on and returns the id', async (t) => {
  const { Result } = await done('CreateAssetGroup', {
    model: domestic,
    Name: 'heroes',
    Description: 'all of them',
    GroupType: 'AIGC',
    ProjectName: 'film-1',
  })
  t.same(Result, { Id: newGroupId })
  t.match(input(), {
    ...asking,
    requestId: /^req_/,
    model: domestic,
    name: 'heroes',
    description: 'all of them',
    projectName: 'film-1',
  })
  await done('CreateAssetGroup', { model: domestic, Name: null, ProjectName: null })
  t.match(input(), { name: '', description: '', projectName: undefined })
})

void t.test('CreateAsset passes the address on as it was checked', async (t) => {
  const { Result } = await done('CreateAsset', {
    ...good.CreateAsset,
    URL: ' https://hooks.example.com/hero.png?x=1 ',
    Name: 'hero',
    Moderation: { Strategy: 'Default' },
  })
  t.same(Result, { Id: newAssetId })
  t.match(input(), {
    ...asking,
    model: domestic,
    groupId,
    url: 'https://hooks.example.com/hero.png?x=1',
    assetType: 'Image',
    name: 'hero',
    projectName: undefined,
  })
  for (const AssetType of ['Video', 'Audio'])
    await done('CreateAsset', { ...good.CreateAsset, AssetType, Moderation: {} })
  t.match(input(), { assetType: 'Audio', name: '' })
})

void t.test('GetAsset shows an asset: its URL if known, its error if failed', async (t) => {
  const shown = {
    Id: assetId,
    Name: 'hero',
    AssetType: 'Image',
    GroupId: groupId,
    Status: 'Processing',
    ProjectName: 'default',
    CreateTime: '2026-03-04T05:06:07.000Z',
    UpdateTime: '2026-03-04T05:06:08.500Z',
  }
  const before = assets.asset
  t.same((await done('GetAsset', { Id: assetId })).Result, shown)
  t.match(input(), { ...asking, id: assetId, model: undefined, projectName: undefined })
  const url = 'https://kept.example.com/hero.png?signature=1'
  assets.asset = { ...before, status: 'Active', url }
  t.same((await done('GetAsset', { Id: assetId, model: domestic, ProjectName: 'p' })).Result, {
    ...shown,
    Status: 'Active',
    URL: url,
  })
  t.match(input(), { id: assetId, model: domestic, projectName: 'p' })
  assets.asset = {
    ...before,
    status: 'Failed',
    error: { code: 'FaceMismatch', message: 'Another person' },
  }
  t.same((await done('GetAsset', { Id: assetId })).Result, {
    ...shown,
    Status: 'Failed',
    Error: { Code: 'FaceMismatch', Message: 'Another person' },
  })
  assets.asset = before
})

void t.test('GetAssetGroup shows a group', async (t) => {
  t.same((await done('GetAssetGroup', { Id: groupId })).Result, {
    Id: groupId,
    Name: 'heroes',
    Description: 'all of them',
    GroupType: 'AIGC',
    ProjectName: 'default',
    CreateTime: '2026-03-04T05:06:07.000Z',
    UpdateTime: '2026-03-04T05:06:08.500Z',
  })
})

void t.test('updates pass the given members on and return the id', async (t) => {
  t.same((await done('UpdateAsset', { Id: assetId, Name: 'villain' })).Result, { Id: assetId })
  t.match(input(), { ...asking, id: assetId, name: 'villain' })
  await done('UpdateAsset', { Id: assetId, Name: '' })
  t.match(input(), { name: '' }, 'a name can be taken away')
  const { Result } = await done('UpdateAssetGroup', { Id: groupId, Description: 'bad ones' })
  t.same(Result, { Id: groupId })
  t.match(input(), { ...asking, id: groupId, name: undefined, description: 'bad ones' })
  await done('UpdateAssetGroup', { Id: groupId, Name: 'villains', ProjectName: 'film-1' })
  t.match(input(), { name: 'villains', description: undefined, projectName: 'film-1' })
})

void t.test('deletions return an empty result', async (t) => {
  t.same((await done('DeleteAsset', { Id: assetId, ProjectName: 'film-1' })).Result, {})
  t.match(assets.asked.at(-1), { of: 'deleteAsset', input: { id: assetId, projectName: 'film-1' } })
  t.same((await done('DeleteAssetGroup', { Id: groupId })).Result, {})
  t.match(assets.asked.at(-1), { of: 'deleteGroup', input: { ...asking, id: groupId } })
})

void t.test(
  'a verification is begun, waited for, and ends in the group of the person',
  async (t) => {
    const { Result } = await done('CreateVisualValidateSession', {
      model: overseas,
      CallbackURL: ' https://hooks.example.com/back?order=7 ',
      ProjectName: 'film-1',
    })
    const CallbackURL = 'https://hooks.example.com/back?order=7'
    t.same(Result, { ProviderToken: credential, H5Link: link, CallbackURL })
    t.match(input(), {
      ...asking,
      model: overseas,
      callbackUrl: CallbackURL,
      projectName: 'film-1',
    })

    const question = { model: overseas, ProviderToken: credential }
    t.same((await done('GetVisualValidateResult', question)).Result, { GroupId: '' })
    assets.verified = true
    t.same((await done('GetVisualValidateResult', question)).Result, { GroupId: personGroupId })
    t.match(input(), { ...asking, model: overseas, credential })
    assets.verified = false
  },
)

void t.test('a dated model name is passed on as the name behind the alias', async (t) => {
  await done('CreateAssetGroup', { model: 'overseas-video-2-5-260628' })
  t.match(input(), { model: 'overseas-video-2-5' })
})

void t.test('Region is overseas for overseas objects, and absent for others', async (t) => {
  const regionOf = async (action: ActionName, body: object) =>
    (await done(action, body)).ResponseMetadata.Region
  t.equal(await regionOf('CreateAssetGroup', { model: overseas }), 'overseas')
  t.equal(await regionOf('CreateAssetGroup', { model: domestic }), undefined)
  t.equal(await regionOf('DeleteAsset', { Id: assetId, model: overseas }), 'overseas')
  t.equal(await regionOf('DeleteAsset', { Id: assetId }), undefined, 'the region was not known')
  const { asset, group } = assets
  assets.asset = { ...asset, region: 'overseas' }
  assets.group = { ...group, region: 'overseas' }
  t.equal(await regionOf('GetAsset', { Id: assetId }), 'overseas')
  t.equal(await regionOf('GetAssetGroup', { Id: groupId }), 'overseas')
  Object.assign(assets, { asset, group })
})

void t.test('neither requests nor answers are logged', async (t) => {
  await done('CreateVisualValidateSession', good.CreateVisualValidateSession)
  await done('GetVisualValidateResult', good.GetVisualValidateResult)
  await done('CreateAsset', { ...good.CreateAsset, URL: 'https://hooks.example.com/s3cr3t.png' })
  assets.failure = new Error('it broke')
  t.equal((await act('GetVisualValidateResult', good.GetVisualValidateResult)).statusCode, 500)
  assets.failure = undefined
  const lines = library.logged()
  t.match(lines, /"route":"\/provA\/"/)
  for (const secret of [credential, 'LINKSECRET01', 's3cr3t', 'hooks.example.com', 'sk-one'])
    t.notOk(lines.includes(secret), secret)
})
