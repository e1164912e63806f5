import t, { type Test } from 'tap'
import { type ActionName, actionNames } from '../../../../src/families/video-a/library/requests.ts'
import { groupId } from '../../../api/support/memory-assets.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { domestic, good, overseas, refused, startLibrary } from './support.ts'

const { act, assets, refusal, hosts } = await startLibrary(t)

/** Refusals of one action: what is changed in a good body, and the code it is refused with. */
async function refuses(
  t: Test,
  action: ActionName,
  cases: readonly (readonly [Readonly<Record<string, unknown>>, string])[],
): Promise<void> {
  for (const [change, code] of cases) {
    const found = await refusal(action, { ...good[action], ...change })
    const status = code.startsWith('ResourceNotFound') ? 404 : 400
    t.match(found, { status, code }, `${action} ${JSON.stringify(change).slice(0, 80)}`)
    const [, member] = /^(?:Missing|Invalid)Parameter\.(.+)$/.exec(code) ?? []
    if (member !== undefined) t.match(found.message, `\`${member}\``, 'names the member')
  }
}

void t.test('400 MissingParameter names each required member', async (t) => {
  const required: Readonly<Record<ActionName, readonly string[]>> = {
    CreateAssetGroup: ['model'],
    CreateAsset: ['model', 'GroupId', 'AssetType', 'URL'],
    ListAssetGroups: ['Filter'],
    ListAssets: ['Filter'],
    GetAssetGroup: ['Id'],
    GetAsset: ['Id'],
    UpdateAsset: ['Id', 'Name'],
    UpdateAssetGroup: ['Id', 'Name'],
    DeleteAsset: ['Id'],
    DeleteAssetGroup: ['Id'],
    CreateVisualValidateSession: ['model', 'CallbackURL'],
    GetVisualValidateResult: ['model', 'ProviderToken'],
  }
  for (const action of actionNames)
    for (const name of required[action])
      for (const value of [undefined, null])
        t.match(
          await refusal(action, { ...good[action], [name]: value }),
          { status: 400, code: `MissingParameter.${name}` },
          `${action} ${name}`,
        )
})

void t.test('model must be a known name; ProjectName must be a name', async (t) => {
  for (const action of actionNames)
    await refuses(t, action, [
      [{ model: 7 }, 'InvalidParameter.model'],
      [{ model: '' }, 'InvalidParameter.model'],
      [{ model: 'video-2-0' }, 'InvalidParameter.model'],
      [{ model: 'overseas-video-2.0-mini' }, 'InvalidParameter.model'],
      [{ model: 'x'.repeat(300) }, 'InvalidParameter.model'],
      [{ ProjectName: '' }, 'InvalidParameter.ProjectName'],
      [{ ProjectName: 7 }, 'InvalidParameter.ProjectName'],
      [{ ProjectName: 'a b' }, 'InvalidParameter.ProjectName'],
      [{ ProjectName: '../x' }, 'InvalidParameter.ProjectName'],
      [{ ProjectName: 'p'.repeat(65) }, 'InvalidParameter.ProjectName'],
    ])
  t.match(
    (await refusal('CreateAsset', { ...good.CreateAsset, model: 'x' })).message,
    'domestic-video-2-0, ',
  )
  const ProjectName = 'P'.repeat(64)
  t.equal((await act('GetAsset', { ...good.GetAsset, ProjectName })).statusCode, 200)
})

void t.test('names have at most 64 characters, descriptions at most 300', async (t) => {
  const wrong = [
    [{ Name: 'n'.repeat(65) }, 'InvalidParameter.Name'],
    [{ Name: 7 }, 'InvalidParameter.Name'],
  ] as const
  for (const action of ['CreateAssetGroup', 'CreateAsset', 'UpdateAsset'] as const)
    await refuses(t, action, wrong)
  for (const action of ['CreateAssetGroup', 'UpdateAssetGroup'] as const) {
    await refuses(t, action, [
      ...wrong,
      [{ Description: 'd'.repeat(301) }, 'InvalidParameter.Description'],
      [{ Description: [] }, 'InvalidParameter.Description'],
    ])
    const most = { Name: 'n'.repeat(64), Description: 'd'.repeat(300) }
    t.equal((await act(action, { ...good[action], ...most })).statusCode, 200)
  }
})

void t.test('groups of persons are not created: they come from a verification', async (t) => {
  await refuses(t, 'CreateAssetGroup', [
    [{ GroupType: 'LivenessFace' }, 'InvalidParameter.GroupType'],
    [{ GroupType: 'aigc' }, 'InvalidParameter.GroupType'],
    [{ GroupType: 1 }, 'InvalidParameter.GroupType'],
  ])
  const { message } = await refusal('CreateAssetGroup', {
    ...good.CreateAssetGroup,
    GroupType: 'LivenessFace',
  })
  t.match(message, 'comes from a verification (CreateVisualValidateSession)')
})

