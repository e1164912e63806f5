import t from 'tap'
import { freeLeases } from '../../../../src/app/queue/tables.ts'
import { taskWork } from '../../../../src/app/tasks/watch/task-work.ts'
import { storageUnavailable } from '../../../../src/storage/errors.ts'
import type { ObjectStore } from '../../../../src/storage/types.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { sandboxImageChannels } from '../../../helpers/sandbox-channels.ts'
import { codeOf, principalOf, type Replica } from '../../support/world.ts'
import { imageInput, PAST_THE_END_MS, startImageScene } from './support/scene.ts'

const scene = await startImageScene(t)
const { world, store, replica, keys, typesOf, reaches, sent, moneyOf } = scene
/** Takes orders and makes none. */
const taker = replica()

const create = async (prompt: string, from: Replica = taker): Promise<string> =>
  (await from.images.create(imageInput({ prompt }))).platformId

/** A store that does something else first. */
const storeWith = (changes: Partial<ObjectStore>): ObjectStore => ({ ...store, ...changes })

t.test('without storage that callers can reach no event is written', async (t) => {
  const before = await world.log.endPosition()
  const unreachable = storeWith({ publicUrl: () => Promise.resolve(undefined) })
  const { images } = world.replica()
  t.equal(await codeOf(images.create(imageInput())), 'storage_not_configured')
  const other = replica({ store: unreachable })
  t.equal(await codeOf(other.images.create(imageInput())), 'storage_not_configured')
  const full = storeWith({ put: () => Promise.reject(storageUnavailable('full', undefined)) })
  t.equal(await codeOf(replica({ store: full }).images.create(imageInput())), 'storage_unavailable')
  t.equal(await world.log.endPosition(), before)
})

t.test('a creation beyond the longest queue is refused, without an event', async (t) => {
  const few = replica({ imageLimits: { maxWaiting: 1 } })
  const first = await create('x', few)
  await world.settle()
  const before = await world.log.endPosition()
  t.equal(await codeOf(few.images.create(imageInput())), 'rate_limited')
  t.equal(await world.log.endPosition(), before)
  await world.tenant('tenant_poor', '0.001')
  await world.settle()
  const refused = taker.images.create(imageInput({ tenantId: 'tenant_poor' }))
  t.equal(await codeOf(refused), 'insufficient_balance')
  t.same(
    (await keys('payloads/')).map((key) => key.split('/')[1]),
    [first],
    'what was refused is not kept',
  )
  const worker = replica({ policies: true })
  await reaches(worker, first, 'completed')
  await worker.stop()
})

t.test('two workers make each picture once', async (t) => {
  const ids = await Promise.all(
    Array.from({ length: 8 }, (_, n) => create(`x [[client=two-${n}]]`)),
  )
  const workers = [replica({ policies: true }), replica({ policies: true })]
  for (const id of ids) await reaches(taker, id, 'completed')
  await Promise.all(workers.map((worker) => worker.stop()))
  for (const [n, id] of ids.entries()) {
    t.equal(sent(`two-${n}`), 1)
    t.match(await moneyOf(id), { lines: 1, state: 'captured' })
  }
  t.same(await keys('payloads/'), [])
})

t.test('payloads are read only once there is a place to run them', async (t) => {
  const opened: string[] = []
  const watched = storeWith({
    open: (key, range) => {
      opened.push(key)
      return store.open(key, range)
    },
  })
  const words = '[[sandbox first-byte-ms=400]]'
  const ids = await Promise.all(Array.from({ length: 3 }, () => create(`x ${words}`)))
  await world.settle()
  const imageLimits = { maxMakingAChannel: 1 }
  const worker = replica({ policies: true, store: watched, imageLimits })
  for (const id of ids) await reaches(taker, id, 'completed')
  await worker.stop()
  for (const id of ids)
    t.equal(opened.filter((key) => key.includes(id)).length, 1, 'what was asked is read once')
})

t.test('a slow worker settles before the deadline, and not after it', async (t) => {
  for (const isPast of [false, true]) {
    const marker = `slow-${isPast}`
    const id = await create(`x [[client=${marker}]] [[sandbox first-byte-ms=1500]]`)
    const slow = replica({ policies: true })
    await eventually('it was sent', () => Promise.resolve(sent(marker) > 0 ? true : undefined))
    await world.settle()
    // To the others it looks dead.
    const { rows } = await world.pool.query<{ lease_owner: string }>(
      'select lease_owner from tasks.polls where platform_id = $1',
      [id],
    )
    await freeLeases(world.pool, taskWork, [rows[0]?.lease_owner ?? ''], Date.now())
    const aheadMs = isPast ? PAST_THE_END_MS : 0
    const other = replica({ policies: true, clock: { nowMs: () => Date.now() + aheadMs } })
    await eventually('it is doubted', async () =>
      (await typesOf(id)).length > 2 ? true : undefined,
    )
    await reaches(taker, id, isPast ? 'failed' : 'completed')
    await slow.stop()
    await other.stop()
    const ended = isPast ? ['TaskExpired'] : ['TaskSucceeded', 'TaskSettled']
    const types = await typesOf(id)
    t.same(types.slice(0, 2), ['TaskRequested', 'TaskStarted'])
    t.same(
      types.slice(2).filter((type) => type !== 'TaskSubmissionUncertain'),
      ended,
    )
    t.match(await moneyOf(id), isPast ? { lines: 0, state: 'released' } : { lines: 1 })
    t.equal(sent(marker), 1)
  }
})

