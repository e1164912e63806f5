import t from 'tap'
import type { CrashPointName } from '../../../src/app/crash-points.ts'
import { eventually } from '../../helpers/eventually.ts'
import { codeOf, startWorld } from '../support/world.ts'
import {
  activeAsset,
  asking,
  groupEventsOf,
  naming,
  newPerson,
  OVERSEAS,
  passVerification,
  placing,
  typesOf,
} from './support/library.ts'

const world = await startWorld(t)
const { log, pool } = world
const replica = world.replica({ policies: true })
const library = replica.assets

const started = (wish = {}) =>
  library.startVerification({
    ...placing(wish),
    callbackUrl: 'https://caller.example.com/done?order=1',
  })

t.test('a person is verified in seven steps, and the group is their user’s', async (t) => {
  const { credential, link } = await started()
  const key = { ...placing(), credential }
  t.same(await library.verificationResult(key), { groupId: undefined }, 'not verified yet')
  const back = new URL(await passVerification(link))
  t.equal(back.origin, 'https://caller.example.com')
  t.equal(back.searchParams.get('resultCode'), '10000')
  const { groupId = '' } = await library.verificationResult(key)
  t.match(groupId, /^group-/)
  t.same(await library.verificationResult(key), { groupId }, 'asked again it is the same')
  t.match(await library.getGroup(naming(groupId)), { groupType: 'LivenessFace', groupId })
  t.same(typesOf(await groupEventsOf(log, groupId)), ['AssetGroupCreated', 'AssetGroupAccepted'])
  const assetId = await activeAsset(library, groupId)
  t.match(await library.getAsset(naming(assetId)), { groupType: 'LivenessFace', status: 'Active' })
  for (const other of [asking(undefined, 'somebody else'), asking('tenant_2')]) {
    const theirs = { ...naming(assetId), ...other }
    t.equal(await codeOf(library.getAsset(theirs)), 'asset_not_found')
    t.equal(await codeOf(library.deleteAsset(theirs)), 'asset_not_found')
    t.equal(await codeOf(library.getGroup({ ...theirs, id: groupId })), 'asset_group_not_found')
    t.equal(
      await codeOf(library.verificationResult({ ...key, ...other })),
      'verification_not_found',
    )
  }
})

t.test('the credential and the link are in no stream and in no table', async (t) => {
  const { credential, link } = await started()
  await passVerification(link)
  await library.verificationResult({ ...placing(), credential })
  await world.settle()
  const secrets = [credential, new URL(link).searchParams.get('token') ?? link]
  const told = JSON.stringify(await allEvents(), (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  t.ok(told.length > 1_000, 'the log was read')
  for (const secret of secrets) t.notOk(told.includes(secret), 'not in the log')
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  t.ok(tables.length > 10)
  for (const { name } of tables)
    for (const secret of secrets) {
      const { rows } = await pool.query(
        `select 1 from ${name} as row where strpos(row::text, $1) > 0 limit 1`,
        [secret],
      )
      t.equal(rows.length, 0, name)
    }
})

async function allEvents(): Promise<readonly unknown[]> {
  const events: unknown[] = []
  for await (const event of log.readAll()) events.push(event)
  return events
}

t.test('404 for a redirect without a verification, a failed one and an unknown one', async (t) => {
  const failed = await started()
  await passVerification(failed.link, 'fail')
  const key = { ...placing(), credential: failed.credential }
  t.equal(await codeOf(library.verificationResult(key)), 'verification_not_found')
  const unknown = { ...placing(), credential: 'made up' }
  t.equal(await codeOf(library.verificationResult(unknown)), 'verification_not_found')
  const other = await started()
  const asked = { ...placing(), credential: other.credential }
  t.equal(
    await codeOf(library.verificationResult({ ...asked, model: OVERSEAS })),
    'asset_region_mismatch',
  )
  t.equal(
    await codeOf(library.verificationResult({ ...asked, projectName: 'another' })),
    'verification_not_found',
  )
})

t.test('a verification that is not confirmed in time is expired, for good', async (t) => {
  const brief = world.replica({ assetLimits: { verificationMs: 200 } })
  const { credential, link } = await brief.assets.startVerification({
    ...placing(),
    callbackUrl: 'https://caller.example.com/done',
  })
  const key = { ...placing(), credential }
  await eventually('it has expired', async () => {
    const code = await codeOf(library.verificationResult(key))
    return code === 'verification_not_found' ? true : undefined
  })
  await passVerification(link)
  t.equal(await codeOf(library.verificationResult(key)), 'verification_not_found')
})

t.test('after a crash at any step a verified person has exactly one group', async (t) => {
  const points: readonly CrashPointName[] = [
    'verification.after-result',
    'verification.after-confirmed',
  ]
  for (const point of points) {
    const dying = world.replica({
      crashPoint: (name) => {
        if (name === point) throw new Error(`died at ${point}`)
      },
    })
    const { credential, link } = await started()
    await passVerification(link)
    const key = { ...placing(), credential }
    await t.rejects(dying.assets.verificationResult(key), { message: `died at ${point}` })
    const { groupId = '' } = await library.verificationResult(key)
    t.same(typesOf(await groupEventsOf(log, groupId)), ['AssetGroupCreated', 'AssetGroupAccepted'])
  }
})

t.test('the gateway creates a group that its verification left unmade, unasked', async (t) => {
  const dying = world.replica({
    crashPoint: (name) => {
      if (name === 'verification.after-confirmed') throw new Error('died')
    },
  })
  const before = await persons()
  const { credential, link } = await started()
  await passVerification(link)
  await t.rejects(dying.assets.verificationResult({ ...placing(), credential }), {
    message: 'died',
  })
  await eventually('the group is there', async () => (await persons()) === before + 1)
})

async function persons(): Promise<number> {
  const page = { pageNumber: 1, pageSize: 1, sortBy: 'CreateTime', sortOrder: 'Desc' } as const
  const filter = { groupType: 'LivenessFace', groupIds: undefined, name: undefined } as const
  return (await library.listGroups({ ...placing(), ...filter, ...page })).total
}

t.test('a channel without verification is not chosen', async (t) => {
  const channels = world.channels.map((channel) =>
    channel.library === undefined
      ? channel
      : { ...channel, library: { ...channel.library, verifiesPersons: false } },
  )
  const without = world.replica({ channels })
  t.equal(await codeOf(newPerson(without.assets)), 'channel_not_available')
})
