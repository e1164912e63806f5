import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  act,
  begin,
  DOMESTIC,
  done,
  newAsset,
  newGroup,
  OVERSEAS,
  picture,
  press,
  refusedWith,
  verifiedPerson,
} from './asset-client.ts'
import { call, sandboxFor } from './client.ts'

const NOW = 'sandbox running-ms=0'

function temporary(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'sandbox-test-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

void t.test('the record has the accepted assets, by name and request id, paged', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url, { headers: { 'x-client-request-id': 'r-1' } }, { Name: 'g' })
  const asset = picture(group, { Name: 'a', AssetType: 'Video' })
  const headers = { 'x-client-request-id': 'r-2' }
  const id = (await done(url, 'CreateAsset', asset, { headers })).Id
  const marked = await newAsset(url, group, 'client=c-1', { Name: 'b' })
  const read = async (path: string) => (await call(url, 'GET', `/__sandbox/${path}`)).json

  const all = await read('assets')
  t.match(all, { total: 2, next_after: null })
  t.strictSame(all.items, sandbox.assets())
  t.strictSame(all.items[0], {
    seq: 2,
    id,
    region: DOMESTIC,
    project: 'default',
    client_marker: 'a',
    client_request_id: 'r-2',
    credential: all.items[0].credential,
    accepted_at: all.items[0].accepted_at,
    name: 'a',
    group_type: 'AIGC',
    group_id: group,
    asset_type: 'Video',
    status: 'Processing',
    outcome: 'Active',
    ends_at: all.items[0].ends_at,
    fail_code: null,
    deleted: false,
    gone: false,
  })
  t.match(all.items[0].credential, /^[0-9a-f]{12}$/)
  t.match(await read('asset-groups'), {
    items: [{ id: group, name: 'g', client_request_id: 'r-1', exists: true, deleted: false }],
    total: 1,
  })
  t.match(await read('assets?client_marker=c-1'), { items: [{ id: marked }], total: 1 })
  t.match(await read('assets?client_request_id=r-2'), { items: [{ id }], total: 1 })
  t.match(await read(`assets?region=${OVERSEAS}`), { items: { length: 0 }, total: 0 })
  t.match(await read('assets?limit=1'), { items: [{ id }], next_after: 2 })
  t.match(await read('assets?limit=1&after=2'), { items: [{ id: marked }], next_after: null })
  t.equal((await call(url, 'GET', '/__sandbox/assets?after=x')).status, 400)
})

void t.test('the record follows verifications to their end', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const callback = 'https://gw.example.com/done'
  const passed = await begin(url, callback, { headers: { 'x-client-request-id': 'v-1' } })
  const failed = await begin(url, callback)
  await begin(url, callback)
  await press(passed.link, 'pass')
  await press(failed.link, 'fail')
  const { items } = (await call(url, 'GET', '/__sandbox/verifications')).json
  t.strictSame(items, sandbox.verifications())
  const [group] = sandbox.assetGroups()
  t.match(items, [
    {
      status: 'passed',
      page: 'pass',
      group_id: group?.id,
      client_request_id: 'v-1',
      callback_url: callback,
    },
    { status: 'failed', page: 'fail', group_id: null },
    { status: 'pending', page: null, group_id: null, expires_at: /Z$/ },
  ])
  sandbox.advance(30 * 60_000)
  t.same(
    sandbox.verifications().map(({ status }) => status),
    ['expired', 'expired', 'expired'],
  )
})

void t.test('requests are counted by operation', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const person = await verifiedPerson(url)
  const Id = await newAsset(url, person, NOW)
  await done(url, 'GetAsset', { Id })
  await refusedWith(url, 'GetAsset', { Id: 'asset-x' })
  await refusedWith(url, 'EatAsset', {})
  const { routes } = sandbox.requests()
  t.strictSame(Object.keys(routes).toSorted(), [
    'assets.create',
    'assets.get',
    'assets.page-submit',
    'assets.unknown',
    'assets.verify',
    'assets.verify-result',
  ])
  t.match(routes['assets.get'], { count: 2, by_status: { 200: 1, 404: 1 } })
})

void t.test('reset forgets assets, groups and verifications', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url)
  await newAsset(url, group, NOW)
  const { token } = await begin(url, 'https://gw.example.com/done')
  await call(url, 'POST', '/__sandbox/reset')
  t.same([sandbox.assets(), sandbox.assetGroups(), sandbox.verifications()], [[], [], []])
  t.match(await refusedWith(url, 'GetVisualValidateResult', { BytedToken: token }), { status: 404 })
  await newGroup(url)
  t.equal(sandbox.assetGroups()[0]?.seq, 4, 'sequence numbers are never used twice')
})

void t.test('answered state survives a kill, without credentials', async (t) => {
  const dataDirectory = temporary(t)
  const first = await sandboxFor(t, { dataDirectory })
  const group = await newGroup(first.url, {}, { Name: 'g' })
  const asset = await newAsset(first.url, group, 'sandbox running-ms=3600000', { Name: 'a' })
  const person = await verifiedPerson(first.url)
  const deleted = await newAsset(first.url, person, NOW)
  await done(first.url, 'DeleteAsset', { Id: deleted })
  const { token, link } = await begin(first.url, 'https://gw.example.com/done')
  const lost = picture(group, {
    URL: `https://x.example/[[sandbox drop-after-accept]]`,
    Name: 'l',
  })
  await t.rejects(act(first.url, 'CreateAsset', lost))

  // As a process that dies leaves it: whatever was answered is in the file by then.
  const remains = temporary(t)
  cpSync(dataDirectory, remains, { recursive: true })
  const kept = readFileSync(join(remains, 'library.jsonl'), 'utf8')
  const ticket = new URL(link).searchParams.get('token') ?? ''
  t.notOk([token, ticket].some((secret) => kept.includes(secret)))

  const second = await sandboxFor(t, { dataDirectory: remains })
  t.strictSame(second.assets(), first.assets())
  t.strictSame(second.assetGroups(), first.assetGroups())
  t.strictSame(second.verifications(), first.verifications())
  t.match(await done(second.url, 'GetAsset', { Id: asset }), { Name: 'a', Status: 'Processing' })
  t.match(await refusedWith(second.url, 'GetAsset', { Id: deleted }), { status: 404 })
  t.equal((await press(link.replace(first.url, second.url), 'pass')).status, 303)
  const { json } = await act(second.url, 'GetVisualValidateResult', { BytedToken: token })
  t.match(json.GroupId, /^group-/)
  const next = await newAsset(second.url, group, NOW)
  t.equal(second.assets().at(-1)?.id, next)
})

void t.test('the oldest beyond a bound are forgotten', async (t) => {
  const sandbox = await sandboxFor(t, { maxTasks: 3 })
  const { url } = sandbox
  const groups: string[] = []
  for (let i = 0; i < 5; i += 1) groups.push(await newGroup(url))
  t.same(
    sandbox.assetGroups().map(({ id }) => id),
    groups.slice(2),
  )
})

void t.test('an asset created while its group is deleted is not left behind', async (t) => {
  const sandbox = await sandboxFor(t, { dataDirectory: temporary(t) })
  const { url } = sandbox
  for (let i = 0; i < 10; i += 1) {
    const group = await verifiedPerson(url)
    await Promise.all([
      ...Array.from({ length: 5 }, () => act(url, 'CreateAsset', picture(group))),
      done(url, 'DeleteAssetGroup', { Id: group }),
    ])
  }
  t.same(
    sandbox.assets().filter(({ deleted }) => !deleted),
    [],
  )
})
