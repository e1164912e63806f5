import t from 'tap'
import type { Channel } from '../../../src/app/ports/provider.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { codeOf, createInput, startWorld, type World } from '../support/world.ts'

/** Two channels for the same models; the first is preferred. */
function twoChannels(world: World, firstUrl: string): readonly Channel[] {
  const [domestic] = world.channels
  return [
    { ...domestic!, id: 'first', baseUrl: firstUrl, credential: 'first', priority: 0 },
    { ...domestic!, id: 'second', credential: 'second', priority: 1 },
  ]
}

t.test('the choice of a channel for a creation', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const [domestic] = world.channels

  await t.test('an unreachable channel is passed over for the next', async (t) => {
    const { tasks } = world.replica({ channels: twoChannels(world, 'http://127.0.0.1:9/api/v3') })
    const { platformId } = await tasks.createTask(createInput())
    const submitted = (await world.eventsOf(platformId)).at(-1)
    t.match(submitted, { type: 'TaskSubmitted', data: { channelId: 'second', attempts: 2 } })
  })

  await t.test('a rate-limited channel is passed over for the next', async (t) => {
    const { tasks } = world.replica({ channels: twoChannels(world, domestic!.baseUrl) })
    world.sandbox.faults.add({ faults: ['http=429'], once: true, match: { op: 'create' } })
    const { platformId } = await tasks.createTask(createInput())
    t.match((await world.eventsOf(platformId)).at(-1), { data: { channelId: 'second' } })
  })

  await t.test('a requested channel is never replaced by another', async (t) => {
    const channels = twoChannels(world, domestic!.baseUrl)
    const { tasks } = world.replica({ channels })
    const pinned = { ...createInput(), channelId: 'second' }
    const { platformId } = await tasks.createTask(pinned)
    t.match(await world.eventsOf(platformId), [
      { data: { channelId: 'second', channelIds: ['second'] } },
      { type: 'TaskSubmitted', data: { channelId: 'second', attempts: undefined } },
    ])
    world.sandbox.faults.add({ faults: ['http=429'], once: true, match: { op: 'create' } })
    t.equal(await codeOf(tasks.createTask(pinned)), 'submission_refused')
    t.equal(await codeOf(tasks.createTask({ ...pinned, channelId: 'third' })), 'kept_unavailable')
  })

  await t.test('a fault of the caller is not tried on another channel', async (t) => {
    const { tasks } = world.replica({ channels: twoChannels(world, domestic!.baseUrl) })
    const before = world.sandbox.requests().routes['video-a.create']?.count ?? 0
    const prompt = 'x [[sandbox refuse=InvalidParameter]]'
    t.equal(await codeOf(tasks.createTask(createInput({ prompt }))), 'submission_refused')
    t.equal(world.sandbox.requests().routes['video-a.create']?.count, before + 1)
  })

  await t.test('a creation that a frozen process resumes is not sent', async (t) => {
    let heldMs = 0
    const { tasks } = world.replica({
      monotonic: { nowMs: () => performance.now() + heldMs },
      crashPoint: (name) => {
        if (name === 'create.after-requested') heldMs += 31_000
      },
    })
    const before = world.sandbox.accepted().length
    t.equal(await codeOf(tasks.createTask(createInput())), 'submission_refused')
    t.equal(world.sandbox.accepted().length, before)
    heldMs = 0
  })

  await t.test('an unknown outcome is never tried on another channel', async (t) => {
    const { tasks } = world.replica({ channels: twoChannels(world, domestic!.baseUrl) })
    const before = world.sandbox.accepted().length
    const prompt = 'x [[sandbox drop-after-accept]]'
    t.equal(await codeOf(tasks.createTask(createInput({ prompt }))), 'submission_uncertain')
    t.equal(world.sandbox.accepted().length, before + 1)
  })

  await t.test('an upstream refusal of the gateway’s account is of kind account', async (t) => {
    const { tasks } = world.replica()
    const prompt = 'x [[sandbox refuse=AccountOverdueError]]'
    const error = await tasks.createTask(createInput({ prompt })).catch((caught: unknown) => caught)
    t.ok(isDomainError(error, 'submission_refused'))
    t.match(error, { details: { kind: 'account' } })
  })

  await t.test('a failing account closes no channel for creations', async (t) => {
    const { tasks } = world.replica({ channels: [domestic!] })
    const prompt = 'x [[sandbox refuse=AccountOverdueError]]'
    for (let n = 0; n < 6; n += 1)
      t.equal(await codeOf(tasks.createTask(createInput({ prompt }))), 'submission_refused')
    t.ok((await tasks.createTask(createInput())).nativeId)
  })

  await t.test('a rate-limited model rests, and other models are created at once', async (t) => {
    const { tasks } = world.replica({ channels: [domestic!] })
    world.sandbox.faults.add({ faults: ['http=429'], once: true, match: { op: 'create' } })
    t.equal(await codeOf(tasks.createTask(createInput())), 'submission_refused')
    const before = world.sandbox.requests().routes['video-a.create']?.count ?? 0
    const error = await tasks.createTask(createInput()).catch((caught: unknown) => caught)
    t.match(error, { code: 'rate_limited', details: { kind: 'rate_limited' } })
    t.ok((error as { details: { retryAfterMs: number } }).details.retryAfterMs > 0)
    t.notOk('platformId' in (error as { details: object }).details, 'nothing was begun')
    t.equal(world.sandbox.requests().routes['video-a.create']?.count, before, 'nor sent')
    const other = createInput({ model: 'domestic-video-2-0-fast' })
    t.ok((await tasks.createTask(other)).nativeId, 'another model of the account goes on')
  })

  await t.test('a model without a channel is refused before an event is written', async (t) => {
    const { tasks } = world.replica({ channels: [domestic!] })
    const input = createInput({ model: 'overseas-video-2-0' })
    const error = await tasks.createTask(input).catch((caught: unknown) => caught)
    t.ok(isDomainError(error, 'no_channel'))
    const { platformId } = (error as { details: { platformId: string } }).details
    t.same(await world.eventsOf(platformId), [])
  })
})

t.test('model, marker and end user as sent upstream', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { tasks } = world.replica()
  const ours = await tasks.createTask(createInput())
  const theirs = await tasks.createTask(createInput({ safetyIdentifier: 'their-user' }))
  const [first, second] = world.sandbox.accepted()
  t.match(first?.safety_identifier, /^[0-9a-f]{56}$/)
  t.equal(second?.safety_identifier, 'their-user')
  t.equal(first?.requested_model, 'domestic-video-2-0-260128')
  const shown = await tasks.getTask({
    principal: createInput().principal,
    family: 'video-a',
    id: theirs.nativeId,
    requestId: 'req_1',
  })
  t.equal(shown.callerMarker, 'their-user')
  const [requested] = await world.eventsOf(ours.platformId)
  t.match(requested, { data: { markerIsOurs: true, marker: first?.safety_identifier } })
})
