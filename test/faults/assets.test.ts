import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { fileURLToPath } from 'node:url'
import { checkout } from '../helpers/checkout.ts'
import { atLength } from '../helpers/long-run.ts'
import {
  type AcceptedAsset,
  act,
  addressWith,
  libraryOf,
  type LoggedLibrary,
  type LoggedThing,
  readLibrary,
  readLists,
  resultOf,
} from './driver/assets/library.ts'
import { judgeAssets } from './driver/assets/oracle.ts'
import { AssetWitness, type SeenGroup } from './driver/assets/witness.ts'
import { type Answer, createCaller } from './driver/caller.ts'
import { libraryAt, libraryKey } from './driver/channels.ts'
import { Witness } from './driver/witness.ts'
import { startTextWorld } from './text/support/world.ts'

/**
 * The asset library through the deaths of the process that has it: each test is some lives of one gateway,
 * and goes on from what the lives before left behind. In short it does not die where use cases die in
 * `test/app/assets` and nothing else is shown by it.
 */

const dieEverywhere = atLength(false, true)

t.setTimeout(1_200_000)

const MODEL = 'domestic-video-2-0'
const ENDED_MS = 120_000
/** Longer than what a dead process had in hand is kept for it. */
const LEASE_MS = 130_000
/** Longer than a verification may be confirmed, and than an upload is looked for. */
const PAST_ALL_BOUNDS_MS = 3 * 3_600_000
const LOOK_AGAIN_MS = 250
const PRESS_TIMEOUT_MS = 5_000

const world = await startTextWorld('assets')
t.teardown(() => world.close())
const { directory, tenant, upstream } = world

const channel = {
  id: 'library',
  family: 'video-a',
  region: 'domestic',
  base_url: `${upstream.url}/api/v3`,
  credential: { env: 'FAULTS_UPSTREAM_KEY' },
  models: { [MODEL]: `${MODEL}-260128` },
  library: libraryAt(upstream.url, 'domestic'),
}
const channels = join(directory, 'library.json')
await writeFile(channels, JSON.stringify({ channels: [channel] }))
const settings = {
  CHANNELS_FILE: channels,
  PRICEBOOK_FILE: fileURLToPath(new URL('infra/pricebook.yaml', checkout)),
  POLL_SCALE: '0.05',
  ...libraryKey,
}
const machine = world.machine('assets', settings)
const answers = new Witness()
const call = createCaller({
  address: () => machine.address,
  token: tenant.modelToken,
  witness: answers,
})
/** What callers were told. */
const told = new AssetWitness()
const tenantId = 'tenant_demo'

let lives = 0

/** Leads the gateway through a life that must end at this point: by what is done, or by itself. */
async function diesAt(t: Test, crashAt: string, doing?: () => Promise<unknown>): Promise<void> {
  lives += 1
  const started = await machine.start({ crashAt, clockAheadMs: lives * LEASE_MS })
  if (started === 'ready') await doing?.()
  const late = sleep(ENDED_MS, undefined, { ref: false }).then(() => machine.tail())
  t.equal(await Promise.race([machine.ended, late]), 'ended by SIGKILL', crashAt)
}

const idOf = (answer: Answer | undefined): string =>
  answer?.status === 200 ? String(resultOf(answer)['Id']) : `no id: ${answer?.text ?? 'no answer'}`

async function newGroup(): Promise<SeenGroup> {
  const id = idOf(await act(call, 'CreateAssetGroup', { model: MODEL, Name: 'boats' }))
  return told.group({ id, tenantId, region: 'domestic', isPerson: false })
}

/** An upload under a name of its caller's; undefined where nobody was told of it. */
async function upload(
  group: SeenGroup,
  name: string,
  ...switches: readonly string[]
): Promise<string | undefined> {
  const answer = await act(call, 'CreateAsset', {
    model: MODEL,
    GroupId: group.id,
    URL: addressWith(['running-ms=100', ...switches]),
    AssetType: 'Image',
    Name: name,
  })
  if (answer?.status !== 200) return undefined
  return told.asset({ id: idOf(answer), group, assetType: 'Image' }).id
}

async function isActive(id: string | undefined): Promise<boolean> {
  const answer = await act(call, 'GetAsset', { Id: id })
  return answer !== undefined && resultOf(answer)['Status'] === 'Active'
}

