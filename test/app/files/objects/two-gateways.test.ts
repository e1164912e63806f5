import { eventually } from '../../../helpers/eventually.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import type { FileDeps } from '../../../../src/app/files/deps.ts'
import { createFileUseCases } from '../../../../src/app/files/use-cases.ts'
import { CLAIM_SETTLES_MS } from '../../../../src/app/files/objects/claim.ts'
import { createPurgeRound } from '../../../../src/app/files/objects/purge.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { newFileId, newPlatformId, newSecret } from '../../../../src/kernel/ids.ts'
import { openLocalStore } from '../../../../src/storage/local/store.ts'
import { namespacedObjects } from '../../../../src/storage/namespaced-objects.ts'
import { fileKey, payloadKey, resultKey } from '../../../../src/storage/object-key.ts'
import { createS3Store } from '../../../../src/storage/s3/store.ts'
import type { ObjectStore } from '../../../../src/storage/types.ts'
import { startS3Server } from '../../../helpers/s3-server.ts'
import { createInput, principalOf, startWorld, taskKey, type World } from '../../support/world.ts'

const HOUR_MS = 3_600_000
const going = new AbortController().signal

type OpenPlace = () => Promise<ObjectStore>

async function folder(t: Test): Promise<OpenPlace> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-two-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return () =>
    openLocalStore({
      clock: systemClock,
      directory,
      secret: 's',
      baseUrl: () => 'http://gateway.example',
    })
}

async function bucket(t: Test): Promise<OpenPlace> {
  const server = await startS3Server()
  const opened: ObjectStore[] = []
  t.teardown(async () => {
    for (const store of opened) await store.close()
    await server.stop()
  })
  return () => {
    const store = createS3Store({ ...server.options, clock: systemClock })
    opened.push(store)
    return Promise.resolve(store)
  }
}

/** A gateway on a place that others may use as well; its clock can be set forward. */
async function gatewayOn(world: World, open: OpenPlace, namespace: string) {
  const place = await open()
  const objects = namespacedObjects(place, { namespace, startedAtMs: Date.now() })
  const { deps, tasks } = world.replica()
  let aheadMs = 0
  const clock = { nowMs: () => Date.now() + aheadMs }
  const registry = new Registry()
  const round = createPurgeRound({ ...deps, clock, namespace, objects, registry })
  const filesOf = (store: FileDeps['store']) =>
    createFileUseCases({ ...deps, clock: systemClock, store, quota: world.quota() })
  const upload = async (files: ReturnType<typeof filesOf>, text: string) => {
    const kept = await files.keep(principalOf(), Readable.from([Buffer.from(text)]))
    const facts = { purpose: 'vision', filename: 'a.png' } as const
    return files.record(kept, { principal: principalOf(), requestId: `req_${text}`, ...facts })
  }
  return {
    place,
    objects,
    tasks,
    registry,
    files: filesOf(objects.store),
    filesOf,
    upload,
    /** Purges as a gateway does so much later, until nothing is left to do. */
    purge: async (ms: number) => {
      aheadMs = ms
      await world.settle()
      while ((await round(going)) === 'more');
    },
  }
}

async function keysOf(store: Pick<ObjectStore, 'list'>): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('')) keys.push(key)
  return keys
}

const x = Buffer.from('x')
const madeAt = (hours: number): string =>
  resultKey(Date.now() - hours * HOUR_MS, newSecret(''), 'image/png')

