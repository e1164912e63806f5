import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t from 'tap'
import { tryLead } from '../../../../projections/engine/leadership.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { CLAIM_SETTLES_MS } from '../../../../src/app/files/objects/claim.ts'
import { createPurgeRound, type PurgeRound } from '../../../../src/app/files/objects/purge.ts'
import { newPlatformId } from '../../../../src/kernel/ids.ts'
import { openLocalStore } from '../../../../src/storage/local/store.ts'
import { namespacedObjects } from '../../../../src/storage/namespaced-objects.ts'
import { payloadKey, resultKey } from '../../../../src/storage/object-key.ts'
import { createInput, startWorld, taskKey } from '../../support/world.ts'

const HOUR_MS = 3_600_000
const going = new AbortController().signal

void t.test('objects are purged once no caller can request them', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 600_000 } })
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-purge-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const place = await openLocalStore({
    clock: systemClock,
    directory,
    secret: 'a secret',
    baseUrl: () => undefined,
  })
  const namespace = 'tests.'
  const objects = namespacedObjects(place, { namespace, startedAtMs: Date.now() })
  const { store } = objects
  const { deps, tasks } = world.replica()
  let nowMs = Date.now()
  const registry = new Registry()
  const roundOf = (limit?: number, counted = new Registry()): PurgeRound =>
    createPurgeRound(
      { ...deps, clock: { nowMs: () => nowMs }, namespace, objects, registry: counted },
      limit,
    )
  const kept = async (): Promise<readonly string[]> => {
    const keys: string[] = []
    for await (const { key } of store.list('')) if (key !== 'owner.json') keys.push(key)
    return keys
  }
  const put = async (key: string): Promise<string> => {
    await store.put(key, Buffer.from('x'))
    return key
  }

  await roundOf()(going)
  nowMs += CLAIM_SETTLES_MS

  await t.test('results are purged an hour after their life, the oldest first', async (t) => {
    const ages = [0, 1, 23, 24, 25, 26, 48, 24 * 40]
    const keys: string[] = []
    for (const hours of ages)
      keys.push(await put(resultKey(nowMs - hours * HOUR_MS, `r${hours}`, 'image/png')))
    const oldestFirst = [...keys].reverse()
    const few = roundOf(2, registry)
    t.equal(await few(going), 'more')
    t.same(await kept(), oldestFirst.slice(2), 'a round has its bound')
    t.equal(await few(going), 'idle')
    t.same(await kept(), oldestFirst.slice(3), 'what is 25 hours old is in its last hour')
    nowMs += HOUR_MS
    t.equal(await roundOf()(going), 'idle')
    t.same(await kept(), oldestFirst.slice(4))
    for (const key of keys) await store.remove(key)
    t.match(await registry.metrics(), 'tollgate_objects_purged_total{purpose="results"} 3')
  })

  await t.test('payloads without an open task are purged after the claim window', async (t) => {
    const open = await tasks.createTask(createInput())
    const ended = await tasks.createTask(createInput())
    await tasks.deleteTask(taskKey(ended.platformId))
    const never = newPlatformId('image', nowMs)
    const payloads: string[] = []
    for (const id of [open.platformId, ended.platformId, never])
      payloads.push(await put(payloadKey(id)))
    nowMs = Date.now() + CLAIM_SETTLES_MS
    const round = roundOf(1)
    for (let rounds = 0; rounds < 4; rounds += 1) await round(going)
    t.same(await kept(), [...payloads].sort(), 'the event of a young one may still come')
    nowMs += HOUR_MS + 1_000
    // One object a round: it goes on where it was, and begins again at the end.
    for (let rounds = 0; rounds < 4; rounds += 1) await round(going)
    t.same(await kept(), [payloadKey(open.platformId)])
  })

  await t.test('one process purges at a time, and none that is stopping', async (t) => {
    await put(resultKey(nowMs - 48 * HOUR_MS, 'old', 'image/png'))
    const before = await kept()
    const leader = await tryLead(world.pool, `purge ${store.name}`)
    t.equal(await roundOf()(going), 'idle')
    t.same(await kept(), before)
    await leader?.release()
    t.equal(await roundOf()(AbortSignal.abort()), 'idle')
    t.same(await kept(), before)
    await roundOf()(going)
    t.equal((await kept()).length, before.length - 1)
  })
})