/** What log and upstream have by now. */
interface Traces {
  readonly log: LoggedLibrary
  /** Of an upload, by its caller's name of it. */
  readonly logged: (name: string) => LoggedThing
  readonly types: (name: string) => readonly string[]
  /** What upstream accepted of it: once, or nothing. */
  readonly made: (name: string) => readonly AcceptedAsset[]
  readonly verified: () => readonly string[]
}

async function traces(): Promise<Traces> {
  const { assets } = await readLibrary(upstream.url)
  const log = libraryOf(await world.events())
  const logged = (name: string): LoggedThing => {
    const own = [...log.assets.values()].find(({ events }) => events[0]?.data['name'] === name)
    if (own === undefined) throw new Error(`nothing is called ${name}`)
    return own
  }
  return {
    log,
    logged,
    types: (name) => logged(name).events.map(({ type }) => type),
    made: (name) => assets.filter((one) => one.name === logged(name).id),
    verified: () => [...log.verifications.values()].map(({ phase }) => phase).sort(),
  }
}

interface Session {
  readonly credential: string
  readonly link: string
}

/** Undefined where nobody was told of it. */
async function begin(marker: string): Promise<Session | undefined> {
  told.session(marker, tenantId)
  const body = { model: MODEL, CallbackURL: addressWith([], marker) }
  const answer = await act(call, 'CreateVisualValidateSession', body)
  if (answer?.status !== 200) return undefined
  const { ProviderToken: credential, H5Link: link } = resultOf(answer)
  return { credential: String(credential), link: String(link) }
}

/** Does what the person's browser does. */
async function pass({ link }: Session): Promise<void> {
  await fetch(link, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ outcome: 'pass' }),
    signal: AbortSignal.timeout(PRESS_TIMEOUT_MS),
  })
}

function resultFor(session: Session | undefined): Promise<Answer | undefined> {
  return act(call, 'GetVisualValidateResult', {
    model: MODEL,
    ProviderToken: session?.credential,
  })
}

let general: SeenGroup | undefined
let person: SeenGroup | undefined
let passed: Session | undefined

/** What an earlier test left behind. @throws when it failed */
function left<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error('an earlier test did not come so far')
  return thing
}

t.test('an upload that is killed is sent once or never, and found by its name', async (t) => {
  if (dieEverywhere) {
    await diesAt(t, 'asset.after-created:2', async () => {
      general = await newGroup()
      t.equal(await upload(general, 'never'), undefined)
    })
    const { types, made } = await traces()
    t.same(types('never'), ['AssetCreated'])
    t.same(made('never'), [], 'it was not sent')
  }
  // A group that is made in the same life comes to the point too.
  await diesAt(t, dieEverywhere ? 'asset.after-provider' : 'asset.after-provider:2', async () => {
    general ??= await newGroup()
    await upload(general, 'sent')
  })
  const lost = await traces()
  t.same(lost.types('sent'), ['AssetCreated'])
  t.equal(lost.made('sent').length, 1)
  // Whoever follows finds it, perhaps before it is ready, and dies of it.
  await diesAt(t, 'asset.before-adopt')
  t.same((await traces()).types('sent'), ['AssetCreated'])
  if (dieEverywhere)
    await diesAt(t, 'asset.after-accepted', () => upload(left(general), 'answered'))
  await diesAt(t, 'asset.before-observed')
  const { types, made } = await traces()
  t.equal(made('sent').length, 1, 'it was not sent again')
  if (!dieEverywhere) return
  t.same(types('answered').slice(0, 2), ['AssetCreated', 'AssetAccepted'])
  t.equal(made('answered').length, 1)
})

t.test('a verification that is killed is begun once, and confirmed once', async (t) => {
  await diesAt(t, 'verification.after-provider', async () => t.equal(await begin('v1'), undefined))
  t.same((await traces()).verified(), [], 'nobody has its credential')
  await diesAt(t, 'verification.after-started', async () => t.equal(await begin('v2'), undefined))
  await diesAt(t, 'verification.after-result', async () => {
    passed = await begin('v3')
    await pass(left(passed))
    t.equal(await resultFor(passed), undefined)
  })
  t.same((await traces()).verified(), ['started', 'started'])
  if (!dieEverywhere) return
  await diesAt(t, 'verification.after-confirmed', () => resultFor(left(passed)))
  const { verified, log } = await traces()
  t.same(verified(), ['confirmed', 'started'])
  t.equal(log.groups.size, 1, 'the person has no group yet')
})