void t.test('CreateAsset takes a group, a type, and a known moderation', async (t) => {
  await refuses(t, 'CreateAsset', [
    [{ GroupId: 7 }, 'InvalidParameter.GroupId'],
    [{ GroupId: '' }, 'InvalidParameter.GroupId'],
    [{ GroupId: 'group-1' }, 'ResourceNotFound.AssetGroup'],
    [{ AssetType: 'image' }, 'InvalidParameter.AssetType'],
    [{ AssetType: 'Text' }, 'InvalidParameter.AssetType'],
    [{ Moderation: 'Default' }, 'InvalidParameter.Moderation'],
    [{ Moderation: { Strategy: 'Skip' } }, 'InvalidParameter.Moderation.Strategy'],
    [{ Moderation: { Strategy: 1 } }, 'InvalidParameter.Moderation.Strategy'],
  ])
})

void t.test('URL must be public, in any form of a web URL, and no data URI', async (t) => {
  hosts.set('inner.example.com', ['10.0.0.7'])
  hosts.set('half.example.com', ['93.184.216.34', '192.168.1.1'])
  hosts.set('six.example.com', ['fd00::1'])
  const addresses = [
    7,
    '',
    'hero.png',
    'data:image/png;base64,iVBORw0KGgo=',
    'iVBORw0KGgo=',
    'ftp://hooks.example.com/x',
    'asset://asset-1',
    'file:///etc/passwd',
    'https://user:pass@hooks.example.com/x',
    'https://nowhere.example.com/x',
    'https://inner.example.com/x',
    'https://half.example.com/x',
    'https://six.example.com/x',
    'http://localhost/x',
    'http://127.0.0.1/x',
    'http://0x7f.1/x',
    'http://169.254.169.254/latest',
    'http://[::1]/x',
    'http://[::ffff:10.0.0.1]/x',
    'http://[fe80::1]/x',
    'https://hooks.example.com\\@evil.example.com/',
    `https://hooks.example.com/${'x'.repeat(3_000)}`,
  ]
  await refuses(
    t,
    'CreateAsset',
    addresses.map((URL) => [{ URL }, 'InvalidParameter.URL'] as const),
  )
  const { message } = await refusal('CreateAsset', { ...good.CreateAsset, URL: addresses[3] })
  t.match(message, 'neither Base64 nor a data: URI')
  for (const URL of ['http://hooks.example.com/x', 'https://93.184.216.34:8443/x'])
    t.equal((await act('CreateAsset', { ...good.CreateAsset, URL })).statusCode, 200, URL)
})

void t.test('CallbackURL must be https and public', async (t) => {
  await refuses(
    t,
    'CreateVisualValidateSession',
    [
      7,
      '',
      'hooks.example.com',
      'http://hooks.example.com/back',
      'https://127.0.0.1/back',
      'https://[::1]/back',
      'https://a:b@hooks.example.com/back',
      'https://nowhere.example.com/back',
    ].map((CallbackURL) => [{ CallbackURL }, 'InvalidParameter.CallbackURL'] as const),
  )
})

void t.test('a refused credential is not repeated', async (t) => {
  for (const ProviderToken of [7, '', 'CREDENTIALLEAK'.repeat(500)]) {
    const answer = await act('GetVisualValidateResult', { model: domestic, ProviderToken })
    t.equal(answer.statusCode, 400)
    t.match(answer.json(), {
      ResponseMetadata: { Error: { Code: 'InvalidParameter.ProviderToken' } },
    })
    t.notMatch(answer.body, 'CREDENTIALLEAK')
  }
  const other = await act('GetVisualValidateResult', { model: domestic, ProviderToken: 'OTHERS' })
  t.equal(other.statusCode, 404)
  t.notMatch(other.body, 'OTHERS')
})

void t.test('an id is spelt Id only', async (t) => {
  const byId = actionNames.filter((action) => Object.hasOwn(good[action], 'Id'))
  t.equal(byId.length, 6)
  for (const action of byId) {
    const { Id: id, ...rest } = good[action]
    for (const name of ['ID', 'id', 'AssetId', 'AssetID', 'asset_id', 'GroupId', 'group_id'])
      t.match(
        await refusal(action, { ...rest, [name]: id }),
        {
          status: 400,
          code: 'MissingParameter.Id',
          message: '`Id` is required; its name is case-sensitive',
        },
        `${action} ${name}`,
      )
    await refuses(t, action, [
      [{ Id: 7 }, 'InvalidParameter.Id'],
      [{ Id: '' }, 'InvalidParameter.Id'],
      [{ Id: 'x'.repeat(129) }, 'InvalidParameter.Id'],
      [{ Id: [id] }, 'InvalidParameter.Id'],
    ])
  }
})