t.test('an unknown outcome stays open until its deadline, and is never sent again', async (t) => {
  const id = await create('x [[client=lost]] [[sandbox drop-after-accept]]')
  const worker = replica({ policies: true })
  await eventually('it is doubted', async () => (await typesOf(id)).length > 2)
  await world.settle()
  t.match(await taker.images.get({ principal: principalOf(), id }), { status: 'in_progress' })
  t.match(await moneyOf(id), { lines: 0, state: 'placed' })
  await worker.stop()
  const later = replica({ policies: true, clock: { nowMs: () => Date.now() + PAST_THE_END_MS } })
  const failed = await reaches(later, id, 'failed')
  t.match(failed, { error: { code: 'outcome_unknown' } })
  t.match(await moneyOf(id), { lines: 0, state: 'released' })
  t.equal(sent('lost'), 1)
  await later.stop()
})

t.test('a store that recovers delays a result, one that stays away costs the result', async (t) => {
  let refusals = 0
  const isResult = (key: string): boolean => key.startsWith('results/')
  const away = (times: number): ObjectStore =>
    storeWith({
      put: (key, ...rest) => {
        if (!isResult(key) || refusals >= times) return store.put(key, ...rest)
        refusals += 1
        return Promise.reject(storageUnavailable('away', undefined))
      },
    })
  const kept = await create('x [[client=kept]]')
  const patient = replica({ policies: true, store: away(2), scale: 0.01 })
  await reaches(taker, kept, 'completed')
  await patient.stop()
  t.equal(refusals, 2)
  t.match(await moneyOf(kept), { lines: 1 })

  const gone = await create('x [[client=gone]]')
  const hopeless = replica({ policies: true, store: away(Infinity), scale: 0.001 })
  const failed = await reaches(taker, gone, 'failed')
  await hopeless.stop()
  t.match(failed, { error: { code: 'storage_unavailable' } })
  t.match((await world.eventsOf(gone)).at(-1)?.data, { possibleCostLeak: true })
  t.match(await moneyOf(gone), { lines: 0, state: 'released' })
  t.equal(sent('kept') + sent('gone'), 2)
})

t.test('a task that was never begun fails without a charge', async (t) => {
  const late = await create('x [[client=late]]')
  const lost = await create('x [[client=unread]]')
  for (const key of await keys(`payloads/${lost}`)) await store.remove(key)
  const ahead = (ms: number) => ({ clock: { nowMs: () => Date.now() + ms } })
  const worker = replica({ policies: true, ...ahead(6 * 3_600_000 + 1_000) })
  t.match(await reaches(taker, late, 'failed'), { error: { code: 'waited_too_long' } })
  await worker.stop()
  const again = await create('x [[client=unread]]')
  for (const key of await keys(`payloads/${again}`)) await store.remove(key)
  const next = replica({ policies: true })
  t.match(await reaches(taker, again, 'failed'), { error: { code: 'request_lost' } })
  await next.stop()
  t.equal(sent('late') + sent('unread'), 0)
  t.notOk((await world.eventsOf(late)).some(({ data }) => 'possibleCostLeak' in data))
})

t.test('while every channel is busy a task waits for one, then fails', async (t) => {
  const id = await create('x [[sandbox refuse=rate_limit_exceeded]]')
  const worker = replica({ policies: true, scale: 0.001 })
  const { error } = (await reaches(taker, id, 'failed')) as { error?: { code: string } }
  t.equal(error?.code, 'rate_limit_exceeded')
  t.match(await moneyOf(id), { lines: 0, state: 'released' })
  await worker.stop()
})

t.test('the end of a task says how many channels were asked, above one', async (t) => {
  const [channel] = sandboxImageChannels({ baseUrl: world.sandbox.url })
  const channels = [
    { ...channel!, id: 'away', baseUrl: 'http://127.0.0.1:9', priority: 0 },
    { ...channel!, id: 'there', priority: 1 },
  ]
  const id = await create('x')
  const worker = replica({ policies: true, channels })
  await reaches(worker, id, 'completed')
  const events = await world.eventsOf(id)
  t.match(events.at(-2), { type: 'TaskSucceeded', data: { attempts: 2 } })
  await worker.stop()
})

t.test('the URLs of a task end with its results', async (t) => {
  const id = await create('x')
  const worker = replica({ policies: true })
  const { data } = (await reaches(worker, id, 'completed')) as { data?: readonly object[] }
  t.equal(data?.length, 1)
  await worker.stop()
  const tomorrow = replica({ clock: { nowMs: () => Date.now() + 25 * 3_600_000 } })
  const view = await tomorrow.images.get({ principal: principalOf(), id })
  t.match(view, { status: 'completed', data: [] })
})