t.test('deletions that are killed go on where they were, down to the last asset', async (t) => {
  await diesAt(t, 'asset.after-deletion', async () => {
    const results = await Promise.all([resultFor(passed), resultFor(passed), resultFor(passed)])
    const ids = results.map((answer) => answer && String(resultOf(answer)['GroupId']))
    t.equal(new Set(ids).size, 1, 'a result that is asked for three times is one')
    const id = left(ids[0])
    told.sessions.get('v3')?.groupIds.add(id)
    person = told.group({ id, tenantId, region: 'domestic', isPerson: true })
    const first = await upload(person, 'first')
    await upload(person, 'second')
    // Upstream has both and says nothing: the one is looked for, and so is the group of the other.
    t.ok(await upload(person, 'dropped', 'drop-after-accept'))
    await dropOnce('create-group')
    t.ok(await upload(await newGroup(), 'in a dropped group'))
    await eventually('it is active', () => isActive(first))
    await act(call, 'DeleteAsset', { Id: first })
  })
  const one = await traces()
  t.equal(one.types('first').at(-1), 'AssetWithdrawn')
  t.match(one.made('first'), [{ deleted: true }], 'upstream let go of it, and nobody knows')
  const deleteGroup = () => act(call, 'DeleteAssetGroup', { Id: left(person).id })
  if (dieEverywhere) {
    await diesAt(t, 'asset.after-group-withdrawn', deleteGroup)
    const before = await traces()
    for (const name of ['second', 'dropped'])
      t.notOk(before.types(name).includes('AssetWithdrawn'), `${name} is not withdrawn yet`)
    await diesAt(t, 'asset.after-withdrawn')
  } else await diesAt(t, 'asset.after-withdrawn', deleteGroup)
  const { types, made } = await traces()
  const isWithdrawn = (name: string): boolean => types(name).includes('AssetWithdrawn')
  t.ok(isWithdrawn('second') || isWithdrawn('dropped'), 'the cascade has begun')
  for (const name of ['second', 'dropped']) t.match(made(name), [{ deleted: false }], name)
})

/** The next request of this kind is done and not answered. */
async function dropOnce(op: string): Promise<void> {
  const rule = { faults: ['drop-after-accept'], once: 1, match: { op } }
  const body = JSON.stringify(rule)
  const { status } = await fetch(`${upstream.url}/__sandbox/faults`, { method: 'POST', body })
  if (status !== 200 && status !== 201) throw new Error(`no rule: ${status}`)
}

t.test('in the end record, log and lists agree, and no asset is open', async (t) => {
  t.equal(await machine.start({ clockAheadMs: PAST_ALL_BOUNDS_MS }), 'ready')
  const look = async () => {
    const found = judgeAssets({
      upstream: await readLibrary(upstream.url),
      logged: libraryOf(await world.events()),
      shown: new Map([[tenantId, await readLists(call)]]),
      witness: told,
      uses: [],
      isOver: true,
    })
    // The clock of these gateways is ahead of upstream's.
    return found.filter(({ code }) => code !== 'intent_too_late')
  }
  const untilMs = performance.now() + ENDED_MS
  while ((await look()).length > 0 && performance.now() < untilMs) await sleep(LOOK_AGAIN_MS)
  t.same(await look(), [])
  const { logged, verified } = await traces()
  const ends = {
    sent: 'active',
    ...(dieEverywhere ? { never: 'refused', answered: 'active' } : {}),
  }
  const others = { first: 'deleted', second: 'deleted', dropped: 'deleted' }
  for (const [name, phase] of Object.entries({
    ...ends,
    ...others,
    'in a dropped group': 'active',
  }))
    t.equal(logged(name).phase, phase, name)
  t.same(verified(), ['confirmed', 'expired'])
  // Whatever is asked once more changes nothing.
  const { id } = left(person)
  t.match(await resultFor(passed), { status: 200, body: { Result: { GroupId: id } } })
  for (const action of ['DeleteAssetGroup', 'GetAssetGroup'])
    t.match(await act(call, action, { Id: id }), { status: 404 }, action)
  t.same(await look(), [])
  t.same(answers.differences, [], 'each failure had its shape')
  const { exitCode, output } = await machine.command(['audit'])
  t.equal(exitCode, 0, output)
  await machine.stop()
})