void t.test('the address is spelt URL, for overseas models in three ways', async (t) => {
  const { URL: address, ...rest } = good.CreateAsset
  for (const name of ['Url', 'url']) {
    const there = { ...rest, model: overseas, [name]: address }
    t.equal((await act('CreateAsset', there)).statusCode, 200, name)
    t.match(assets.asked.at(-1)?.input, { url: address })
    t.match(await refusal('CreateAsset', { ...there, [name]: 'http://[::1]/' }), {
      code: `InvalidParameter.${name}`,
    })
    t.match(await refusal('CreateAsset', { ...there, URL: address }), {
      status: 400,
      code: `InvalidParameter.${name}`,
    })
    t.match(await refusal('CreateAsset', { ...there, model: domestic }), {
      status: 400,
      code: 'MissingParameter.URL',
    })
  }
  t.match(await refusal('CreateAsset', { ...rest, model: overseas, uRL: address }), {
    code: 'MissingParameter.URL',
  })
})

void t.test('400 suggests the name of a misspelled member', async (t) => {
  const slips: readonly (readonly [ActionName, object, path: string, meant: string])[] = [
    ['CreateAssetGroup', { Model: domestic }, 'Model', 'model'],
    ['CreateAssetGroup', { Desciption: 'x' }, 'Desciption', 'Description'],
    ['CreateAsset', { GroupID: groupId }, 'GroupID', 'GroupId'],
    ['CreateAsset', { group_id: groupId }, 'group_id', 'GroupId'],
    ['CreateAsset', { asset_type: 'Image' }, 'asset_type', 'AssetType'],
    ['CreateAsset', { Moderation: { strategy: 'Skip' } }, 'Moderation.strategy', 'Strategy'],
    ['ListAssets', { page_number: 2 }, 'page_number', 'PageNumber'],
    ['ListAssets', { filter: {} }, 'filter', 'Filter'],
    ['ListAssets', { Filter: { GroupType: 'AIGC', GroupId: [] } }, 'Filter.GroupId', 'GroupIds'],
    ['ListAssetGroups', { SortOder: 'Asc' }, 'SortOder', 'SortOrder'],
    ['GetAsset', { project_name: 'x' }, 'project_name', 'ProjectName'],
    ['UpdateAsset', { name: 'x' }, 'name', 'Name'],
    ['CreateVisualValidateSession', { CallbackUrl: 'x' }, 'CallbackUrl', 'CallbackURL'],
    ['GetVisualValidateResult', { provider_token: 'x' }, 'provider_token', 'ProviderToken'],
  ]
  for (const [action, slip, path, meant] of slips)
    t.match(await refusal(action, { ...good[action], ...slip }), {
      status: 400,
      code: `InvalidParameter.${path}`,
      message: `\`${path}\` is not known here: did you mean \`${meant}\`?`,
    })
})

void t.test('members of other actions and unknown ones are no typos', async (t) => {
  for (const action of actionNames) {
    const known = Object.keys(good[action])
    const others = actionNames
      .flatMap((other) => Object.entries(good[other]))
      .filter(([name]) => !known.includes(name) && name !== 'model')
      // There the refusal says its name and where it belongs.
      .filter(([name]) => name !== 'GroupId' || !action.startsWith('List'))
    for (const [name, value] of others) {
      const answer = await act(action, { ...good[action], [name]: value })
      t.notMatch(answer.body, /did you mean/, `${action} ${name}`)
    }
    const extra = { CustomTag: 1, tag: 2, nested: { GroupTyp: 1 } }
    t.equal((await act(action, { ...good[action], ...extra })).statusCode, 200, action)
  }
})

void t.test('507 on a short disk for actions that create or update', async (t) => {
  const short = await startLibrary(t, {
    files: { checkDisk: () => Promise.reject(new DomainError('storage_full', 'short', {})) },
  })
  for (const action of actionNames) {
    const answer = await short.act(action, good[action])
    if (/^(?:Create|Update)/.test(action))
      t.match(refused(answer), { status: 507, code: 'ServiceUnavailableTemp' }, action)
    else t.equal(answer.statusCode, 200, action)
  }
  t.notOk(short.assets.asked.some(({ of }) => /^(?:create|update|start)/.test(of)))
})