for (const [name, openPlace] of Object.entries({ folder, bucket }))
  void t.test(`gateways on one ${name}`, async (t) => {
    const open = await openPlace(t)
    const [worldA, worldB] = [await startWorld(t), await startWorld(t)]
    const a = await gatewayOn(worldA, open, 'first.')
    const b = await gatewayOn(worldB, open, 'second.')

    await t.test('each gateway purges its own objects only', async (t) => {
      const mine = await a.upload(a.files, 'of the first')
      const theirs = await b.upload(b.files, 'of the second')
      const payload = payloadKey(newPlatformId('image', Date.now()))
      for (const one of [a, b]) {
        await one.objects.store.put(madeAt(48), x)
        await one.objects.store.put(payload, x)
        await one.objects.store.put(fileKey(newFileId(Date.now())), x)
      }
      const before = await keysOf(b.objects.store)
      await a.purge(0)
      t.equal((await keysOf(a.objects.store)).length, 5, 'a namespace just claimed is left alone')
      await a.purge(CLAIM_SETTLES_MS + 2 * HOUR_MS)
      t.same(await keysOf(a.objects.store), [fileKey(mine.fileId), 'owner.json'])
      t.same(await keysOf(b.objects.store), before, 'nothing of the second is gone')
      await b.purge(0)
      await b.purge(CLAIM_SETTLES_MS + 2 * HOUR_MS)
      t.same(await keysOf(b.objects.store), [fileKey(theirs.fileId), 'owner.json'])
      for (const [one, { fileId }, text] of [
        [a, mine, 'of the first'],
        [b, theirs, 'of the second'],
      ] as const) {
        const { body } = await one.files.open({ principal: principalOf(), fileId })
        t.equal(String(await buffer(body)), text)
        await one.files.remove({ principal: principalOf(), requestId: 'req_gone', fileId })
        t.same(await keysOf(one.objects.store), ['owner.json'])
      }
    })

    await t.test('of two logs in one namespace, only the named one purges', async (t) => {
      const c = await gatewayOn(worldB, open, 'first.')
      const mine = await a.upload(a.files, 'again')
      await c.purge(CLAIM_SETTLES_MS + 2 * HOUR_MS)
      await c.purge(40 * HOUR_MS)
      t.same(await keysOf(a.objects.store), [fileKey(mine.fileId), 'owner.json'])
      t.match(await c.registry.metrics(), 'tollgate_objects_claim_refused 1')
      await a.files.remove({ principal: principalOf(), requestId: 'r', fileId: mine.fileId })
      await a.objects.unprefixed.put('third./owner.json', Buffer.from('{"log":'))
      const d = await gatewayOn(worldA, open, 'third.')
      await d.objects.store.put(madeAt(48), x)
      await d.purge(40 * HOUR_MS)
      t.equal(
        (await keysOf(d.objects.store)).length,
        2,
        'a marker that cannot be read claims nothing',
      )
    })

    await t.test(
      'objects older than namespaces are read and purged by their own gateway',
      async (t) => {
        const { place } = a
        const [oldA, oldB] = [a.filesOf(place), b.filesOf(place)]
        const kept = await a.upload(oldA, 'an old one')
        const deleted = await a.upload(oldA, 'an old one, to be deleted')
        const theirs = await b.upload(oldB, 'an old one of the second')
        const open = await a.tasks.createTask(createInput())
        const ended = await a.tasks.createTask(createInput())
        // One that already runs can be deleted once it has ended.
        await eventually('it can be deleted', () =>
          a.tasks.deleteTask(taskKey(ended.platformId)).then(
            () => true,
            () => undefined,
          ),
        )
        const [fresh, old] = [madeAt(1), madeAt(48)]
        const foreign = ['results/2020-report.csv', 'files/someone.txt', 'payloads/x', 'other/a']
        const payloads = [open, ended].map(({ platformId }) => `${payloadKey(platformId)}/req_1`)
        for (const key of [...payloads, fresh, old, ...foreign]) await place.put(key, x)

        const fileId = kept.fileId
        const { body } = await a.files.open({ principal: principalOf(), fileId })
        t.equal(String(await buffer(body)), 'an old one')
        t.notMatch(
          await a.objects.store.publicUrl(fresh, Date.now() + HOUR_MS),
          /first\.?\/results/,
        )
        const later = resultKey(Date.now() + HOUR_MS, newSecret(''), 'image/png')
        t.match(
          await a.objects.store.publicUrl(later, Date.now() + 2 * HOUR_MS),
          /first\.?\/results/,
        )
        const request = { principal: principalOf(), requestId: 'req_old' }
        await a.files.remove({ ...request, fileId: deleted.fileId })
        t.equal(await place.open(fileKey(deleted.fileId)), undefined, 'gone at once')
        await place.put(fileKey(deleted.fileId), x)

        const unprefixed = async () =>
          (await keysOf(place)).filter((key) => !/^(first|second|third)\.\//.test(key))
        const all = await unprefixed()
        await a.purge(CLAIM_SETTLES_MS + 2 * HOUR_MS)
        t.same(
          await unprefixed(),
          all,
          'a gateway that began with a namespace has no other objects',
        )

        // As a gateway that was there long before it claims its namespace.
        const marker = await a.objects.marker()
        await a.objects.putMarker({
          ...(marker as Exclude<typeof marker, undefined | 'unreadable'>),
          unprefixed: true,
        })
        await a.purge(CLAIM_SETTLES_MS + 2 * HOUR_MS)
        const gone = [payloads[1], old, fileKey(deleted.fileId)]
        t.same(
          await unprefixed(),
          all.filter((key) => !gone.includes(key)),
        )
        const { body: same } = await b.filesOf(b.objects.store).open({
          principal: principalOf(),
          fileId: theirs.fileId,
        })
        t.equal(String(await buffer(same)), 'an old one of the second')
      },
    )

    await t.test(
      'a gateway older than its first claim also claims objects without a namespace',
      async (t) => {
        const late = await gatewayOn(worldA, open, 'late.')
        await late.purge(HOUR_MS)
        t.match(await late.objects.marker(), { namespace: 'late.', unprefixed: true })
        t.match(await a.objects.marker(), { namespace: 'first.' })
      },
    )
  })

void t.test('two gateways write into one folder at once', async (t) => {
  const open = await folder(t)
  const first = await open()
  let goOn = (): void => undefined
  const paused = new Promise<void>((resolve) => (goOn = resolve))
  const slow = async function* () {
    yield x
    await paused
    yield x
  }
  const writing = first.put('files/slow', Readable.from(slow()))
  await new Promise((resolve) => setTimeout(resolve, 50))
  await open()
  goOn()
  await writing
  t.equal((await first.open('files/slow'))?.sizeBytes, 2, 'a start ends nothing that is under way')
})
